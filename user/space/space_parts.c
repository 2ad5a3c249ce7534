// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what a space is made of: the positions of its ranges, the pieces that were written over; and what only the memory of the process shows of them. */
#include "space/space.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include "elf/elffile.h"
#include "util/sorted.h"

/* ---- where ranges lie */

/*
 * Owns the positions. What always holds: each range of the space is in one of two lists; of those that live no two overlap, so
 * that one search finds where they begin, however many there are.
 */

static void make_room(struct space_positions *p, size_t n)
{
	if (n <= p->room)
		return;
	p->room = MAX(n, 2 * p->room);
	p->v = xreallocarray(p->v, p->room, sizeof(*p->v));
}

void space_index__reserve(struct space *s)
{
	struct space_index *x = &s->index;

	make_room(&x->alive, s->n + 1);
	make_room(&x->dead, s->n + 1);
	make_room(&x->near, s->n + 1);
}

static void insert(struct space_positions *p, size_t i, size_t at)
{
	memmove(p->v + i + 1, p->v + i, (p->n - i) * sizeof(*p->v));
	p->v[i] = at;
	p->n++;
}

void space_index__add(struct space *s, size_t at)
{
	struct space_index *x = &s->index;
	const struct space_range *r = &s->v[at];

	if (r->died_ns)
		insert(&x->dead, sorted__count(p, x->dead.v, x->dead.n, *p < at), at);
	else
		insert(&x->alive, sorted__count(p, x->alive.v, x->alive.n, s->v[*p].start < r->start), at);
}

void space_index__end(struct space *s, size_t at)
{
	struct space_positions *alive = &s->index.alive;
	size_t i = sorted__count(p, alive->v, alive->n, s->v[*p].start < s->v[at].start);

	alive->n--;
	memmove(alive->v + i, alive->v + i + 1, (alive->n - i) * sizeof(*alive->v));
	space_index__add(s, at);
}

static int by_start(const void *pa, const void *pb, void *arg)
{
	const struct space *s = arg;
	const struct space_range *a = &s->v[*(const uint32_t *)pa], *b = &s->v[*(const uint32_t *)pb];

	return a->start < b->start ? -1 : a->start > b->start;
}

void space_index__renew(struct space *s)
{
	struct space_index *x = &s->index;

	x->alive.n = x->dead.n = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct space_positions *p = s->v[i].died_ns ? &x->dead : &x->alive;

		p->v[p->n++] = i;
	}
	if (x->alive.n)
		qsort_r(x->alive.v, x->alive.n, sizeof(*x->alive.v), by_start, s);
}

size_t space_index__first(const struct space *s, uint64_t addr)
{
	return sorted__count(p, s->index.alive.v, s->index.alive.n, s->v[*p].end <= addr);
}

const struct space_range *space_index__at(const struct space *s, uint64_t addr)
{
	size_t i = space_index__first(s, addr);
	const struct space_range *r = i < s->index.alive.n ? &s->v[s->index.alive.v[i]] : NULL;

	return r && r->start <= addr ? r : NULL;
}

void space_index__find(struct space *s, uint64_t start, uint64_t end, bool alive_only)
{
	struct space_index *x = &s->index;
	size_t i = space_index__first(s, start);

	x->near.n = 0;
	for (; i < x->alive.n && s->v[x->alive.v[i]].start < end; i++)
		x->near.v[x->near.n++] = x->alive.v[i];
	for (i = 0; i < x->dead.n && !alive_only; i++)
		if (s->v[x->dead.v[i]].start < end && start < s->v[x->dead.v[i]].end)
			x->near.v[x->near.n++] = x->dead.v[i];
}

void space_index__done(struct space *s)
{
	vec_done(&s->index.alive);
	vec_done(&s->index.dead);
	vec_done(&s->index.near);
}

/* ---- pieces that were written over */

/*
 * Owns nothing but the list itself. What always holds: pieces are in order, and there is
 * memory between any two of them. When there are too many, the two that are nearest are one:
 * more is distrusted then, never less.
 */

static void join_nearest(struct space_written *w)
{
	size_t at = 0;

	for (size_t i = 1; i + 1 < w->n; i++)
		if (w->v[i + 1].start - w->v[i].end < w->v[at + 1].start - w->v[at].end)
			at = i;
	w->v[at].end = w->v[at + 1].end;
	w->v[at].since_ns = MIN(w->v[at].since_ns, w->v[at + 1].since_ns);
	w->n--;
	memmove(&w->v[at + 1], &w->v[at + 2], (w->n - at - 1) * sizeof(*w->v));
}

