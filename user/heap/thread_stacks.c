// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which memory is whose stack. /proc says where a thread's stack pointer is, as long as it waits in the kernel; the
 * mapping around that may be more than the stack: neighbours are merged into one mapping, from glibc 2.42 on even two stacks.
 *
 * glibc knows better: its descriptor of a thread, which lies at the end of the stack, has the thread's number, between two
 * others in a list, and where the stack begins. It is recognised by what must hold of it, for all versions:
 *
 *	[-2] next  [-1] previous: descriptors that lead back here
 *	[0]  the thread's number in its own pid namespace
 *	...  some words later: start of the stack, its size, size of the guard in it
 *
 * One of them is found at the end of a mapping that lies above a guard, or from a stack pointer on; the list leads to the
 * others, those of threads that run too, whose stack pointer nobody knows. A thread of another C library has the mapping that its stack pointer is in, if there is a guard below and no other thread is in it.
 */
#include "heap/parts.h"

#include <string.h>

#include "process/process.h"
#include "util/hash.h"

#define WORD sizeof(uint64_t)
#define THREADS_MAX (1u << 16)
#define WINDOW_BYTES (64u << 10)	/* that are searched for a descriptor, from the end of the mapping, */
#define NEAR_BYTES (512u << 10)		/* or from the stack pointer on */
#define PAIR_MAX 256			/* words from a thread's number to its stack's */
#define TLS_MAX_BYTES (16ull << 20)	/* from there to the stack's end */
#define HEAD_BYTES 0x400		/* what a descriptor has in front of the number, at most, */
#define TAIL_BYTES 0x1000		/* and behind it */
#define FIRST_MAX_BYTES (8u << 20)	/* that are searched for the first thread's */
#define KEPT_MAX 8192			/* places that are looked at for one that is kept */
#define TRIES_MAX 64			/* searches in vain, before nothing is looked for any more */

struct search {
	struct target *t;
	struct thread_stacks *s;
	struct hash by_own_tid;	/* own_tid → index of the struct thread_stack + 1 */
	uint64_t tls_below, tls_above;	/* thread-local variables lie below the descriptor, or above it: so many bytes at most */
	/* what was learnt of the first descriptor */
	size_t pair;		/* words; 0: nothing was */
	uint64_t from_end;	/* the number, from the end of the stack */
	unsigned int n_tries;	/* in vain */
	struct hash pointers;	/* start of a mapping → how many stack pointers are in it */
	uint64_t buf[NEAR_BYTES / WORD];
};

/* ---- what /proc says */

/* "63 0x5 0x... 0xSP 0xPC", "-1 0xSP 0xPC", or "running" */
static uint64_t stack_pointer(struct target *t, int tid)
{
	_cleanup_free_ char *text = NULL;
	char *at, *last = NULL;
	int err = process__file(tid, "syscall", &text);

	target__note_untold(t, err);
	if (err)
		return 0;
	at = strrchr(text, ' ');
	if (at) {
		*at = 0;
		last = strrchr(text, ' ');
	}
	return last ? strtoull(last + 1, NULL, 16) : 0;
}

static int list_threads_of(struct search *f, pid_t pid)
{
	_cleanup_pids_ struct pids threads = pids__of_threads(pid);
	pid_t tid, own = 0;
	bool elsewhere;
	int r = 0;

	/* its threads are in its pid namespace */
	target__note_untold(f->t, process__own_tid(pid, &own));
	elsewhere = own;
	while (!r && f->s->all.n < THREADS_MAX && (tid = pids__next(&threads))) {
		struct thread_stack *one = vec_push(&f->s->all);

		own = 0;
		if (elsewhere)
			target__note_untold(f->t, process__own_tid(tid, &own));
		one->tid = tid;
		one->own_tid = own ?: tid;
		target__note_untold(f->t, process__thread_comm(pid, tid, one->name));
		one->sp = stack_pointer(f->t, tid);
		r = target__go_on(f->t, "threads", 0);
	}
	target__note_untold(f->t, threads.err);
	return r;
}

static int list_threads(struct search *f)
{
	int r = 0;

	if (!f->t->runner)
		return 0;
	for (size_t i = 0; !r && target__pid_at(f->t, i); i++)
		r = list_threads_of(f, target__pid_at(f->t, i));
	/*
	 * Processes that share the memory may be in several pid namespaces: where two threads have
	 * the same number, that of the first process counts.
	 */
	for (size_t i = f->s->all.n; i-- && !r;)
		hash__put(&f->by_own_tid, (uint64_t)f->s->all.v[i].own_tid, (void *)(uintptr_t)(i + 1));
	return r;
}

static struct thread_stack *thread_of(struct search *f, uint32_t own_tid)
{
	size_t i = (uintptr_t)hash__get(&f->by_own_tid, own_tid);

	return i ? &f->s->all.v[i - 1] : NULL;
}

/* NULL: it was not listed */
static struct thread_stack *first_thread(struct search *f)
{
	return (struct thread_stack *)thread_stacks__by_tid(f->s, f->t->pid);
}

