// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns one reference per range with a file. What always holds: of ranges that overlap, all but one have died.
 *
 * A process may map and unmap as much as it likes, again and again: anonymous memory is no range, of files that are
 * gone a number is kept, and what lies where is found by an index.
 */
#include <string.h>

#include "elf/code_book.h"
#include "process/mounts.h"
#include "process/process.h"
#include "space/space.h"
#include "util/sorted.h"

/* What goes beyond this has no names. */
#define MAX_RANGES 65536
#define MAX_GONE 2048
#define FIRST_LISTED 256	/* the first, where a program is, and the last, where its libraries are */
#define MAX_ADDED 64		/* between two readings, which show what of it is gone again */
#define MAX_ANON 4096		/* pieces */
#define MANY_MAPPINGS 256	/* of which not all files may be open at a time, */
#define N_OLDEST 64		/* and these are first */

/* Numbers of files are reported in several ways (object.h): where they differ, the object settles it. */
static bool is_of(const struct space_range *r, struct objects *objects, const struct mapping *m)
{
	struct object *obj;

	if (!r->object || !m->ino)
		return r->label && !strcmp(r->label, m->path);
	/* what was written to is another file to processes that map it now */
	if (r->ino == m->ino || r->object->ino == m->ino)
		return !object__look_for_change(r->object);
	obj = objects__known(objects, m);
	object__put(obj);
	return obj == r->object;
}

/* Memory of no file: the vdso has names, others have not. */
static bool is_anon(const struct mapping *m)
{
	return !m->ino && strcmp(m->path, "[vdso]");
}

/*
 * Is the mapping a part of the range, or all of it: the same bytes of the same file at the same
 * place? mprotect reports a part as if it were a mapping of its own.
 */
static bool is_mapping(const struct space_range *r, struct objects *objects, const struct mapping *m)
{
	return r->start <= m->start && r->end >= m->end && r->start - r->file_off == m->start - m->file_off &&
	       is_of(r, objects, m);
}

static struct space_range *known(const struct space *s, struct objects *objects, const struct mapping *m)
{
	struct space_range *last = NULL;

	for (size_t i = space_index__first(s, m->start); i < s->index.alive.n; i++) {
		struct space_range *r = &s->v[s->index.alive.v[i]];

		if (r->start >= m->end)
			break;
		last = last > r ? last : r;
	}
	/*
	 * The one that is there decides, of several the newest; a change of file at the same place is new. A loader
	 * maps a whole file first and other parts of it over that: a record of it is longer than what is left.
	 */
	return last && is_mapping(last, objects, m) ? last : NULL;
}

/* Is there code of the file in [lo, hi) of the range? Of what is no ELF file nothing is known. */
static bool has_code(const struct space_range *r, uint64_t lo, uint64_t hi)
{
	uint64_t from = r->file_off + (lo - r->start), to = r->file_off + (hi - r->start);

	if (!r->object || !r->object->is_elf)
		return true;
	for (size_t i = 0; i < r->object->n_segments; i++) {
		const struct object_segment *s = &r->object->segments[i];

		if (s->exec && from < s->file_off + s->file_size && s->file_off < to)
			return true;
	}
	return false;
}

/*
 * Does the mapping take the place of other code? Not if it is the same file with the same bytes at
 * the same addresses: loaders map a file whole, and then in parts. And not what was after its code:
 * the kernel gives that back, and has the vdso there, or a library.
 */
static bool replaces(const struct mapping *m, const struct space_range *r)
{
	if (r->ino && r->ino == m->ino && r->start - r->file_off == m->start - m->file_off)
		return false;
	return has_code(r, MAX(r->start, m->start), MIN(r->end, m->end));
}

/* Other code is there from t_ns on. */
static void is_replaced(struct space *s, const struct mapping *m, uint64_t t_ns)
{
	space_written__cut(&s->written, m->start, m->end);
	if (!s->replaced_ns || s->replaced_ns > t_ns)
		s->replaced_ns = t_ns;
}

