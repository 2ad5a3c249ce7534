/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Many links at once: closing one is mostly waiting. */
#ifndef MT_CREW_H
#define MT_CREW_H

#include <pthread.h>
#include <stddef.h>

#define MAX_HANDS 64

struct crew {
	void (*work)(void *arg, size_t i);
	void *arg;
	size_t n, next;
	pthread_t hands[MAX_HANDS];
	size_t n_hands;
};

/* spare: how many of the n the caller does itself, while others do the rest */
void crew__start(struct crew *c, size_t spare);
/* The same, before others on a busy machine. */
void crew__start_at_once(struct crew *c);
/* Takes part, and waits for the others. */
void crew__join(struct crew *c);

#endif
