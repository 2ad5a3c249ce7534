// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the list of what is searched for pointers beside the heap. It is made anew for each scan, twice. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <string.h>
#include <sys/syscall.h>

#include "heap/glibc_parts.h"
#include "heap/reach_parts.h"
#include "process/process.h"
#include "util/sorted.h"

/* What functions that call no others may use below their stack pointer: x86_64's; others have less. */
#define RED_ZONE_BYTES 128
/* Of the files that say what the kernel keeps. */
#define MAX_KEPT (1u << 20)
/* What a heap may grow by while it is read: glibc's heaps of threads are no larger. */
#define GROWTH_BYTES (64ull << 20)

/* ---- which mappings */

static bool is_follower(const struct maps *maps, size_t i)
{
	return i && maps->v[i - 1].end == maps->v[i].start;
}

/* The part of a module that the loader wrote to and then made read-only. */
static bool is_relro(const struct maps *maps, size_t i)
{
	const struct mapping *m = &maps->v[i];

	return m->read && !m->exec && i + 1 < maps->n && is_follower(maps, i + 1) && mapping__is_same_file(m, &maps->v[i + 1]) &&
	       maps->v[i + 1].write;
}

/* [vvar] and the like have nothing of the process's, [heap] and [stack] have. */
static bool is_kernels(const struct mapping *m)
{
	return !strncmp(m->path, "[v", 2) || !strcmp(m->path, "[uprobes]");
}

/* Memory without a file that was made read-only, or is code that was made at run time, may have been filled before; so may a file. */
static bool is_root(const struct maps *maps, size_t i)
{
	const struct mapping *m = &maps->v[i];

	return m->read && !is_kernels(m) && (m->write || is_relro(maps, i) || !m->ino || m->rewritten);
}

/* Mappings of one file, side by side: [start, end). */
struct of_a_file {
	size_t start, end;
	bool has_code;
};

/*
 * Data of a program or library, or the zeroed rest of it, which has no file. The parts of a module lie side by side. last: those
 * that were looked at for a mapping before; a file may have thousands.
 */
static bool is_module(const struct maps *maps, size_t i, struct of_a_file *last)
{
	if (!maps->v[i].ino && !maps->v[i].path[0] && is_follower(maps, i))
		i--;
	if (i >= last->start && i < last->end)
		return last->has_code;
	*last = (struct of_a_file){ .start = i, .end = i };
	while (last->start && mapping__is_same_file(&maps->v[last->start - 1], &maps->v[i]))
		last->start--;
	while (last->end < maps->n && mapping__is_same_file(&maps->v[last->end], &maps->v[i]))
		last->end++;
	for (size_t k = last->start; k < last->end; k++)
		last->has_code |= maps->v[k].exec;
	return last->has_code;
}

static bool is_alike(const struct mapping *a, const struct mapping *b)
{
	return mapping__is_same_file(a, b) && a->read == b->read && a->write == b->write && a->shared == b->shared;
}

/* Shared memory that may be written to is searched anyway, and modules were written before they ran. */
static void note_rewritten(struct maps *maps, struct search *s)
{
	struct of_a_file last = {};

	for (size_t i = 0; i < maps->n; i++) {
		struct mapping *m = &maps->v[i];

		if (m->ino && m->read && !(m->shared && m->write) && !is_module(maps, i, &last))
			m->rewritten = i && is_alike(m, m - 1) ? m[-1].rewritten : file_pages__are_rewritten(s, m, m->write);
	}
}

/* ---- stacks */

/* Where a thread's stack pointer or thread pointer points to. */
struct spot {
	uint64_t addr;
	uint32_t thread;
	bool is_sp;
};

struct spots vec(struct spot);	/* by address */

COMPARATOR(by_spot, struct spot, ORDER(a->addr, b->addr))

static void add_spot(struct spots *s, uint64_t addr, uint32_t thread, bool is_sp)
{
	if (addr)
		*vec_push(s) = (struct spot){ addr, thread, is_sp };
}