/*
 * May the process write over this code of a file, from t_ns on, or has it? It is other code then,
 * of which nothing is known more. True: that is new. t_ns 0: for as long as anything is known. It
 * may have had the right to write for a moment without the one to execute, of which there is no
 * record: so pages are checked, too, wherever they need not be as they were mapped.
 */
static bool note_written(struct space *s, pid_t pid, struct memory *mem, const struct mapping *m, const struct space_range *r,
			 uint64_t t_ns)
{
	bool is_new;

	if (!r->object || !r->object->is_elf || !m->ino)
		return false;
	if (m->write)
		is_new = space_written__add(&s->written, (struct written_piece){ m->start, m->end, t_ns });
	else
		is_new = !memory__open(mem, pid) && space_pages__find_written(mem, r->object, m, t_ns, &s->written);
	if (is_new && t_ns && (!s->replaced_ns || s->replaced_ns > t_ns))
		s->replaced_ns = t_ns;
	return is_new;
}

/* It is in the index only once its addresses are set. */
static struct space_range *push_range(struct space *s)
{
	space_index__reserve(s);
	return vec_push(s);
}

/* The same once more, which was reported. was is in no list that grows by it. */
static struct space_range *push_copy(struct space *s, const struct space_range *was)
{
	struct space_range *r = push_range(s);

	*r = *was;
	r->label = was->label ? xstrdup(was->label) : NULL;
	r->why = (struct err){};
	r->reported = true;
	if (r->object)
		object__hold(r->object);
	return r;
}

static size_t room_of(const struct space *s)
{
	return s->n_beside + SPACE_ALWAYS_LISTED < SPACE_MOST_OF_USER ? SPACE_MOST_OF_USER - s->n_beside : SPACE_ALWAYS_LISTED;
}

static bool is_full(const struct space *s)
{
	return s->n >= MAX_RANGES || s->index.alive.n >= room_of(s);
}

/* [start, end) of a range is as it was, whatever becomes of the rest. */
static void keep_part(struct space *s, const struct space_range *was, uint64_t start, uint64_t end)
{
	struct space_range *part;

	if (start >= end)
		return;
	if (is_full(s)) {
		s->n_unlisted++;
		return;
	}
	part = push_copy(s, was);
	part->start = start;
	part->end = end;
	part->file_off = was->file_off + (start - was->start);
	space_index__add(s, s->n - 1);
}

/* Range i has died, as a mapping took its place; what that leaves of one that lived goes on. */
static void end_range(struct space *s, size_t i, const struct mapping *m, uint64_t t_ns, bool rough)
{
	const struct space_range was = s->v[i];

	s->v[i].died_ns = MAX(t_ns, 1ull);
	s->v[i].rough = rough;
	s->v[i].gone = true;
	if (was.died_ns)
		return;
	s->n_ended++;
	space_index__end(s, i);
	keep_part(s, &was, was.start, m->start);
	keep_part(s, &was, m->end, was.end);
}

/* Something else is there from t_ns on. exact: not before. Returns how many files that ends. */
static size_t end_overlapped(struct space *s, const struct mapping *m, uint64_t t_ns, bool exact)
{
	bool replaced = false;

	space_index__find(s, m->start, m->end, true);
	for (size_t k = 0; k < s->index.near.n; k++) {
		const struct space_range *r = &s->v[s->index.near.v[k]];
		bool is_other = replaces(m, r);

		/* where the same code is part of a longer mapping now, no other code was there in between */
		end_range(s, s->index.near.v[k], m, exact || !is_other ? t_ns : MAX(s->look_began_ns, r->born_ns + 1), !exact);
		replaced |= is_other;
	}
	if (replaced)
		is_replaced(s, m, exact ? t_ns : s->look_began_ns);
	return s->index.near.n;
}