bool space_written__add(struct space_written *w, struct written_piece p)
{
	size_t first = 0, last;

	while (first < w->n && w->v[first].end < p.start)
		first++;
	/* all that it overlaps or touches is one with it */
	for (last = first; last < w->n && w->v[last].start <= p.end; last++) {
		if (w->v[last].start <= p.start && w->v[last].end >= p.end && w->v[last].since_ns <= p.since_ns)
			return false;
		p.start = MIN(p.start, w->v[last].start);
		p.end = MAX(p.end, w->v[last].end);
		p.since_ns = MIN(p.since_ns, w->v[last].since_ns);
	}
	memmove(&w->v[first + 1], &w->v[last], (w->n - last) * sizeof(*w->v));
	w->v[first] = p;
	w->n = w->n - (last - first) + 1;
	if (w->n > SPACE_MAX_WRITTEN)
		join_nearest(w);
	return true;
}

void space_written__cut(struct space_written *w, uint64_t start, uint64_t end)
{
	const struct space_written was = *w;

	w->n = 0;
	for (size_t i = 0; i < was.n; i++) {
		struct written_piece before = was.v[i], after = was.v[i];

		before.end = MIN(before.end, start);
		after.start = MAX(after.start, end);
		if (before.start < before.end)
			space_written__add(w, before);
		if (after.start < after.end)
			space_written__add(w, after);
	}
}

bool space_written__has(const struct space_written *w, uint64_t addr, uint64_t t_ns)
{
	for (size_t i = 0; i < w->n; i++)
		if (addr >= w->v[i].start && addr < w->v[i].end)
			return t_ns >= w->v[i].since_ns;
	return false;
}

/* ---- the vdso, and which file is mapped */

/* Owns nothing: the caller that opens a process's memory closes it. */

#define VDSO_MAX (1u << 20)	/* bytes; it has two to four pages */
#define BUILD_ID_MAX 64		/* bytes */
#define SAME_PLACE_LOOKS 3
#define SEGMENTS_MAX 64		/* mappings of one file, one beside the other, with what lies between them */

/* NULL: this process has none of that length. */
static const void *own_vdso(size_t len)
{
	const void *image = (const void *)getauxval(AT_SYSINFO_EHDR);
	const struct mapping *own;
	struct maps maps;
	bool is_as_long;

	if (!image || maps__read(getpid(), &maps, NULL))
		return NULL;
	own = maps__find(&maps, (uintptr_t)image);
	is_as_long = own && own->start == (uintptr_t)image && own->end - own->start == len;
	maps__done(&maps);
	return is_as_long ? image : NULL;
}

struct object *space_memory__vdso(struct objects *objects, struct memory *mem, const struct mapping *m)
{
	size_t len = m->end - m->start;
	_cleanup_free_ char *image = NULL;
	struct object *obj = NULL;
	const void *own;
	char head[64];
	bool is_own;

	if (len > VDSO_MAX)
		return NULL;
	image = xmalloc(len);
	own = own_vdso(len);
	is_own = own && len >= sizeof(head) && (memory__read(mem, m->start, head, sizeof(head)) < sizeof(head) || !memcmp(head, own, sizeof(head)));
	if (is_own)
		memcpy(image, own, len);
	if (is_own || memory__read(mem, m->start, image, len) == len)
		objects__get_image(objects, "[vdso]", image, len, &obj, NULL);
	return obj;
}

/* Where the build id of the file that m maps lies in memory. */
static const struct mapping *mapping_of_id(const struct maps *maps, const struct mapping *m,
					   const struct object *obj, size_t len)
{
	size_t n = sorted__count(k, maps->v, maps->n, k->start <= m->start);

	for (size_t i = n; i > 0 && n - i < SEGMENTS_MAX; i--) {
		const struct mapping *k = &maps->v[i - 1];

		if (k->ino == m->ino && k->dev_major == m->dev_major && k->dev_minor == m->dev_minor &&
		    k->file_off <= obj->build_id_off && obj->build_id_off - k->file_off < k->end - k->start &&
		    len <= k->end - k->start - (obj->build_id_off - k->file_off))
			return k;
	}
	return NULL;
}

/* Are the pages of the file, and no copies, in which the process may have written what it likes? */
static bool are_pages_of_file(const struct memory *mem, uint64_t addr, size_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), words[2];
	size_t n = (addr + len - 1) / page - addr / page + 1;

	return memory__page_words(mem, addr, words, n) == (ssize_t)n &&
	       words[0] & words[n - 1] & PAGE_WORD_FILE;
}