static void find_spots(struct spots *s, const struct roots *r)
{
	for (uint32_t i = 0; i < r->n_threads; i++) {
		add_spot(s, r->threads[i].sp, i, true);
		add_spot(s, r->threads[i].tp, i, false);
	}
	vec_sort(s, by_spot);
}

/* Those that lie in a mapping. */
static const struct spot *spots_in(const struct spots *s, const struct mapping *m, size_t *ret_n)
{
	size_t first = sorted__count(one, s->v, s->n, one->addr < m->start);

	*ret_n = sorted__count(one, s->v, s->n, one->addr < m->end) - first;
	return s->v + first;
}

/*
 * Is a mapping the stack of one thread, and nothing else? The kernel calls it so, or it begins at a guard and has the thread's own
 * storage above its stack pointer. Programs that make stacks out of other memory have no such order, and the rest of a mapping may be anything.
 */
static bool is_one_stack(const struct maps *maps, size_t i, const struct spot *in, size_t n)
{
	const struct mapping *before = &maps->v[i] - 1;

	if (!strcmp(maps->v[i].path, "[stack]"))
		return n == 1 && in[0].is_sp;
	return n == 2 && in[0].is_sp && !in[1].is_sp && in[0].thread == in[1].thread && is_follower(maps, i) && !before->read &&
	       !before->write && !before->exec && !before->ino;
}

/* ---- mappings without the heap */

/* [start, end) without the ranges of the heap; *at: the first of them that may matter. */
static void add_without_heap(struct roots *r, const struct census *c, size_t *at, uint64_t start, uint64_t end, enum root_area area)
{
	while (*at < c->ranges.n && c->ranges.v[*at].end <= start)
		(*at)++;
	for (size_t k = *at; start < end; k++) {
		const struct heap_range *heap = k < c->ranges.n && c->ranges.v[k].start < end ? &c->ranges.v[k] : NULL;
		uint64_t stop = heap ? heap->start : end;

		if (stop > start)
			*vec_push(&r->ranges) = (struct root_range){ start, stop, area, 0 };
		start = heap ? MAX(start, heap->end) : end;
	}
}

/* The same; thread-local variables are no part of the stack that they share a mapping with. */
static void add_without_locals(struct roots *r, const struct census *c, const struct heap_ranges *locals, size_t *at, uint64_t start,
			      uint64_t end, enum root_area area)
{
	size_t i = area == AREA_STACK ? sorted__count(one, locals->v, locals->n, one->end <= start) : locals->n;

	for (; i < locals->n && locals->v[i].start < end; i++) {
		uint64_t from = MAX(start, locals->v[i].start), until = MIN(end, locals->v[i].end);

		add_without_heap(r, c, at, start, from, area);
		add_without_heap(r, c, at, from, until, AREA_THREAD_LOCAL);
		start = until;
	}
	add_without_heap(r, c, at, start, end, area);
}

COMPARATOR(by_area, struct root_range, ORDER(a->area, b->area) ?: ORDER(a->start, b->start))

/* What lies below the stack pointer is kept apart. Returns where the rest begins. */
static uint64_t cut_stack(struct roots *r, const struct mapping *m, const struct spot *sp)
{
	uint64_t live = sp->addr - MIN(RED_ZONE_BYTES, sp->addr - m->start);

	*vec_push(&r->below) = (struct root_range){ m->start, live, AREA_STACK, sp->thread };
	return live;
}

void roots__ranges(struct roots *r, const struct maps *maps, const struct census *c, const struct heap_ranges *locals)
{
	struct of_a_file last = {};
	struct spots spots = {};
	size_t at = 0;

	find_spots(&spots, r);
	for (size_t i = 0; i < maps->n; i++) {
		const struct mapping *m = &maps->v[i];
		const struct spot *in;
		size_t n;

		if (!is_root(maps, i))
			continue;
		in = spots_in(&spots, m, &n);
		add_without_locals(r, c, locals, &at, is_one_stack(maps, i, in, n) ? cut_stack(r, m, in) : m->start, m->end,
				   n || !strcmp(m->path, "[stack]") ? AREA_STACK :
				   is_module(maps, i, &last)	    ? AREA_MODULE :
								      AREA_MAPPING);
	}
	vec_done(&spots);
	vec_sort(&r->ranges, by_area);
}