/* What is no file, or could not be opened, keeps its name; of others the object has it. died_ns: 0, or when another came. */
static struct space_range *new_range(struct space *s, const struct mapping *m, struct object *obj, uint64_t t_ns, uint64_t died_ns)
{
	struct space_range *r = push_range(s);

	r->start = m->start;
	r->end = m->end;
	r->file_off = m->file_off;
	r->ino = m->ino;
	r->born_ns = t_ns;
	r->died_ns = died_ns;
	r->gone = died_ns;
	r->object = obj;
	space_index__add(s, s->n - 1);
	if (!obj || !m->ino) {
		r->label = xstrdup(m->path);
		clean_name(r->label);
	}
	return r;
}

/* Of a mapping that a reading has found. */
static struct space_range *push(struct space *s, const struct mapping *m, struct object *obj, uint64_t t_ns)
{
	struct space_range *r;

	end_overlapped(s, m, t_ns, false);
	r = new_range(s, m, obj, t_ns, 0);
	r->found = true;
	return r;
}

/* What was there at t_ns, as far as it is known: the last that came by then. */
static struct space_range *before(struct space *s, const struct mapping *m, uint64_t t_ns)
{
	struct space_range *last = NULL;

	space_index__find(s, m->start, m->end, false);
	for (size_t k = 0; k < s->index.near.n; k++) {
		struct space_range *r = &s->v[s->index.near.v[k]];

		if (r->born_ns <= t_ns && (!last || r->born_ns > last->born_ns || (r->born_ns == last->born_ns && r > last)))
			last = r;
	}
	return last;
}

/*
 * Of a record, in whatever order they come and whatever was read meanwhile: what was there ends.
 * What came later ends it: returns when, or 0.
 */
static uint64_t end_by_record(struct space *s, const struct mapping *m, uint64_t t_ns)
{
	uint64_t later_ns = 0;
	bool replaced = false;

	space_index__find(s, m->start, m->end, false);
	for (size_t k = 0; k < s->index.near.n; k++) {
		const struct space_range *r = &s->v[s->index.near.v[k]];

		replaced |= replaces(m, r);
		if (r->born_ns > t_ns)
			later_ns = later_ns ? MIN(later_ns, r->born_ns) : r->born_ns;
		else if (!r->died_ns || r->died_ns >= t_ns || r->rough)
			end_range(s, s->index.near.v[k], m, t_ns, false);
	}
	if (replaced)
		is_replaced(s, m, t_ns);
	return later_ns;
}

/* What the file holds now need not be what this range had: it is known by its name, and has no names. */
static void disown(struct space_range *r)
{
	r->unproven = true;
	if (!r->label && r->object)
		r->label = xstrdup(r->object->path);
}

/*
 * The same file is mapped once more where it was, at t_ns: is it the same version? Else, or if that
 * is not known, it is another range from then on; and of one whose file was written to just before,
 * it is not known which version it had.
 */
static bool is_again(struct space_range *r, uint64_t t_ns)
{
	if (!r->object || (!r->fresh && !r->unproven && object__version_at(r->object, t_ns) == VERSION_SAME))
		return true;
	if (r->fresh)
		disown(r);
	return false;
}

/* Is any of it among what is mapped, which is in order? */
static bool is_mapped(const struct space_range *r, struct objects *objects, const struct maps *maps)
{
	size_t first = sorted__count(m, maps->v, maps->n, m->end <= r->start);

	for (size_t i = first; i < maps->n && maps->v[i].start < r->end; i++) {
		const struct mapping *m = &maps->v[i];

		if (m->exec && (!m->ino || m->file_off - r->file_off == m->start - r->start) && is_of(r, objects, m))
			return true;
	}
	return false;
}

static size_t note_gone(struct space *s, struct objects *objects, const struct maps *maps)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct space_range *r = &s->v[i];
		bool gone;

		if (r->died_ns)
			continue;
		gone = !is_mapped(r, objects, maps);
		n += gone != r->gone;
		r->gone = gone;
	}
	return n;
}

