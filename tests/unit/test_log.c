// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Messages of several threads. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/log.h"
#include "util/util.h"

#define N_THREADS 3
#define N_ROUNDS 2000

static struct listener {
	bool over;		/* it was redirected away */
	int inside;		/* calls that are under way */
	unsigned int n, n_late, n_at_once;
} listeners[N_ROUNDS];

static bool done;

static void on_say(const char *text, void *arg)
{
	struct listener *l = arg;

	l->n_at_once += __atomic_fetch_add(&l->inside, 1, __ATOMIC_SEQ_CST) > 0;
	sched_yield();
	l->n++;
	l->n_late += __atomic_load_n(&l->over, __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&l->inside, 1, __ATOMIC_SEQ_CST);
}

static void *talk(void *arg)
{
	while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST))
		say("%s", "x");
	return NULL;
}

/* Whoever listens hears one message at a time, and none after another one listens. */
Test(log, redirected_while_threads_talk)
{
	pthread_t threads[N_THREADS];
	unsigned int n = 0;

	log__redirect(&(struct log_sink){ .say = on_say, .arg = &listeners[0] });
	for (size_t i = 0; i < N_THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, talk, NULL), 0);
	for (size_t i = 1; i < N_ROUNDS; i++) {
		sched_yield();
		log__redirect(&(struct log_sink){ .say = on_say, .arg = &listeners[i] });
		__atomic_store_n(&listeners[i - 1].over, true, __ATOMIC_SEQ_CST);
	}
	while (!__atomic_load_n(&listeners[N_ROUNDS - 1].n, __ATOMIC_SEQ_CST))
		sched_yield();
	__atomic_store_n(&done, true, __ATOMIC_SEQ_CST);
	for (size_t i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	log__redirect(NULL);
	for (size_t i = 0; i < N_ROUNDS; i++) {
		cr_assert_eq(listeners[i].n_late, 0, "%zu: %u of %u", i, listeners[i].n_late, listeners[i].n);
		cr_assert_eq(listeners[i].n_at_once, 0, "%zu: %u of %u", i, listeners[i].n_at_once, listeners[i].n);
		n += listeners[i].n;
	}
	cr_assert_gt(n, 0);
}

/* On a terminal a message does not run into the line of what is going on. */
Test(log, a_message_ends_the_line_of_progress)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), own = dup(STDERR_FILENO), slave;
	char text[512] = "";
	size_t len = 0;
	ssize_t n;

	if (master < 0)
		cr_skip_test("no terminal");
	cr_assert(!grantpt(master) && !unlockpt(master));
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	cr_assert(slave >= 0);
	dup2(slave, STDERR_FILENO);
	say_progress("types 39%%");
	say("the heap was not read");
	dup2(own, STDERR_FILENO);
	while (len < sizeof(text) - 1 && !strchr(text, '\n') && (n = read(master, text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	cr_expect(strstr(text, "types 39%") && strstr(text, "\r\033[Kmalloctrace: the heap was not read"), "%s", text);
	close(slave);
	close(own);
	close(master);
}