/* ---- what the kernel keeps */

static void add_word(struct roots *r, uint64_t value, int tid)
{
	if (value)
		*vec_push(&r->words) = (struct root_word){ value, tid };
}

void roots__parse_kept(struct roots *r, const char *text, const char *key, enum root_keeper keeper)
{
	for (const char *p = text; (p = strstr(p, key));) {
		uint64_t value = 0;
		int digit;

		for (p += strlen(key); *p == ' '; p++)
			;
		for (; (digit = *p >= '0' && *p <= '9' ? *p - '0' : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10 : -1) >= 0; p++)
			value = value << 4 | (unsigned int)digit;
		if (r->words.n >= MAX_KEPT) {
			r->kept_in_part = true;
			return;
		}
		add_word(r, value, keeper);
	}
}

/* Where the kernel or its rules do not tell them, a scan still says what memory holds. */
static void note_untold(struct roots *r, struct target *t, int err)
{
	target__note_untold(t, err);
	r->kept_in_part |= err == -EFBIG || err == -EACCES || err == -EPERM;
}

static void take_kept(struct roots *r, struct target *t, pid_t of, const char *what, const char *key,
		      enum root_keeper keeper)
{
	_cleanup_free_ char *text = NULL;
	int err = process__file(of, what, &text);

	note_untold(r, t, err);
	if (!err)
		roots__parse_kept(r, text, key, keeper);
}

static bool is_uring(const char *path)
{
	return !strcmp(path, "anon_inode:[io_uring]");
}

/* An epoll hands back what it was given: often the only pointer to a connection. -EINTR */
static int take_epolls(struct roots *r, struct target *t, pid_t of)
{
	char path[64], name[NAME_MAX + 96], link[32];
	struct dirent *d;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)of);
	dir = opendir(path);
	if (!dir)
		note_untold(r, t, -errno);
	while (dir && (errno = 0, d = readdir(dir))) {
		ssize_t n;

		if (target__is_over(t)) {
			err = -EINTR;
			break;
		}
		if (d->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, d->d_name);
		n = readlink(name, link, sizeof(link) - 1);
		if (n <= 0) {
			note_untold(r, t, -errno);
			continue;
		}
		link[n] = 0;
		r->async_io |= is_uring(link);
		if (strcmp(link, "anon_inode:[eventpoll]"))
			continue;
		snprintf(name, sizeof(name), "fdinfo/%s", d->d_name);
		take_kept(r, t, of, name, "data:", KEPT_FOR_EPOLL);
	}
	if (dir) {
		note_untold(r, t, err ? 0 : -errno);
		closedir(dir);
	}
	return err;
}

/*
 * Each process that shares the memory has its own timers, and may have its own descriptors. A table
 * of these is gone through once, where tables may be compared. -EINTR
 */
static int take_all_kept(struct roots *r, struct target *t)
{
	struct vec(pid_t) tables = {};
	int err = 0;

	for (size_t i = 0; !err && t->runner && target__pid_at(t, i); i++) {
		pid_t of = i ? process__runner(target__pid_at(t, i)) : t->runner;

		if (!of)	/* it has ended */
			continue;
		if (target__is_over(t)) {
			err = -EINTR;
		} else if (!vec_first(one, &tables, !syscall(SYS_kcmp, *one, of, KCMP_FILES, 0, 0))) {
			*vec_push(&tables) = of;
			err = take_epolls(r, t, of);
		}
		/* what timer_create() was given: "signal: 10/00007f..." */
		take_kept(r, t, of, "timers", "/", KEPT_FOR_TIMER);
	}
	vec_done(&tables);
	/*
	 * Requests under way are in no file of /proc: it is only known that there may be some.
	 * A ring whose descriptor was closed is still mapped.
	 */
	for (size_t i = 0; i < t->maps.n && !r->async_io; i++)
		r->async_io = !strcmp(t->maps.v[i].path, "/[aio]") || is_uring(t->maps.v[i].path);
	return err;
}

