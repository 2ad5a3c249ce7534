// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Threads that take one piece of work after the other. Each piece is done once, however many
 * threads can be started; at worst by the one that waits.
 */
#include <pthread.h>
#include <sched.h>

#include "probe/crew.h"

static void *take_part(void *arg)
{
	struct crew *c = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->n)
		c->work(c->arg, i);
	return NULL;
}

/* spare: how many of the n the caller does itself, while others do the rest */
void crew__start(struct crew *c, size_t spare)
{
	while (c->n_hands + spare < c->n && c->n_hands < MAX_HANDS &&
	       !pthread_create(&c->hands[c->n_hands], NULL, take_part, c))
		c->n_hands++;
}

/*
 * The same, before others on a busy machine: as long as some probes are in place
 * and others are not, a target pays for nothing. They hardly use the CPU.
 */
void crew__start_at_once(struct crew *c)
{
	struct sched_param first = { .sched_priority = 1 };
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_RR);
	pthread_attr_setschedparam(&attr, &first);
	while (c->n_hands < c->n && c->n_hands < MAX_HANDS &&
	       !pthread_create(&c->hands[c->n_hands], &attr, take_part, c))
		c->n_hands++;
	pthread_attr_destroy(&attr);
	/* without the right to it */
	crew__start(c, 0);
}

void crew__join(struct crew *c)
{
	take_part(c);
	while (c->n_hands)
		pthread_join(c->hands[--c->n_hands], NULL);
}