static bool is_plain(const struct mapping *m)
{
	return m && !m->ino && !m->path[0] && m->write;
}

/* ---- glibc's descriptors */

static bool read_word(struct search *f, uint64_t addr, uint64_t *ret)
{
	return addr % WORD == 0 && memory__read_present(&f->t->memory, addr, ret, WORD) == WORD;
}

/* Is the list's entry in front of the number at this address one of a list? */
static bool is_in_list(struct search *f, uint64_t at, uint64_t next, uint64_t prev)
{
	uint64_t entry = at - 2 * WORD, back, forth;

	return next && prev && read_word(f, next + WORD, &back) && back == entry && read_word(f, prev, &forth) && forth == entry;
}

/* The stack that a descriptor, whose number is at this address, says it has. */
static bool read_pair(struct search *f, uint64_t at, struct thread_stack *to)
{
	size_t first = f->pair ? f->pair : 1, last = f->pair ? f->pair : PAIR_MAX;
	uint64_t words[PAIR_MAX + 3], page = f->t->page_bytes;

	/* what is not there is zeros: on x86_64 the stack ends before so many words, and a guard may follow */
	if (!memory__read_present(&f->t->memory, at, words, sizeof(words)))
		return false;
	for (size_t i = first; i <= last; i++) {
		uint64_t block = words[i], size = words[i + 1], guard = words[i + 2];

		if (!block || block % page || !size || size % page || guard % page || guard >= size || block > at ||
		    at - block >= size || block + size - at > TLS_MAX_BYTES || block + guard > at)
			continue;
		to->start = block + guard;
		to->guard_bytes = guard;
		to->end = block + size;
		to->tls = MAX(at - MIN(at, HEAD_BYTES + f->tls_below), to->start);
		if (!f->pair)
			f->from_end = to->end - at;
		f->pair = i;
		return true;
	}
	return false;
}

/* The address of a thread's number in its descriptor, in memory of [start, end); 0: it is not there. */
static uint64_t find_descriptor(struct search *f, uint64_t start, uint64_t end, uint32_t own_tid)
{
	size_t n;

	start = (start + WORD - 1) / WORD * WORD;
	end = MIN(end, start + sizeof(f->buf));
	n = end > start ? (end - start) / WORD : 0;
	if (!n || !memory__read_present(&f->t->memory, start, f->buf, n * WORD))
		return 0;
	/* the end of a stack comes first: what is further down may be a copy */
	for (size_t i = n; i-- > 2;)
		if ((uint32_t)f->buf[i] == own_tid &&
		    is_in_list(f, start + i * WORD, f->buf[i - 2], f->buf[i - 1]))
			return start + i * WORD;
	return 0;
}

/* All that are in the list with this one. */
static void follow(struct search *f, uint64_t at)
{
	uint64_t begin = at, number, next;

	for (size_t steps = 0; steps < THREADS_MAX; steps++) {
		struct thread_stack *one;

		if (!read_word(f, at - 2 * WORD, &next) || next + 2 * WORD == begin)
			return;
		at = next + 2 * WORD;
		/* the list's head is among them, and has no number */
		if (!read_word(f, at, &number))
			continue;
		one = thread_of(f, (uint32_t)number);
		if (one && !one->end)
			read_pair(f, at, one);
	}
}

static void find_by_pointer(struct search *f, struct thread_stack *one)
{
	const struct mapping *m = one->sp ? maps__find(&f->t->maps, one->sp) : NULL;
	uint32_t tid = (uint32_t)one->own_tid;
	uint64_t at;

	if (!m || !m->write || one->tid == f->t->pid || f->n_tries >= TRIES_MAX)
		return;
	at = find_descriptor(f, MAX(one->sp, m->end - MIN(m->end - m->start, (uint64_t)WINDOW_BYTES)), m->end, tid);
	if (!at)
		at = find_descriptor(f, one->sp, MIN(m->end, one->sp + NEAR_BYTES), tid);
	if (at && read_pair(f, at, one))
		follow(f, at);
	else
		f->n_tries++;
}

/* One that may not be touched, right below. */
static bool has_guard(const struct maps *maps, const struct mapping *m)
{
	const struct mapping *below = m > maps->v ? m - 1 : NULL;

	return below && below->end == m->start && !below->ino && !below->read && !below->write && !below->exec;
}

/* Any thread's, at the end of a mapping. */
static bool find_at_end(struct search *f, const struct mapping *m)
{
	uint64_t start = m->end - MIN(m->end - m->start, (uint64_t)WINDOW_BYTES);
	size_t n = (m->end - start) / WORD;

	if (!memory__read_present(&f->t->memory, start, f->buf, n * WORD))
		return false;
	for (size_t i = n; i-- > 2;) {
		struct thread_stack *one = thread_of(f, (uint32_t)f->buf[i]);

		if (one && is_in_list(f, start + i * WORD, f->buf[i - 2], f->buf[i - 1]) && read_pair(f, start + i * WORD, one)) {
			follow(f, start + i * WORD);
			return true;
		}
	}
	return false;
}