/* ---- registers */

COMPARATOR(by_tid, struct target_thread, ORDER(a->tid, b->tid))

static int stop_for_registers(struct roots *r, struct target *t, struct target_thread **ret, size_t *ret_n)
{
	_cleanup_err_ struct err why = {};
	int err = target__stop_for_registers(t, ret, ret_n, &r->n_unread, &why);

	t->stop_failed = err || r->n_unread;
	if (err)
		return err;
	r->stopped = true;
	/* where a thread is after it was let go nobody knows */
	for (size_t i = 0; i < *ret_n; i++)
		(*ret)[i].sp = 0;
	return 0;
}

/* Of a stopped process registers are known by ptrace, and these are not. */
static void take_signal_stacks(struct roots *r, struct target *t, const struct reach_opts *o)
{
	_cleanup_free_ struct mt_registers *threads = NULL;
	_cleanup_err_ struct err why = {};
	size_t n = 0;

	if (!o->registers || o->registers(t->pid, &t->sharers, &threads, &n, o->arg, &why))
		return;
	for (size_t i = 0; i < n; i++)
		add_word(r, threads[i].signal_stack, threads[i].tid);
}

/* Without a stop. */
static int ask_registers(struct target *t, const struct reach_opts *o, struct target_thread **ret, size_t *ret_n, struct err *e)
{
	_cleanup_free_ struct mt_registers *v = NULL;
	struct target_thread *threads;
	int err = o->registers ? o->registers(t->pid, &t->sharers, &v, ret_n, o->arg, e) : -ENOSYS;

	if (err)
		return err;
	threads = xcalloc(*ret_n, sizeof(*threads));
	for (size_t i = 0; i < *ret_n; i++) {
		threads[i] = (struct target_thread){
			.tid = v[i].tid,
			.sp = v[i].running ? 0 : v[i].sp,
			.tp = v[i].tp,
			.n_regs = MIN(v[i].n, MT_MAX_REGISTERS),
			.switches = v[i].switches,
			.signal_stack = v[i].signal_stack,
		};
		memcpy(threads[i].regs, v[i].v, threads[i].n_regs * sizeof(*v[i].v));
	}
	*ret = threads;
	return 0;
}

static int read_registers(struct roots *r, struct target *t, const struct reach_opts *o, struct target_thread **ret, size_t *ret_n)
{
	_cleanup_err_ struct err why = {};
	int err;

	*ret = NULL;
	*ret_n = 0;
	/* what its threads had in them went with these */
	if (!t->runner) {
		r->missing = true;
		return 0;
	}
	err = o->paused ? target__registers(t, ret, ret_n, &why) : ask_registers(t, o, ret, ret_n, &why);
	if (!err && o->paused)
		take_signal_stacks(r, t, o);
	if (err && !o->paused && err != -EINTR && err != -ESRCH) {
		/* what the first one did not get, the others would not: the scan that tried has said so */
		if (t->stop_failed)
			return 0;
		err = stop_for_registers(r, t, ret, ret_n);
	}
	if (err == -EINTR || err == -ESRCH)
		return err;
	r->missing |= err || !*ret_n;
	if (!err && *ret_n)
		qsort(*ret, *ret_n, sizeof(**ret), by_tid);
	return 0;
}

