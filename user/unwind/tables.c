// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the room in the kernel's row and page arrays, and what uses which part.
 *
 * A table is written completely before a process's list points to it, and a list
 * is replaced as a whole: a walk never meets a table half done. Room that was
 * given up may be written again while a walk of the process that just ended still
 * reads it; that walk's stack is of no interest to anyone.
 */
#include <errno.h>
#include <string.h>

#include "bpf/hash.h"
#include "probe/kernel.h"
#include "unwind/tables.h"
#include "util/hash.h"

/* A file's rows without calls serve only frames that a signal interrupted: kept while they are few. */
#define MAX_FULL_ROWS 65536
/*
 * Each stack that is walked by frame pointers is proven, frame by frame, or walked again by tables:
 * this is about cost alone. Of the stretches of code that call something, this share may lack a
 * frame record before tables are used at once: Debian's arm64 libc has 1%, nearly all of it on ways
 * that end the program or switch stacks, and tables cost several times as much.
 */
#define NO_RECORD_PER_MILLE 20
#define PAGE_BYTES (1ull << MT_TABLE_PAGE_SHIFT)
/* A file has some hundred different rules, and files share most; one that has far more leaves room for others. */
#define FILE_RULES 2048

/* ---- room in an array of the kernel's: first fit */

struct extent {
	uint32_t at, n;
};

struct room vec(struct extent);	/* what is free */

/* False: there is no such piece. */
static bool take_extent(struct room *r, uint32_t n, struct extent *ret)
{
	for (size_t i = 0; i < r->n; i++) {
		struct extent *e = &r->v[i];

		if (e->n < n)
			continue;
		*ret = (struct extent){ e->at, n };
		e->at += n;
		e->n -= n;
		return true;
	}
	return false;
}

static void give_back(struct room *r, struct extent e)
{
	if (!e.n)
		return;
	for (size_t i = 0; i < r->n; i++) {
		struct extent *f = &r->v[i];

		if (f->at == e.at + e.n) {
			f->at = e.at;
			f->n += e.n;
			return;
		}
		if (f->at + f->n == e.at) {
			f->n += e.n;
			return;
		}
	}
	*vec_push(r) = e;
}

/* ---- what is there */

struct rule {
	struct mt_rule is;
	uint32_t number;
	uint32_t n_uses;	/* by tables */
};

struct table {
	const void *key;	/* the object; the unwind itself for the vdso */
	struct object *object;	/* a reference, or NULL */
	uint64_t base;		/* ELF virtual address of its first page */
	struct extent rows, pages;	/* pages.n 0: no table */
	struct vec(struct rule *) rules;	/* those that its rows name, a use of each */
	struct cfi_stats stats;
	bool calls_only;	/* its rows hold for calls, not for other instructions */
	unsigned int refs;	/* processes; 0: kept for those to come, as long as there is room */
	uint64_t left;		/* when the last one left it, in the order of such events */
	/* the programs find it by this, if it is listed */
	struct mt_file_key name;
	uint32_t file;		/* a hash of it, 0: it has none */
	bool listed;
};

struct used vec(struct table *);	/* each table once, with a reference */

struct user {			/* a process, and what it uses */
	uint32_t method;
	bool decided;
	bool full;		/* there was no room for all its code, which is reported once */
	struct used used;
};

struct unwind {
	struct kernel *kernel;
	enum unwind_choice choice;
	struct room rows, pages;
	struct vec(struct table *) tables;
	struct hash by_key;	/* of struct table */
	uint64_t n_left;
	struct user **users;	/* by process number */
	struct hash rules;		/* by what they are, of struct rule */
	struct vec(uint32_t) free_rules;	/* numbers that were given back */
	uint32_t n_rules;		/* numbers that were ever given */
	uint64_t n_full;
};

/* ---- life */

struct unwind *unwind__new(struct kernel *k, enum unwind_choice choice)
{
	struct unwind *u = xcalloc(1, sizeof(*u));

	u->kernel = k;
	u->choice = choice;
	u->users = xcalloc(MT_PROC_NUMBERS, sizeof(*u->users));
	*vec_push(&u->rows) = (struct extent){ 0, k ? k->sizes.n_unwind_rows : 0 };
	*vec_push(&u->pages) = (struct extent){ 0, k ? k->sizes.n_unwind_pages : 0 };
	u->n_rules = 1;		/* rule 0: MT_CFA_NONE */
	return u;
}

