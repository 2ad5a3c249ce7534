/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * pprof's drop_frames: which functions only pass a call on to the allocator (malloc, operator new, wrappers around them, the
 * C++ library), so that `go tool pprof -top` names their callers.
 */
#ifndef MT_DROP_FRAMES_H
#define MT_DROP_FRAMES_H

#include "model/snapshot.h"

/* A regular expression of RE2's syntax, "" if there are none; the caller's. */
char *drop_frames__regex(const struct snapshot *s);

#endif