/* Adjacent ones are one; they come in order. */
static void add_piece(struct space *s, const struct mapping *m)
{
	struct space_piece *last = s->anon.n ? &s->anon.v[s->anon.n - 1] : NULL;

	if (last && last->end == m->start)
		last->end = m->end;
	else if (s->anon.n < MAX_ANON)
		*vec_push(&s->anon) = (struct space_piece){ m->start, m->end };
}

/*
 * A program may map more files than can be open. Those that it was linked with came first, and the kernel gives addresses from the
 * top down: libc is among the last of the list, and is opened before the others take all the room. The caller puts them back.
 */
static void open_the_oldest(struct objects *objects, pid_t pid, const struct maps *maps, struct object *ret[static N_OLDEST])
{
	size_t n = 0;

	for (size_t i = maps->n; i-- && n < N_OLDEST;)
		if (maps->v[i].exec && maps->v[i].ino && !objects__get(objects, pid, &maps->v[i], &ret[n], NULL))
			n++;
}

static size_t count_files(const struct maps *maps)
{
	size_t n = 0;

	for (size_t i = 0; i < maps->n; i++)
		n += maps->v[i].exec && !is_anon(&maps->v[i]);
	return n;
}

size_t space__most_listed(const struct space *s)
{
	return MIN(room_of(s), (size_t)SPACE_MOST_LISTED);
}

/* The nth of n mappings is beyond the bound. */
static bool is_beyond(struct space *s, size_t nth, size_t n)
{
	size_t most = space__most_listed(s), first = MIN((size_t)FIRST_LISTED, most / 2);

	if (n <= most || nth < first || n - nth <= most - first)
		return false;
	s->n_unlisted++;
	return true;
}

/* last: the one before it that was beyond the bound, or NULL. */
static void note_beyond(struct objects *objects, const struct mapping *m, const struct mapping **last)
{
	if (!*last || !mapping__is_same_file(*last, m))
		objects__note_unlisted(objects, m);
	*last = m;
}

/* A record of one for which there is no room. A later reading has counted it. */
static void note_full(struct space *s, struct objects *objects, const struct mapping *m, uint64_t t_ns)
{
	if (t_ns <= s->looked_ns)
		return;
	s->n_unlisted++;
	objects__note_unlisted(objects, m);
}

int space__refresh(struct space *s, struct objects *objects, pid_t pid, size_t *ret_new, struct err *e)
{
	uint64_t began_ns = now_ns(), read_ns, born_ns;
	struct object *oldest[N_OLDEST] = {};
	const struct mapping *beyond = NULL;
	size_t nth = 0, n_files;
	_cleanup_memory_ struct memory mem = {};
	struct maps maps = {};
	int err = maps__read(pid, &maps, e);

	*ret_new = 0;
	/* its first thread has ended */
	if (!err && !maps.n) {
		pid = process__runner(pid);
		err = pid ? maps__read(pid, &maps, e) : 0;
	}
	/* one that ends has nothing mapped: that is no news */
	if (err || !maps.n)
		return err;
	/*
	 * what was read was there at some moment in between: surely by now; at the first reading,
	 * for longer than anything is known
	 */
	read_ns = now_ns();
	born_ns = s->looked_ns ? read_ns : 0;
	*ret_new = note_gone(s, objects, &maps);
	if (maps.n > MANY_MAPPINGS)
		open_the_oldest(objects, pid, &maps, oldest);
	s->anon.n = 0;
	s->n_unlisted = 0;
	n_files = count_files(&maps);
	mounts__keep(pid);
	for (size_t i = 0; i < maps.n && s->n < MAX_RANGES; i++) {
		const struct mapping *m = &maps.v[i];
		struct object *obj = NULL;
		struct space_range *r;
		struct err why = {};

		if (!m->exec)
			continue;
		if (is_anon(m)) {
			add_piece(s, m);
			*ret_new += end_overlapped(s, m, born_ns, false);
			continue;
		}
		if (is_beyond(s, nth++, n_files)) {
			note_beyond(objects, m, &beyond);
			continue;
		}
		r = known(s, objects, m);
		if (r) {
			*ret_new += m->write && note_written(s, pid, &mem, m, r, began_ns);
			continue;
		}
		memory__open(&mem, pid);
		if (m->ino)
			objects__get(objects, pid, m, &obj, &why);
		else
			obj = space_memory__vdso(objects, &mem, m);
		/* for others, who may map the file that was found, it stays what it is */
		if (m->ino && obj && space_memory__is_another(pid, &mem, &maps, m, obj)) {
			object__note_another(obj);
			object__put(obj);
			obj = NULL;
		}
		r = push(s, m, obj, born_ns);
		r->why = why;
		note_written(s, pid, &mem, m, r, s->looked_ns ? began_ns : 0);
		(*ret_new)++;
	}
	mounts__let_go();
	for (size_t i = 0; i < N_OLDEST && oldest[i]; i++)
		object__put(oldest[i]);
	maps__done(&maps);
	s->look_began_ns = began_ns;
	s->looked_ns = read_ns;
	/* the more there is to read, the seldomer */
	s->tidy_at = s->n + MAX((size_t)MAX_ADDED, s->n / 4);
	return 0;
}

