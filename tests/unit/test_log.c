// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Messages of several threads. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>

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