static void take_registers(struct roots *r, const struct target_thread *threads, size_t n)
{
	size_t n_read = 0;

	for (size_t i = 0; i < n; i++) {
		add_word(r, threads[i].signal_stack, threads[i].tid);
		*(threads[i].n_regs ? &n_read : &r->n_unread) += 1;
		for (uint32_t k = 0; k < MIN(threads[i].n_regs, MT_MAX_REGISTERS); k++)
			add_word(r, threads[i].regs[k], threads[i].tid);
	}
	r->missing |= n && !n_read;
}

/* ---- all of it */

/* Was any of it there, to be written? *at: the first mapping that may matter; all go by address. */
static bool was_writable(const struct maps *was, size_t *at, const struct mapping *m)
{
	while (*at < was->n && was->v[*at].end <= m->start)
		(*at)++;
	for (size_t i = *at; i < was->n && was->v[i].start < m->end; i++)
		if (was->v[i].write)
			return true;
	return false;
}

/* Until the next mapping that is more than a reservation. */
static uint64_t room_behind(const struct maps *maps, size_t i)
{
	size_t k = i + 1;

	while (k < maps->n && !maps->v[k].read)
		k++;
	return k < maps->n ? maps->v[k].start - maps->v[i].end : GROWTH_BYTES;
}

/*
 * Mappings that the heap lies in, and what they may grow by: they may have grown since its ranges were listed, and go on. And those that came
 * since. What else lies in them does no harm: there are no headers of blocks in it.
 */
static void list_grown(struct roots *r, const struct maps *was, const struct maps *is, const struct census *c)
{
	size_t at = 0, range = 0;

	for (size_t i = 0; i < is->n; i++) {
		const struct mapping *m = &is->v[i];
		if (!m->write || m->ino)
			continue;
		while (range < c->ranges.n && c->ranges.v[range].end <= m->start)
			range++;
		if ((range == c->ranges.n || c->ranges.v[range].start >= m->end) && was_writable(was, &at, m))
			continue;
		*vec_push(&r->grown) = (struct heap_range){ m->start, m->end + MIN(room_behind(is, i), GROWTH_BYTES) };
	}
}

/* The mappings of now; those of before are the census's. */
static int refresh(struct roots *r, struct target *t, const struct census *c, struct err *e)
{
	struct maps was = t->maps;
	int err;

	t->maps = (struct maps){};
	err = target__refresh(t, e);
	if (!err)
		list_grown(r, &was, &t->maps, c);
	maps__done(&was);
	return err;
}

int roots__look(struct roots *ret, struct search *s, const struct census *c, const struct reach_opts *o, struct err *e)
{
	struct target *t = s->t;
	struct roots r = {};
	int err = read_registers(&r, t, o, &r.threads, &r.n_threads);

	if (err)
		err_set(e, err, "cannot read the registers of process %d", t->pid);
	if (!err)
		err = refresh(&r, t, c, e);
	if (!err) {
		note_rewritten(&t->maps, s);
		roots__ranges(&r, &t->maps, c, &o->thread_locals);
		take_registers(&r, r.threads, r.n_threads);
		err = take_all_kept(&r, t);
		if (err)
			err_set(e, err, "interrupted");
	}
	if (err) {
		roots__done(&r);
		return err;
	}
	*ret = r;
	return 0;
}

struct finding {
	const struct search *s;
	const struct block_index *x;
	root_fn fn;
	void *arg;
};

/* Of registers and stacks a pointer to a block's header is one to the block (reach_parts.h). What lies in a block is no root, though its mapping is: where not all memory of an allocator is known. */
static void see_window(uint64_t addr, const struct found_pointer *found, size_t n, void *arg)
{
	const struct finding *f = arg;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = addr + found[i].word * sizeof(uint64_t);

		if (block_index__find(f->x, at) == NO_BLOCK)
			f->fn(at, 0, untagged(f->s->words[found[i].word]), found[i].block, f->arg);
	}
}

