/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Frames of Python: found in the interpreter's own lists, and put into the stack where the function that runs them stands.
 *
 * The frames of a thread hang on its state, and that is found by the thread's number, so it does not matter who holds the interpreter's
 * lock. A thread that runs several interpreters, one inside of the other, has a state in each. What a frame runs is a code object: its address and the instruction in it go into the stack as one word (MT_PYTHON_WORD), so
 * a walk reads nothing but the frames. What the code is called is read when a site is new (python_code.bpf.h).
 *
 * Everything that is read belongs to the target, and may be anything: reads are bounded, and lists have an end.
 */
#ifndef MT_PYTHON_BPF_H
#define MT_PYTHON_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"
#include "bpf/frames.bpf.h"
#include "bpf/pids.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/python_code.bpf.h"

/* by slot of the process; holds if its proc is the process's number */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_python);
} pythons SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_python_walk);
} python_walks SEC(".maps");

struct known_state {		/* as in struct mt_python_walk */
	__u64 tstate, none_since, n_none;
};

/* by STATE_KEY(): what was found for a thread that others have taken the place of in python_walks */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct known_state);
} python_states SEC(".maps");

#define STATE_KEY(proc, tid) ((__u64)(proc) << 32 | (tid))

#define WALK_CLAIMS 4
#define MAX_STATES 256		/* threads of an interpreter that one part of a search goes through, */
#define SEARCH_PARTS 16		/* and the parts that a search has */
#define SURELY_NONE 64		/* searches in vain */
#define NOT_ALL (1ULL << 32)	/* of n_none: the last search did not get to the end */

/* ---- the thread's state */

/* Is what is at ts, now in raw, the state of this thread? */
static __always_inline bool is_state(struct mt_python_walk *w, const struct mt_python *c, __u64 ts)
{
	return ts && !bpf_probe_read_user(w->raw, MT_PYTHON_TSTATE_BYTES, (const void *)ts) && raw_word(w, c->ts_tid) == w->tid;
}

/* A state that was freed may look as it did: is it still in the list of the only interpreter? */
static __always_inline bool is_linked(struct mt_python_walk *w, const struct mt_python *c, __u64 ts)
{
	__u64 prev = raw_word(w, c->ts_prev), interp = raw_word(w, c->ts_interp);

	if (!interp || user_word(c->runtime + c->interpreters) != interp)
		return false;
	return user_word(prev ? prev + c->ts_next : interp + c->threads) == ts;
}

/* The innermost frame of the state in raw; 0: none. */
static __always_inline __u64 frame_of(struct mt_python_walk *w, const struct mt_python *c)
{
	__u64 at = raw_word(w, c->ts_frame);

	return at && c->cframe != MT_PYTHON_NONE ? user_word(at + c->cframe) : at;
}

/* A part of a search: from search_at in search_interp on, and those say where it goes on; no interpreter: it is done. */
__noinline int python_search(struct mt_python_walk *w, const struct mt_python *c)
{
	__u64 interp, ts, at;
	bool own;

	if (!w || !c)
		return 0;
	interp = w->search_interp;
	ts = w->search_at;
#pragma clang loop unroll(disable)
	for (int i = 0; i < MAX_STATES && interp; i++) {
		if (!ts) {
			interp = user_word(interp + c->next_interpreter);
			ts = interp ? user_word(interp + c->threads) : 0;
			continue;
		}
		own = is_state(w, c, ts);
		if (own && !frame_of(w, c)) {
			/* or one that this thread makes for another, which has its number until that one runs */
			w->bare = ts;
			w->n_bare++;
		} else if (own) {
			at = raw_word(w, c->ts_frame);
			if (w->best && c->cframe == MT_PYTHON_NONE) {
				w->best = 0;
				interp = 0;
				break;
			}
			if (at > w->begins_at && at < w->best_at) {
				w->best = ts;
				w->best_at = at;
			}
			if (!w->several) {
				interp = 0;
				break;
			}
		}
		ts = user_word(ts + c->ts_next);
	}
	w->search_interp = interp;
	w->search_at = ts;
	return 0;
}

/*
 * Through the lists of all interpreters; 0: there is no state of this thread for sure. Of several the innermost behind begins_at:
 * what leads to their frames lies on the thread's own stack. Where it does not, which of them runs is not known, and none does.
 * search_interp is not 0: there are more states than anybody has time for, and what was found is of the first ones.
 */
__noinline __u64 search_state(struct mt_python_walk *w, const struct mt_python *c)
{
	if (!w || !c)
		return 0;
	w->best = 0;
	w->best_at = ~0ULL;
	w->n_bare = 0;
	w->search_interp = user_word(c->runtime + c->interpreters);
	w->search_at = w->search_interp ? user_word(w->search_interp + c->threads) : 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < SEARCH_PARTS && w->search_interp; i++)
		python_search(w, c);
	/* the only one that it has, and that may have frames soon */
	if (!w->best && !w->several && !w->search_interp && w->n_bare == 1)
		w->best = w->bare;
	return w->best && is_state(w, c, w->best) ? w->best : 0;
}