static void find_any(struct search *f)
{
	for (size_t i = 0, tries = 0; i < f->t->maps.n && tries < TRIES_MAX && !f->pair && f->s->all.n > 1; i++) {
		const struct mapping *m = &f->t->maps.v[i];

		if (is_plain(m) && has_guard(&f->t->maps, m) && !find_at_end(f, m))
			tries++;
	}
}

/*
 * The first thread's lies where the loader put it, which was one of the first mappings: they are made downwards, so that
 * it is the end of one, whatever that was merged with since. In static programs it is what [heap] begins with.
 */
static void find_first(struct search *f)
{
	const struct thread_stack *first = first_thread(f);
	uint64_t searched = 0, at = 0;

	for (size_t i = f->t->maps.n; first && i-- > 0 && searched < FIRST_MAX_BYTES && !at;) {
		const struct mapping *m = &f->t->maps.v[i];
		uint64_t len = MIN(m->end - m->start, sizeof(f->buf)), from = is_plain(m) ? m->end - len : m->start;

		if (!is_plain(m) && strcmp(m->path, "[heap]"))
			continue;
		searched += len;
		at = find_descriptor(f, from, from + len, (uint32_t)first->own_tid);
		if (!at)
			continue;
		f->s->first_tls_start = MAX(m->start, at - HEAD_BYTES - f->tls_below);
		f->s->first_tls_end = MIN(m->end, at + TAIL_BYTES + f->tls_above);
		f->s->first_tls_in_heap = !is_plain(m);
		follow(f, at);
	}
}

/* ---- without descriptors */

static const struct mapping *mapping_of(const struct search *f, const struct thread_stack *one)
{
	return one->sp ? maps__find(&f->t->maps, one->sp) : NULL;
}

static void count_pointers(struct search *f)
{
	for (size_t i = 0; i < f->s->all.n; i++) {
		const struct mapping *m = mapping_of(f, &f->s->all.v[i]);

		if (m)
			hash__put(&f->pointers, m->start, (char *)hash__get(&f->pointers, m->start) + 1);
	}
}

static void find_by_guard(struct search *f, struct thread_stack *one)
{
	const struct mapping *m = mapping_of(f, one);

	if (!is_plain(m) || !has_guard(&f->t->maps, m) || (uintptr_t)hash__get(&f->pointers, m->start) != 1)
		return;
	one->start = m->start;
	one->end = m->end;
}

static void find_main(struct search *f)
{
	struct thread_stack *first = first_thread(f);

	for (size_t i = 0; i < f->t->maps.n && first; i++)
		if (!strcmp(f->t->maps.v[i].path, "[stack]")) {
			first->start = f->t->maps.v[i].start;
			first->end = f->t->maps.v[i].end;
		}
}

/*
 * Stacks of threads that have ended: at the end of a mapping there is a descriptor whose number is 0, or -1 once the thread
 * was joined. Below it there may be another one.
 */
static void find_kept(struct search *f)
{
	size_t n = 0;

	for (size_t i = 0; f->pair && i < f->t->maps.n && n < KEPT_MAX; i++) {
		const struct mapping *m = &f->t->maps.v[i];
		uint64_t end = m->end, number;

		if (!is_plain(m))
			continue;
		while (end > m->start && end - m->start > f->from_end && n++ < KEPT_MAX) {
			struct thread_stack kept = {};

			if (!read_word(f, end - f->from_end, &number) || !read_pair(f, end - f->from_end, &kept) || kept.end != end)
				break;
			end = kept.start - kept.guard_bytes;
			if ((int32_t)number > 0)
				continue;
			*vec_push(&f->s->all) = kept;
		}
	}
}

int thread_stacks__init(struct thread_stacks *s, struct target *t, uint64_t tls_bytes)
{
	struct search *f = xcalloc(1, sizeof(*f));
	int r;

	*s = (struct thread_stacks){};
	f->t = t;
	f->s = s;
#ifdef __x86_64__
	f->tls_below = MIN(tls_bytes, TLS_MAX_BYTES);
#else
	f->tls_above = MIN(tls_bytes, TLS_MAX_BYTES);
#endif
	r = list_threads(f);
	if (!r) {
		find_main(f);
		find_any(f);
		for (size_t i = 0; i < s->all.n; i++)
			if (!s->all.v[i].end)
				find_by_pointer(f, &s->all.v[i]);
		find_first(f);
		count_pointers(f);
		for (size_t i = 0; i < s->all.n; i++)
			if (!s->all.v[i].end)
				find_by_guard(f, &s->all.v[i]);
		find_kept(f);
	}
	hash__done(&f->pointers);
	hash__done(&f->by_own_tid);
	free(f);
	if (r)
		thread_stacks__done(s);
	return r;
}

void thread_stacks__done(struct thread_stacks *s)
{
	vec_done(&s->all);
}

const struct thread_stack *thread_stacks__by_tid(const struct thread_stacks *s, int tid)
{
	for (size_t i = 0; i < s->all.n; i++)
		if (s->all.v[i].tid == tid)
			return &s->all.v[i];
	return NULL;
}