static bool is_rule(const void *value, const void *want)
{
	return !memcmp(&((const struct rule *)value)->is, want, sizeof(struct mt_rule));
}

static void give_rules_back(struct unwind *u, struct table *t)
{
	for (size_t i = 0; i < t->rules.n; i++) {
		struct rule *r = t->rules.v[i];

		if (--r->n_uses)
			continue;
		hash__remove_value(&u->rules, hash__bytes(&r->is, sizeof(r->is)), r);
		*vec_push(&u->free_rules) = r->number;
		free(r);
	}
	vec_done(&t->rules);
}

static void table_free(struct unwind *u, struct table *t)
{
	give_rules_back(u, t);
	if (hash__get(&u->by_key, (uintptr_t)t->key) == t)
		hash__remove(&u->by_key, (uintptr_t)t->key);
	give_back(&u->rows, t->rows);
	give_back(&u->pages, t->pages);
	object__put(t->object);
	free(t);
}

void unwind__free(struct unwind *u)
{
	if (!u)
		return;
	for (size_t i = 0; u->users && i < MT_PROC_NUMBERS; i++)
		if (u->users[i]) {
			vec_done(&u->users[i]->used);
			free(u->users[i]);
		}
	free(u->users);
	for (size_t i = 0; i < u->tables.n; i++)
		table_free(u, u->tables.v[i]);
	vec_done(&u->tables);
	hash__done(&u->by_key);
	vec_done(&u->rows);
	vec_done(&u->pages);
	hash__done(&u->rules);
	vec_done(&u->free_rules);
	free(u);
}

size_t unwind__n_used(const struct unwind *u)
{
	size_t n = 0;

	for (size_t i = 0; i < u->tables.n; i++)
		n += u->tables.v[i]->refs > 0;
	return n;
}

uint64_t unwind__n_full(const struct unwind *u)
{
	return u->n_full;
}

/* ---- tables */

/*
 * From now on stacks of every process that maps the file are walked by its table, also before it
 * was read what that maps.
 */
static void list_file(struct unwind *u, struct table *t)
{
	struct mt_file f = { .base = t->base, .first_page = t->pages.at, .n_pages = t->pages.n - 1,
			     .flags = t->calls_only ? MT_RANGE_CALLS : 0 };
	size_t n = 0;

	if (t->object) {
		for (size_t i = 0; i < t->object->n_segments && n < MT_FILE_SEGMENTS; i++) {
			const struct object_segment *s = &t->object->segments[i];

			if (!s->exec)
				continue;
			f.segment[n].off = s->file_off;
			f.segment[n].size = s->file_size;
			f.segment[n++].vaddr = s->vaddr;
		}
	} else {
		f.segment[n++].size = UINT32_MAX;	/* an image has its file's layout */
	}
	t->listed = !kernel__set_file(u->kernel, &t->name, &f);
}

static uint32_t n_free_rules(const struct unwind *u)
{
	return u->free_rules.n + (MT_MAX_RULES - u->n_rules);
}

/* *ret is the kernel's number of a rule; 0 where there is no room for more. */
static int use_rule(struct unwind *u, struct table *t, const struct mt_rule *is, uint32_t *ret)
{
	uint64_t key = hash__bytes(is, sizeof(*is));
	struct rule *r = hash__find(&u->rules, key, is_rule, is);
	uint32_t number;

	*ret = 0;
	if (is->cfa == MT_CFA_NONE)
		return 0;
	if (!r && (!n_free_rules(u) || t->rules.n == FILE_RULES))
		return 0;
	if (!r) {
		number = u->free_rules.n ? u->free_rules.v[--u->free_rules.n] : u->n_rules++;
		if (kernel__set_rule(u->kernel, number, is))
			return -EIO;
		r = xcalloc(1, sizeof(*r));
		*r = (struct rule){ .is = *is, .number = number };
		hash__add(&u->rules, key, r);
	}
	r->n_uses++;
	*vec_push(&t->rules) = r;
	*ret = r->number;
	return 0;
}

/* A row without the rule that it should have ends the stacks that go through it. */
static int write_rows(struct unwind *u, struct table *t, const struct cfi *c)
{
	_cleanup_free_ uint32_t *numbers = xcalloc(c->rules.n + 1, sizeof(*numbers));
	struct mt_row *rows = u->kernel->unwind_rows + t->rows.at;
	bool full = false;

	for (size_t i = 0; i < c->rules.n; i++) {
		int err = use_rule(u, t, &c->rules.v[i], &numbers[i]);

		if (err)
			return err;
	}
	/* a row before all others: what lies in front of the first has no rule */
	rows[0] = (struct mt_row){};
	for (size_t i = 0; i < c->n_rows; i++) {
		uint32_t rule = numbers[c->rows[i].rule];

		full |= !rule && cfi__rule(c, &c->rows[i])->cfa != MT_CFA_NONE;
		rows[i + 1] = (struct mt_row){ .pc = c->rows[i].pc - t->base, .rule = rule, .flags = c->rows[i].flags };
	}
	u->n_full += full;
	return 0;
}