bool space__add(struct space *s, struct objects *objects, pid_t pid, const struct mapping *m, uint64_t t_ns)
{
	_cleanup_memory_ struct memory mem = {};
	struct space_range *r;
	struct object *obj = NULL;
	struct err why = {};
	size_t had = s->n_ended;
	uint64_t later_ns;
	bool again;

	if (!m->exec)
		return false;
	/* a record may be read after a reading that has seen what it reports, and more */
	if (is_anon(m))
		return t_ns > s->looked_ns && end_overlapped(s, m, t_ns, true);
	r = known(s, objects, m);
	/* the record of what a reading has found first */
	if (r && r->born_ns > t_ns && r->found) {
		/* this is when it came, and when what was there before went */
		space_index__find(s, m->start, m->end, false);
		for (size_t k = 0; k < s->index.near.n; k++) {
			struct space_range *had = &s->v[s->index.near.v[k]];

			if (had->rough && had->born_ns <= t_ns && had->died_ns <= r->born_ns) {
				had->died_ns = MAX(t_ns, 1ull);
				had->rough = false;
			}
		}
		r->found = false;
		note_written(s, pid, &mem, m, r, t_ns);
		/* before the reading it may have been another version */
		if (!r->object || object__version_at(r->object, t_ns) == VERSION_SAME)
			r->born_ns = t_ns;
		return true;
	}
	r = before(s, m, t_ns);
	/* only of the whole it may be another version: a part of it has new rights, or was mapped with it */
	if (r && !r->died_ns && is_mapping(r, objects, m) &&
	    (m->end - m->start < r->end - r->start || is_again(r, t_ns))) {
		bool is_new = note_written(s, pid, &mem, m, r, t_ns) || r->gone;

		r->gone = false;
		return is_new;
	}
	/* more of the file than is known, as where parts have become one */
	again = r && !r->died_ns && !replaces(m, r);
	later_ns = end_by_record(s, m, t_ns);
	if (is_full(s)) {
		note_full(s, objects, m, t_ns);
		return s->n_ended > had;
	}
	if (m->ino && objects__get(objects, pid, m, &obj, &why)) {
		pid_t tid = process__runner(pid);

		if (tid && tid != pid) {
			err_done(&why);
			objects__get(objects, tid, m, &obj, &why);
		}
	} else if (!m->ino) {
		memory__open(&mem, pid);
		obj = space_memory__vdso(objects, &mem, m);
	}
	r = new_range(s, m, obj, t_ns, later_ns);
	r->why = why;
	if (obj && m->ino) {
		enum object_version version = object__version_at(obj, t_ns);

		r->fresh = version == VERSION_MAYBE;
		if (version == VERSION_OTHER)
			disown(r);
	}
	if (m->write || again)
		note_written(s, pid, &mem, m, r, t_ns);
	return true;
}