static __always_inline void recall_state(struct mt_python_walk *w)
{
	__u64 key = STATE_KEY(w->of_proc, w->of_tid);
	struct known_state *known = bpf_map_lookup_elem(&python_states, &key);

	w->tstate = known ? known->tstate : 0;
	w->none_since = known ? known->none_since : 0;
	w->n_none = known ? known->n_none : 0;
}

__noinline int remember_state(const struct mt_python_walk *w)
{
	struct known_state known;
	__u64 key;

	if (!w)
		return 0;
	key = STATE_KEY(w->of_proc, w->of_tid);
	known.tstate = w->tstate;
	known.none_since = w->none_since;
	known.n_none = w->n_none;
	bpf_map_update_elem(&python_states, &key, &known, BPF_ANY);
	return 0;
}

/* Into raw; false: this thread runs no Python, as far as was searched. */
static __always_inline bool find_state(struct mt_python_walk *w, const struct mt_python *c)
{
	__u64 ts, first;

	ts = c->current != MT_PYTHON_NONE ? user_word(c->runtime + c->current) : 0;
	if (ts && is_state(w, c, ts)) {
		if (w->tstate != ts) {
			w->tstate = ts;
			remember_state(w);
		}
		return true;
	}
	if (w->several)
		return search_state(w, c);
	ts = w->tstate;
	first = user_word(user_word(c->runtime + c->interpreters) + c->threads);
	/* one without a frame may have been another's to be, if its own was made since */
	if (ts && is_state(w, c, ts) && is_linked(w, c, ts) && (first == w->none_since || frame_of(w, c)))
		return true;
	/*
	 * a state that is made comes first in the list: as long as none did, there is none still. But a thread that begins meets probes
	 * before its state has its number: it is asked for often enough at first.
	 */
	if (ts || first != w->none_since)
		w->n_none = 0;
	if ((w->n_none & ~NOT_ALL) >= SURELY_NONE) {
		w->search_interp = w->n_none & NOT_ALL;
		return false;
	}
	w->tstate = search_state(w, c);
	w->none_since = first;
	w->n_none = w->tstate || w->n_bare ? 0 : ((w->n_none & ~NOT_ALL) + 1) | (w->search_interp ? NOT_ALL : 0);
	remember_state(w);
	return w->tstate;
}

/* If the frames of one state are done: those of the next, in another interpreter that called it. 0: there is none. */
__noinline __u64 next_state(struct mt_python_walk *w, const struct mt_python *c)
{
	if (!w || !c || !w->several || w->frame || c->cframe == MT_PYTHON_NONE || !search_state(w, c))
		return 0;
	w->begins_at = raw_word(w, c->ts_frame);
	w->frame = frame_of(w, c);
	return w->frame;
}

/* ---- its frames */

/* One frame: 0 if there may be another one. Else one is left if it could not be read, or if there is no room for it. */
__noinline int python_step(struct mt_python_walk *w, const struct mt_python *c)
{
	__u64 code, unit, word, n, what;
	bool begins;

	if (!w || !c || !w->frame)
		return 1;
	w->broken = bpf_probe_read_user(w->raw, MT_PYTHON_FRAME_BYTES, (const void *)w->frame) != 0;
	if (w->broken)
		return 1;
	code = raw_word(w, c->f_code) & ~(__u64)c->code_tag;
	unit = raw_word(w, c->f_instr) - code - c->co_bytecode;
	unit = (__s64)unit < 0 ? MT_PYTHON_UNBEGUN : unit / 2 < MT_PYTHON_UNBEGUN ? unit / 2 : MT_PYTHON_UNITS;
	begins = c->has_shims ? raw_byte(w, c->f_owner) >= c->entry : raw_byte(w, c->f_owner) == c->entry;
	if (begins && c->has_shims) {
		/* it stands below the frame that was begun with */
		w->frame = raw_word(w, c->f_prev);
		if (w->n)
			w->word[(w->n - 1) & (MT_MAX_DEPTH - 1)] &= ~MT_PYTHON_GOES_ON;
		return 0;
	}
	if (w->n >= mt_config.depth)
		return 1;
	w->frame = raw_word(w, c->f_prev);
	if (code & 7 || code >> 48)
		code = 0;
	word = MT_PYTHON_WORD(code, unit);
	n = frees_at(c, w->of_proc, code);
	what = n ? print_of(w, c, code, n) : code;
	w->hash = hash_frame(hash_frame(w->hash, what), unit << 1 | begins);
	w->word[w->n & (MT_MAX_DEPTH - 1)] = begins ? word & ~MT_PYTHON_GOES_ON : word;
	w->n++;
	return 0;
}