static void write_pages(struct unwind *u, struct table *t, const struct cfi *c)
{
	uint64_t *pages = u->kernel->unwind_pages + t->pages.at;
	size_t row = 0;

	/* one more than there are: where the last page's rows end */
	for (uint32_t p = 0; p < t->pages.n; p++) {
		while (row < c->n_rows && c->rows[row].pc - t->base < p * PAGE_BYTES)
			row++;
		pages[p] = t->rows.at + 1 + row;
	}
}

static bool take_room(struct unwind *u, struct table *t, uint32_t n_rows, uint32_t n_pages)
{
	if (!take_extent(&u->rows, n_rows, &t->rows))
		return false;
	if (take_extent(&u->pages, n_pages, &t->pages))
		return true;
	give_back(&u->rows, t->rows);
	t->rows.n = 0;
	return false;
}

/* One that was written to just now may be written to again, and have the same name for the kernel. NULL: the vdso. */
static bool may_be_listed(const struct object *obj)
{
	return !obj || !obj->fresh;
}

/* A half of the tables that no process uses, those that were left first: what is waited for takes a while. */
static bool evict(struct unwind *u)
{
	uint64_t first = UINT64_MAX, last = 0, up_to;
	bool over;

	for (size_t i = 0; i < u->tables.n; i++) {
		struct table *t = u->tables.v[i];

		if (t->refs || !t->rows.n)
			continue;
		first = MIN(first, t->left);
		last = MAX(last, t->left);
		if (t->listed)
			kernel__drop_file(u->kernel, &t->name);
		t->listed = false;
	}
	if (!last)
		return false;
	over = !kernel__wait_for_walks(u->kernel);
	/* as long as someone may still go by them they stay, all of them */
	up_to = over ? first + (last - first) / 2 : 0;
	for (size_t i = u->tables.n; i-- > 0;) {
		struct table *t = u->tables.v[i];

		if (t->refs || !t->rows.n)
			continue;
		if (t->left <= up_to) {
			table_free(u, t);
			u->tables.v[i] = u->tables.v[--u->tables.n];
		} else if (t->file && may_be_listed(t->object)) {
			list_file(u, t);
		}
	}
	return over;
}

static int load_table(struct unwind *u, struct table *t, const struct cfi *c)
{
	uint64_t n_pages;

	if (!c->n_rows)
		return 0;
	t->base = c->rows[0].pc & ~(PAGE_BYTES - 1);
	n_pages = ((c->rows[c->n_rows - 1].pc - t->base) >> MT_TABLE_PAGE_SHIFT) + 1;
	if (c->rows[c->n_rows - 1].pc - t->base > UINT32_MAX || c->n_rows >= UINT32_MAX - 1)
		return -EFBIG;
	while (n_free_rules(u) < MIN(c->rules.n, (size_t)FILE_RULES) && evict(u))
		;
	while (!take_room(u, t, c->n_rows + 1, n_pages + 1))
		if (!evict(u))
			return -ENOSPC;
	write_pages(u, t, c);
	return write_rows(u, t, c);
}

static int compile(struct table *t, const struct object *obj, struct cfi *ret)
{
	int err = cfi__compile(obj, false, ret, NULL);

	if (!err && ret->n_rows > MAX_FULL_ROWS) {
		cfi__done(ret);
		t->calls_only = true;
		err = cfi__compile(obj, true, ret, NULL);
	}
	return err;
}

/* key: obj, or the unwind itself if that is the vdso. */
static struct table *table_add(struct unwind *u, const void *key, struct object *of)
{
	struct object *obj = key == of ? of : NULL;
	struct table *t = xcalloc(1, sizeof(*t));
	struct cfi c = {};
	int err;

