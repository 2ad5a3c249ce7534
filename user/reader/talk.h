/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Within reader/: bytes to and from a reader or the starter, neither of which need ever answer. Whatever is on the other side,
 * each call ends in bounded time, and much sooner if an end is asked for (readers__hurry(), readers__end_at(), Ctrl-C).
 */
#ifndef MT_TALK_H
#define MT_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAIT_PART_NS (10 * SECOND_NS)	/* for the next part of an answer, unless a call says otherwise */
#define WAIT_ANSWER_NS (60 * SECOND_NS)	/* for all of it */
#define WAIT_LONG_NS (200 * MS_NS)	/* that an end is asked for matters to what takes longer than this */

enum outcome { ANSWERED, DIED, LATE, NONSENSE, CALLED_OFF, NO_READER };

struct wait {			/* of one request */
	uint64_t begun_ns, until_ns;
	uint64_t part_ns;	/* for the next part of an answer */
	bool is_last;		/* until_ns is the end of the whole answer's time, not of a part's */
	uint64_t grace_ns;	/* beyond the end, or if it began later then from there on, for the starter: it is to end those that do not answer */
};

void wait__for_part(struct wait *w);	/* until_ns and is_last, for the next one */
/* May it go on? To be asked also of one that never has to be waited for: it may talk without end. */
enum outcome wait__judge(const struct wait *w);

/* All n bytes; passed: a descriptor that goes with the first of them, or -1. */
enum outcome talk__put(int fd, const void *bytes, size_t n, int passed, const struct wait *w);
enum outcome talk__get(int fd, void *bytes, size_t n, const struct wait *w);

#endif