static void see_words(const struct root_word *words, size_t n, const struct finding *f)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = untagged(words[i].value);
		uint32_t block = block_index__find(f->x, value), behind = block_index__find(f->x, value + CHUNK_HEADER);

		if (block != NO_BLOCK || f->x->others)
			f->fn(0, words[i].tid, value, block, f->arg);
		if (behind != NO_BLOCK && f->x->blocks[behind].addr == value + CHUNK_HEADER)
			f->fn(0, words[i].tid, value, behind, f->arg);
	}
}

static int search_unmapped(struct search *s, const struct block_index *x, const struct root_range *r, struct finding *f)
{
	const struct mapping *m = x->n_blocks ? maps__find(&s->t->maps, r->start) : NULL;

	return m && (m->shared || m->rewritten) && m->end >= r->end ? file_pages__search(s, m, x, r->start, r->end, see_window, f) : 0;
}

int roots__search(struct roots *r, struct search *s, const struct block_index *x, root_fn fn, void *arg)
{
	struct finding f = { s, x, fn, arg };
	uint64_t before = s->present_bytes;
	int err = 0;

	for (size_t i = 0; i < r->ranges.n && !err; i++) {
		s->headers = r->ranges.v[i].area == AREA_STACK;
		err = search__range(s, x, r->ranges.v[i].start, r->ranges.v[i].end, see_window, &f) ?:
		      search_unmapped(s, x, &r->ranges.v[i], &f);
	}
	s->headers = false;
	r->searched_bytes = s->present_bytes - before;
	see_words(r->words.v, r->words.n, &f);
	return err;
}

int roots__search_variables(struct roots *r, struct search *s, const struct block_index *x, root_fn fn, void *arg)
{
	struct finding f = { s, x, fn, arg };
	int err = 0;

	for (size_t i = 0; i < r->ranges.n && r->ranges.v[i].area == AREA_MODULE && !err; i++)
		err = search__range(s, x, r->ranges.v[i].start, r->ranges.v[i].end, see_window, &f);
	return err;
}

bool roots__is_variable(const struct roots *r, uint64_t addr)
{
	size_t n = sorted__count(one, r->ranges.v, r->ranges.n, one->area == AREA_MODULE && one->start <= addr);

	return n && addr < r->ranges.v[n - 1].end;
}

static bool is_where_it_was(const struct target_thread *was, const struct target_thread *now, size_t n_now)
{
	const struct target_thread *is = n_now ? bsearch(was, now, n_now, sizeof(*now), by_tid) : NULL;

	return is && is->sp == was->sp && is->switches == was->switches;
}

int roots__search_moved(struct roots *r, struct search *s, const struct block_index *x, const struct reach_opts *o, root_fn fn,
			void *arg)
{
	struct finding f = { s, x, fn, arg };
	struct roots now = {};
	int err;

	/* a stop for registers tells of no thread that it sleeps, so all of its stack was read */
	if (o->paused || r->stopped)
		return 0;
	err = read_registers(&now, s->t, o, &now.threads, &now.n_threads);
	if (!err)
		take_registers(&now, now.threads, now.n_threads);
	s->headers = true;
	for (size_t i = 0; i < r->below.n && !err; i++) {
		const struct root_range *b = &r->below.v[i];

		if (!is_where_it_was(&r->threads[b->thread], now.threads, now.n_threads))
			err = search__range(s, x, b->start, b->end, see_window, &f);
	}
	s->headers = false;
	see_words(now.words.v, now.words.n, &f);
	r->stopped |= now.stopped;
	r->missing |= now.missing;
	r->n_unread = MAX(r->n_unread, now.n_unread);
	roots__done(&now);
	return err;
}

uint64_t roots__bytes(const struct roots *r)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->ranges.n; i++)
		sum += r->ranges.v[i].end - r->ranges.v[i].start;
	return sum;
}

void roots__done(struct roots *r)
{
	vec_done(&r->ranges);
	vec_done(&r->below);
	vec_done(&r->words);
	vec_done(&r->grown);
	free(r->threads);
	*r = (struct roots){};
}