	hash__put(&u->by_key, (uintptr_t)key, t);
	*vec_push(&u->tables) = t;
	t->refs = 1;	/* while it is made, nothing takes it away */
	t->key = key;
	t->object = obj;
	if (obj)
		object__hold(obj);
	err = compile(t, of, &c);
	t->stats = c.stats;
	if (!err && u->kernel) {
		cfi__mark_starts(&c);
		err = load_table(u, t, &c);
	}
	if (err == -ENOSPC || err == -EFBIG)
		u->n_full++;
	cfi__done(&c);
	/* the vdso is in no file: its name is an empty one */
	if (!err && u->kernel && t->pages.n && (!obj || !kernel__name_file(u->kernel, obj, &t->name))) {
		t->file = mt_file_hash(&t->name);
		if (may_be_listed(obj))
			list_file(u, t);
	}
	t->refs--;
	t->left = ++u->n_left;
	return t;
}

static struct table *table_of(struct unwind *u, const void *key)
{
	return hash__get(&u->by_key, (uintptr_t)key);
}

void unwind__prepare(struct unwind *u, struct object *obj)
{
	if (obj->is_elf && !table_of(u, obj))
		table_add(u, obj, obj);
}

/* ---- processes */

static struct user *user_of(struct unwind *u, uint32_t proc)
{
	struct user **slot = &u->users[proc % MT_PROC_NUMBERS];

	if (!*slot)
		*slot = xcalloc(1, sizeof(**slot));
	return *slot;
}

static void use(struct used *used, struct table *t)
{
	for (size_t i = 0; i < used->n; i++)
		if (used->v[i] == t)
			return;
	*vec_push(used) = t;
	t->refs++;
}

/* Tables stay, for those to come: they map the same files, and are walked right from their first event on. */
static void leave(struct unwind *u, struct used *used)
{
	for (size_t i = 0; i < used->n; i++) {
		used->v[i]->left = ++u->n_left;
		used->v[i]->refs--;
	}
	vec_done(used);
}

void unwind__drop(struct unwind *u, uint32_t proc)
{
	struct user *p = u->users[proc % MT_PROC_NUMBERS];

	/* a child has its parent's list, even one that was never read here */
	if (u->kernel)
		kernel__drop_space(u->kernel, proc);
	if (!p)
		return;
	u->users[proc % MT_PROC_NUMBERS] = NULL;
	leave(u, &p->used);
	free(p);
}

/* first_ns: what came after that may have taken the place of other code. */
static int add_range(struct mt_space *s, uint32_t room, const struct space_range *r, const struct table *t,
		     uint64_t first_ns)
{
	struct mt_range *to;
	uint64_t vaddr = 0;

	if (s->n >= room)
		return -ENOSPC;
	to = &s->range[s->n++];
	*to = (struct mt_range){ .start = r->start, .end = r->end };
	/* an image has its file's layout; of a file, the segment says where the mapping's first byte belongs */
	if (t->object && !object__offset_to_vaddr(t->object, r->file_off, &vaddr))
		return 0;
	to->base = r->start - vaddr + t->base;
	to->first_page = t->pages.at;
	to->n_pages = t->pages.n - 1;
	to->flags = t->calls_only ? MT_RANGE_CALLS : 0;
	to->file = t->file;
	to->id = first_ns && r->born_ns >= first_ns ? t->file : 0;
	return 0;
}

/* Each piece that was written over may make two ranges more. */
_Static_assert(2 * SPACE_MAX_WRITTEN < MT_MAX_RANGES, "there is room for others");

/*
 * What the process may have written over has no table, and is not what was there before. It is a
 * range all the same: what is in none, the programs would query from the kernel, and find the
 * file's table.
 */
static void distrust(struct mt_space *s, uint64_t start, uint64_t end)
{
	for (uint32_t i = 0, n = s->n; i < n; i++) {
		struct mt_range *r = &s->range[i];
		uint64_t lo = MAX(r->start, start), hi = MIN(r->end, end);

		if (lo >= hi)
			continue;
		if (r->start < lo) {
			s->range[s->n] = *r;
			s->range[s->n++].end = lo;
		}
		if (hi < r->end) {
			s->range[s->n] = *r;
			s->range[s->n++].start = hi;
		}
		r->start = lo;
		r->end = hi;
		r->n_pages = 0;
		r->flags = MT_RANGE_WRITTEN;
		r->id = r->file | 1;
	}
}

COMPARATOR(by_start, struct mt_range, ORDER(a->start, b->start))