/* All of them, innermost first; their hash, which is never 0. */
__noinline __u64 python_walk(struct mt_python_walk *w, const struct mt_python *c, const struct mt_thread *t)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!w || !c || !t)
		return 0;
	if (w->of_tid != t->tid || w->of_proc != t->proc) {
		w->of_tid = t->tid;
		w->of_proc = t->proc;
		w->tid = innermost_pid(BPF_CORE_READ(task, thread_pid));
		recall_state(w);
	}
	w->n = 0;
	w->broken = 0;
	w->hash = 0;
	w->several = user_word(user_word(c->runtime + c->interpreters) + c->next_interpreter);
	w->begins_at = 0;
	w->frame = 0;
	w->search_interp = 0;
	/* also if there are none: what runs frames is unsure without them */
	if (!find_state(w, c))
		return 1;
	w->begins_at = raw_word(w, c->ts_frame);
	w->frame = frame_of(w, c);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < 2 * MT_MAX_DEPTH; i++)	/* some of them are shims */
		/* the first is never so; without it clang 14 has a jump into the loop, which kernel 6.1 refuses */
		if (w->n > mt_config.depth || (python_step(w, c) && !next_state(w, c)))
			break;
	if (w->frame)
		w->hash = hash_frame(w->hash, 1);
	return w->hash | 1;
}

/* ---- into the stack */

static __always_inline bool is_in_eval(const struct mt_python *c, __u64 pc)
{
#pragma unroll
	for (int i = 0; i < MT_PYTHON_RANGES; i++)
		if (pc - c->eval[i].start < c->eval[i].end - c->eval[i].start)
			return true;
	return false;
}

/* The next word of the stack that is made of both; 1: it is complete. */
__noinline int merge_step(const struct mt_scratch *s, struct mt_python_walk *w, const struct mt_python *c)
{
	__u64 word;

	if (!s || !w || !c)
		return 1;
	if (w->in_eval || (w->at == w->n_native && w->at_python < w->n)) {
		/* without a function that runs them: it is not known as one, or what was walked ended before it */
		w->n_left += !w->in_eval && s->walk.end != MT_END_DEPTH;
		word = w->word[w->at_python++ & (MT_MAX_DEPTH - 1)];
		w->in_eval = w->in_eval && word & MT_PYTHON_GOES_ON && w->at_python < w->n;
		word |= MT_PYTHON_GOES_ON;
	} else if (w->at < w->n_native) {
		word = s->ip[w->at++ & (MT_MAX_DEPTH - 1)];
		if (MT_IS_PYTHON(word))
			word = 0;	/* no address of a program */
		if (is_in_eval(c, word - 1)) {
			if (w->at_python < w->n) {
				w->in_eval = 1;
				return 0;
			}
			w->n_left += !w->cut;
		}
		if (mt_config.python == MT_PYTHON_ONLY && w->n)
			return 0;
	} else {
		return 1;
	}
	if (w->n_merged >= mt_config.depth) {
		w->cut = 1;
		return 1;
	}
	/* which code it is is in the hash of its own: print_word() */
	w->merged_hash = hash_frame(w->merged_hash, MT_IS_PYTHON(word) ? MT_PYTHON_TAG : word);
	w->merged[w->n_merged++ & (MT_MAX_DEPTH - 1)] = word;
	return 0;
}

/* The i-th frame, by what its code is: equal code is one, wherever it lies. */
__noinline int print_word(struct mt_python_walk *w, const struct mt_python *c, __u32 i)
{
	__u64 word, code, print;

	if (!w || !c || i >= MT_MAX_DEPTH || i >= w->n)
		return 1;
	word = w->word[i];
	code = MT_PYTHON_CODE(word);
	print = print_of(w, c, code, frees_at(c, w->of_proc, code));
	w->hash = hash_frame(hash_frame(w->hash, print ? print : code), word >> 45);
	return 0;
}

/* The n frames in s->ip with those of Python in their places: how many there are then. */
static __always_inline __u32 merge(struct mt_scratch *s, struct mt_python_walk *w, const struct mt_python *c, __u32 n)
{
	w->n_native = n;
	w->at = w->at_python = w->n_merged = w->in_eval = 0;
	w->cut = w->frame && !w->broken;
	w->n_left = w->broken;
	w->merged_hash = w->cut;
	w->hash = 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < 2 * MT_MAX_DEPTH; i++)
		if (merge_step(s, w, c))
			break;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_MAX_DEPTH; i++)
		if (print_word(w, c, i))
			break;
	s->walk.hash = hash_frame(w->merged_hash, w->hash ^ s->walk.odd);
	if (w->cut)
		s->walk.end = MT_END_DEPTH;
	if (w->n_left && (s->walk.end == MT_END_WHOLE || w->cut)) {
		s->walk.guessed |= MT_GUESSED_FP;
		s->walk.end = MT_END_UNSURE;
	}
	return w->n_merged;
}

