/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What the files of reader/ share; no other file includes it. */
#ifndef MT_READER_PARTS_H
#define MT_READER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"

/* ---- unread.c: files that are not read again. What others may know of them is in reader.h. */

void unread__tell_to(readers_lost_fn *on_lost);
void unread__begin_anew(void);	/* there are readers again */
void unread__done(void);
bool unread__is_lost(const struct reader_call *c);
/* There was no answer: what is missing for it? */
void unread__note(const struct reader_call *c);
/* Nor will there be one for this file, */
void unread__lose(const struct reader_call *c, const char *why, uint64_t wasted_ns);
/* nor for any. */
void unread__give_up(const char *why);
/* It was not read this time: no reader could be given it. */
void unread__not_now(const struct reader_call *c, const char *why);
void unread__tell(const char *path, const char *why, bool in_figures);

/*
 * ---- wire.c: bytes to and from a reader or the starter
 *
 * Whatever is on the other side, each call ends in bounded time, and much sooner if an end is asked
 * for (readers__hurry(), readers__end_at(), Ctrl-C).
 */

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