static void judge(const struct unwind *u, const struct user *p, const struct used *used, struct unwind_verdict *ret)
{
	const struct table *worst = NULL;
	double worst_share = -1;

	for (size_t i = 0; i < used->n; i++) {
		const struct table *t = used->v[i];
		double share = t->stats.n_call_rows ? 1000.0 * t->stats.n_no_record / t->stats.n_call_rows : 0;

		if (t->object && share > worst_share) {
			worst = t;
			worst_share = share;
		}
	}
	if (u->choice == UNWIND_FP) {
		ret->method = MT_WALK_FP_ONLY;
		snprintf(ret->why, sizeof(ret->why), "frame pointers, as requested");
	} else if (u->choice == UNWIND_TABLE) {
		ret->method = MT_WALK_TABLE;
		snprintf(ret->why, sizeof(ret->why), "tables, as requested");
	} else if (worst && worst_share > NO_RECORD_PER_MILLE) {
		ret->method = MT_WALK_TABLE;
		snprintf(ret->why, sizeof(ret->why),
			 "tables: %.1f%% of the calls in %.80s keep no frame pointer", worst_share / 10,
			 object__file_name(worst->object));
	} else {
		ret->method = MT_WALK_FP;
		snprintf(ret->why, sizeof(ret->why),
			 "frame pointers, kept by at least %.1f%% of the calls in every file, else by tables",
			 100 - (worst_share > 0 ? worst_share : 0) / 10);
	}
	/* tables that are in use stay in use */
	if (p->decided && p->method == MT_WALK_TABLE)
		ret->method = MT_WALK_TABLE;
}

/* When code that came may have taken the place of other code, 0: none has. */
static uint64_t first_replaced(const struct unwind *u, uint32_t proc, const struct space *space)
{
	uint64_t unmapped_ns = u->kernel ? kernel__unmapped_ns(u->kernel, proc) : 0;

	return !unmapped_ns || !space->replaced_ns ? MAX(unmapped_ns, space->replaced_ns) :
						     MIN(unmapped_ns, space->replaced_ns);
}

/* The list for the programs, and the tables that it goes by. */
static void make_list(struct unwind *u, uint32_t proc, const struct space *space,
		     struct mt_space *s, struct used *used, bool *full)
{
	uint32_t room = MT_MAX_RANGES - 2 * space->written.n;
	uint64_t first_ns = first_replaced(u, proc, space);

	/*
	 * what is mapped now, of which no two overlap; the oldest first, that what comes and goes
	 * pushes nothing else out
	 */
	for (size_t i = 0; i < space->n; i++) {
		const struct space_range *r = &space->v[i];
		struct table *t = NULL;

		if (r->gone)
			continue;
		if (r->label && !strcmp(r->label, "[vdso]")) {
			/* the kernel's, the same in every process; its object is a copy of it */
			t = table_of(u, u);
			if (!t && r->object)
				t = table_add(u, u, r->object);
		} else if (r->object && r->object->is_elf && !object__look_for_change(r->object)) {
			/* not of a file that was written to since: what is mapped is not what the table was made of */
			t = table_of(u, r->object);
			if (!t)
				t = table_add(u, r->object, r->object);
			else if (t->file && !t->listed && may_be_listed(r->object))
				list_file(u, t);
		}
		if (t)
			use(used, t);
		/* code without a table is walked like code of no file */
		if (t && t->pages.n && add_range(s, room, r, t, first_ns) && !t->listed)
			*full = true;	/* else the programs query the kernel, and find the file by what names it */
	}
	for (size_t i = 0; i < space->written.n; i++)
		distrust(s, space->written.v[i].start, space->written.v[i].end);
	qsort(s->range, s->n, sizeof(s->range[0]), by_start);
}

int unwind__update(struct unwind *u, uint32_t proc, const struct space *space, uint32_t seq,
		   struct unwind_verdict *ret, struct err *e)
{
	_cleanup_free_ struct mt_space *s = xcalloc(1, sizeof(*s));
	struct user *p = user_of(u, proc);
	struct code_state state = { .seq = seq, .replaced_ns = space->replaced_ns };
	struct used now = {}, before;
	bool full = false;

	make_list(u, proc, space, s, &now, &full);
	u->n_full += full && !p->full;
	p->full |= full;
	judge(u, p, &now, ret);
	p->method = ret->method;
	p->decided = true;
	state.method = ret->method;
	if (u->kernel && kernel__set_space(u->kernel, proc, s, &state)) {
		int err = err_set(e, -errno, "unwind tables: %s", strerror(errno));

		leave(u, &now);
		return err;
	}
	/* only now: the list before this one went by them */
	before = p->used;
	p->used = now;
	leave(u, &before);
	return 0;
}