bool space__is_long(const struct space *s)
{
	return s->n > MAX(s->tidy_at, MAX_ADDED);
}

static void range_done(struct space_range *r)
{
	object__put(r->object);
	free(r->label);
	err_done(&r->why);
}

bool space__tidy(struct space *s)
{
	size_t n_gone = 0, drop, to = 0;

	for (size_t i = 0; i < s->n; i++)
		n_gone += s->v[i].gone;
	if (n_gone <= MAX_GONE)
		return false;
	/* not each time that one more is gone */
	drop = n_gone - MAX_GONE / 2;
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].gone && drop) {
			drop--;
			range_done(&s->v[i]);
			continue;
		}
		s->v[to++] = s->v[i];
	}
	s->n = to;
	space_index__renew(s);
	return true;
}

void space__copy(struct space *to, const struct space *from)
{
	size_t n = 0, nth = 0;

	for (size_t i = 0; i < from->n; i++)
		n += !from->v[i].gone;
	for (size_t i = 0; i < from->index.alive.n; i++) {
		const struct space_range *r = &from->v[from->index.alive.v[i]];

		if (!r->gone && !is_beyond(to, nth++, n))
			push_copy(to, r)->found = false;
	}
	space_index__renew(to);
	to->written = from->written;
	to->replaced_ns = from->replaced_ns;
	to->look_began_ns = from->look_began_ns;
	to->looked_ns = from->looked_ns;
}

const struct space_range *space__find_at(const struct space *s, uint64_t addr, uint64_t t_ns, bool *ret_sole)
{
	const struct space_positions *dead = &s->index.dead;
	const struct space_range *only = space_index__at(s, addr), *last = NULL;
	size_t n = only != NULL;

	if (only && only->born_ns <= t_ns)
		last = only;
	for (size_t i = dead->n; i-- > 0;) {
		const struct space_range *r = &s->v[dead->v[i]];

		if (addr < r->start || addr >= r->end)
			continue;
		/* the end of some is known but roughly: what came later was there, of what came at once the newest */
		if (r->born_ns <= t_ns && t_ns < r->died_ns &&
		    (!last || r->born_ns > last->born_ns || (r->born_ns == last->born_ns && r > last)))
			last = r;
		only = r;
		n++;
	}
	*ret_sole = n <= 1 && !(only && only->died_ns);
	/* no other code was ever seen there: it was seen too late */
	return last ? last : n == 1 && !only->died_ns ? only : NULL;
}

const struct space_range *space__find(const struct space *s, uint64_t addr)
{
	bool sole;

	return space__find_at(s, addr, UINT64_MAX, &sole);
}

bool space__is_anon(const struct space *s, uint64_t addr)
{
	return sorted__range_of(s->anon.v, s->anon.n, addr);
}

void space__refresh_jit(struct space *s, pid_t pid)
{
	if (!s->jit && jitmap__open(pid, &s->jit))
		return;
	jitmap__refresh(s->jit);
}

struct object *space__find_jit(const struct space *s, const struct space_range *r, uint64_t addr)
{
	if (!s->jit || (r && (r->object ? r->object->is_elf : r->label && r->label[0] == '/')))
		return NULL;
	return jitmap__find(s->jit->jit, addr) ? s->jit : NULL;
}

void space__done(struct space *s)
{
	for (size_t i = 0; i < s->n; i++)
		range_done(&s->v[i]);
	vec_done(s);
	space_index__done(s);
	vec_done(&s->anon);
	object__put(s->jit);
	s->jit = NULL;
}