/*
 * Whether the process has another build id in its memory than the file found.
 * A file that is written to in place changes in memory too, so this differs
 * only where the file found is not the one mapped, or its file system does not
 * keep the two together. What cannot be read proves nothing.
 */
static bool has_another_id(struct memory *mem, const struct mapping *at, const struct object *obj, size_t len)
{
	uint64_t addr = at->start + (obj->build_id_off - at->file_off);
	unsigned char id[BUILD_ID_MAX];
	_cleanup_free_ char *hex = NULL;

	if (!are_pages_of_file(mem, addr, len) || memory__read(mem, addr, id, len) != len)
		return false;
	hex = build_id__hex(id, len);
	return strcmp(hex, obj->build_id);
}

bool space_memory__is_another(pid_t pid, struct memory *mem, const struct maps *maps, const struct mapping *m,
			      const struct object *obj)
{
	size_t len = obj->build_id ? strlen(obj->build_id) / 2 : 0;
	const struct mapping *at;

	if (!len || len > BUILD_ID_MAX)
		return false;
	at = mapping_of_id(maps, m, obj, len);
	if (!at || !has_another_id(mem, at, obj, len))
		return false;
	/*
	 * a plugin may have been replaced since its mapping was read: what was compared is another
	 * one's, which says nothing of this one
	 */
	for (int i = 0; i < SAME_PLACE_LOOKS; i++) {
		struct maps again = {};
		const struct mapping *same = !maps__read(pid, &again, NULL) ? mapping_of_id(&again, m, obj, len) : NULL;
		bool there = same && same->start == at->start && has_another_id(mem, at, obj, len);

		maps__done(&again);
		if (!there)
			return false;
	}
	return true;
}

/* ---- pages compared with their file */

/*
 * Owns nothing: pages of a process's code, compared with its file. Few are the process's own at all, and
 * the kernel says which (/proc/PID/pagemap), so nearly always there is nothing to compare. A page
 * that was swapped out is not read: the target does not page in for us.
 */

#define MAX_PAGE 65536
#define AT_ONCE 512		/* pages */

/* brk, whatever its number */
static bool differs_arm64(const unsigned char *got, const unsigned char *file, size_t len)
{
	for (size_t i = 0; i + 4 <= len; i += 4) {
		uint32_t insn;

		memcpy(&insn, got + i, sizeof(insn));
		if (memcmp(got + i, file + i, 4) && (insn & 0xffe0001f) != 0xd4200000)
			return true;
	}
	return false;
}

/* int3; and the call that the kernel makes of a long nop with a probe on it (6.18) */
static bool differs_x86_64(const unsigned char *got, const unsigned char *file, size_t len)
{
	static const unsigned char nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	for (size_t i = 0; i < len; i++) {
		if (got[i] == file[i] || got[i] == 0xcc)
			continue;
		if (got[i] != 0xe8 || len - i < sizeof(nop5) || memcmp(file + i, nop5, sizeof(nop5)))
			return true;
		i += sizeof(nop5) - 1;
	}
	return false;
}

/* Of what cannot be read nothing is said. */
static bool differs(struct memory *mem, const struct object *obj, uint64_t at, uint64_t off, size_t page)
{
	unsigned char got[MAX_PAGE], file[MAX_PAGE];
	ssize_t n = (ssize_t)memory__read(mem, at, got, page), n_file = pread(obj->fd, file, page, (off_t)off);

	if (n <= 0 || n_file <= 0)
		return false;
	return (obj->machine == EM_AARCH64 ? differs_arm64 : differs_x86_64)(got, file, (size_t)MIN(n, n_file));
}

bool space_pages__find_written(struct memory *mem, const struct object *obj, const struct mapping *m,
			       uint64_t since_ns, struct space_written *w)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t words[AT_ONCE], at = m->start;
	bool is_new = false;

	while (mem->mem && page <= MAX_PAGE && at < m->end) {
		size_t want = MIN((m->end - at) / page, (uint64_t)AT_ONCE);
		ssize_t n = memory__page_words(mem, at, words, want);

		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++, at += page) {
			if (words[i] & PAGE_WORD_FILE || !(words[i] & (PAGE_WORD_PRESENT | PAGE_WORD_SWAPPED)))
				continue;
			if (words[i] & PAGE_WORD_SWAPPED || differs(mem, obj, at, m->file_off + (at - m->start), page))
				is_new |= space_written__add(w, (struct written_piece){ at, at + page, since_ns });
		}
	}
	return is_new;
}