/* ---- names */

/*
 * The i-th word of a stack that will be a new site's: its code is reported, unless it was before. A frame that has not begun, because
 * its cells are still being made, is none to the program itself, nor here.
 */
__noinline int name_word(struct mt_python_walk *w, const struct mt_python *c, __u32 i)
{
	__u64 word;

	if (!w || !c || i >= MT_MAX_DEPTH || i >= w->n_merged)
		return 1;
	word = w->merged[i];
	if (MT_IS_PYTHON(word) && MT_PYTHON_CODE(word)) {
		if (!know_code(w, c, MT_PYTHON_CODE(word))) {
			/* no name is better than one of code that was there before */
			word = MT_PYTHON_WORD(0, 0);
			count(MT_EDGE_PYTHON_UNNAMED);
		} else if (MT_PYTHON_UNIT(word) == MT_PYTHON_UNBEGUN || MT_PYTHON_UNIT(word) < w->begins) {
			return 0;
		}
	}
	w->merged[w->n_named++ & (MT_MAX_DEPTH - 1)] = word;
	return 0;
}

/* ---- whose turn it is */

/* NULL: no Python is known in this process. */
static __always_inline struct mt_python *python_of(__u32 proc)
{
	__u32 k = MT_PROC_SLOT(proc);
	struct mt_python *c = bpf_map_lookup_elem(&pythons, &k);

	return c && c->proc == proc ? c : NULL;
}

/* Room for its frames: a number and 1; 0: all that this thread may have are in use. */
__noinline __u32 python_claim(__u32 tid)
{
	for (__u32 i = 0; i < WALK_CLAIMS; i++) {
		__u32 k = (tid + i) & (MT_PYTHON_WALKS - 1);
		struct mt_python_walk *w = bpf_map_lookup_elem(&python_walks, &k);

		if (w && !w->busy && !__sync_lock_test_and_set(&w->busy, 1))
			return k + 1;
	}
	count(MT_EDGE_PYTHON_UNNAMED);
	return 0;
}

static __always_inline struct mt_python_walk *python_walk_at(const struct mt_scratch *s)
{
	__u32 k = s->python_walk - 1;

	return s->python_walk ? bpf_map_lookup_elem(&python_walks, &k) : NULL;
}

/* The walk in s begins: if its thread runs Python, its frames are found, and s->key has their hash. */
__noinline int python_begin(struct mt_scratch *s, const struct mt_thread *t)
{
	struct mt_python_walk *w;
	struct mt_python *c;

	if (!s || !t)
		return 0;
	c = python_of(t->proc);
	if (!c)
		return 0;
	s->python_walk = python_claim(t->tid);
	w = python_walk_at(s);
	if (w)
		s->key.python = python_walk(w, c, t);
	return 0;
}

__noinline int python_end(struct mt_scratch *s)
{
	struct mt_python_walk *w;

	if (!s)
		return 0;
	w = python_walk_at(s);
	s->python_walk = 0;
	/* an exchange: our reads come before it */
	if (w)
		__sync_lock_test_and_set(&w->busy, 0);
	return 0;
}

/* The n frames of the walk in s, which has ended, with those of Python in their places: how many there are then. */
__noinline __u32 python_merge(struct mt_scratch *s, __u32 n)
{
	struct mt_python_walk *w;
	struct mt_python *c;

	if (!s || !s->key.python)
		return n;
	w = python_walk_at(s);
	c = w ? python_of(w->of_proc) : NULL;
	if (c)
		return merge(s, w, c, n);
	/* dropped since: nothing was merged */
	s->key.python = 0;
	return n;
}

/* What was merged will be a new site: the code in it has to be known. How many frames of the n are left. */
__noinline __u32 python_names(const struct mt_scratch *s, __u32 n)
{
	struct mt_python_walk *w;
	struct mt_python *c;

	if (!s || !s->key.python)
		return n;
	w = python_walk_at(s);
	c = w ? python_of(w->of_proc) : NULL;
	if (!c)
		return n;
	w->n_named = 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_MAX_DEPTH; i++)
		if (name_word(w, c, i))
			break;
	return w->n_named;
}

/* A process that was forked has what its parent has, where that has it. */
static __always_inline void python_forked(__u32 parent, __u32 child)
{
	__u32 from = MT_PROC_SLOT(parent), to = MT_PROC_SLOT(child);
	struct mt_python *a = bpf_map_lookup_elem(&pythons, &from), *b = bpf_map_lookup_elem(&pythons, &to);

	if (!a || !b || a->proc != parent)
		return;
	*b = *a;
	b->proc = child;
}

#endif
