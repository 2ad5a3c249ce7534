/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Within reader/: files that are not read again. What others may know of them is in reader.h. */
#ifndef MT_UNREAD_H
#define MT_UNREAD_H

#include "reader/reader.h"

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
void unread__tell(const char *path, const char *why, bool in_figures);

#endif
