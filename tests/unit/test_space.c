// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The code that a process has mapped: found, found again, gone, and by whom its place was taken when. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "space/space.h"
#include "util/util.h"

static struct objects *objects;
static struct space space;

static size_t refresh(void)
{
	_cleanup_err_ struct err e = {};
	size_t n_new = 12345;

	if (!objects)
		objects = objects__new();
	cr_assert_not_null(objects);
	cr_assert_eq(space__refresh(&space, objects, getpid(), &n_new, &e), 0, "%s", err_msg(&e));
	return n_new;
}

static void done(void)
{
	space__done(&space);
	objects__free(objects);
}

static const struct space_range *find(const void *addr)
{
	return space__find(&space, (uintptr_t)addr);
}

/* Three pages, of which only the middle one is code. */
static char *page_of_code(size_t page)
{
	char *p = mmap(NULL, 3 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(p, MAP_FAILED);
	cr_assert_eq(mprotect(p + page, page, PROT_READ | PROT_EXEC), 0);
	return p + page;
}

Test(space, own_program_and_libc)
{
	void *in_libc = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
	const struct space_range *r;
	char exe[4097] = "";
	uint64_t vaddr;

	cr_assert_gt(readlink("/proc/self/exe", exe, sizeof(exe) - 1), 0);
	cr_expect_gt(refresh(), 2);
	r = find(refresh);
	cr_assert_not_null(r);
	cr_assert_not_null(r->object);
	cr_expect_str_eq(r->object->path, exe);
	cr_expect(r->object->is_elf);
	cr_expect(r->object->is_exec);
	cr_expect(object__offset_to_vaddr(r->object, (uintptr_t)refresh - r->start + r->file_off, &vaddr));
	r = find(in_libc);
	cr_assert_not_null(r);
	cr_assert_not_null(r->object);
	cr_expect_not_null(strstr(r->object->path, "/libc.so.6"), "%s", r->object->path);
	cr_expect_not(r->object->is_exec);
	for (size_t i = 0; i < space.n; i++) {
		r = &space.v[i];
		cr_expect_lt(r->start, r->end);
		cr_expect_eq(space__find(&space, r->start), r);
		cr_expect_eq(space__find(&space, r->end - 1), r);
	}
	cr_expect_null(find(NULL));
	cr_expect_null(space__find(&space, UINT64_MAX));
	cr_expect_null(find(&vaddr), "the stack is no code");
	done();
}

Test(space, only_new_mappings_count)
{
	static const char *const names[] = { "libBrokenLocale.so.1", "libanl.so.1", "libthread_db.so.1", "libresolv.so.2", "libz.so.1" };
	const char *name = NULL;
	size_t n_before;
	bool named = false;
	void *lib;

	for (size_t i = 0; i < ARRAY_SIZE(names) && !name; i++) {
		lib = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
		if (lib)
			continue;
		/* what it needs, and the loader's own tables, are there after the first time */
		lib = dlopen(names[i], RTLD_NOW);
		if (!lib)
			continue;
		dlclose(lib);
		name = names[i];
	}
	cr_assert_not_null(name, "none of the libraries can be loaded");
	cr_expect_gt(refresh(), 0);
	cr_expect_eq(refresh(), 0);
	n_before = space.n;
	lib = dlopen(name, RTLD_NOW);
	cr_assert_not_null(lib);
	cr_expect_gt(refresh(), 0, "%s", name);
	cr_expect_gt(space.n, n_before);
	for (size_t i = n_before; i < space.n; i++)
		named |= space.v[i].object && strstr(space.v[i].object->path, name);
	cr_expect(named, "%s is not among the newest", name);
	cr_expect_eq(refresh(), 0);
	n_before = space.n;
	dlclose(lib);
	cr_expect_gt(refresh(), 0, "it is gone");
	cr_expect_eq(refresh(), 0);
	cr_expect_eq(space.n, n_before, "what was unloaded still has its names");
	for (size_t i = 0, n_gone = 0; i <= space.n; i++) {
		if (i == space.n)
			cr_expect_eq(n_gone, 1);
		else
			n_gone += space.v[i].gone;
	}
	done();
}

static bool is_anon(const void *addr)
{
	return space__is_anon(&space, (uintptr_t)addr);
}

/* It has neither names nor tables: nothing that anyone has to be told of. */
Test(space, memory_of_no_file)
{
	size_t page = sysconf(_SC_PAGESIZE), n;
	char *code;

	refresh();
	n = space.n;
	code = page_of_code(page);
	cr_expect_not(is_anon(code));
	cr_expect_eq(refresh(), 0);
	cr_expect_eq(space.n, n);
	cr_expect_null(find(code));
	cr_expect(is_anon(code));
	cr_expect(is_anon(code + page - 1));
	cr_expect_not(is_anon(code - 1));
	cr_expect_not(is_anon(code + page));
	munmap(code, page);
	cr_expect_eq(refresh(), 0);
	cr_expect_not(is_anon(code));
	done();
}

/* As /proc tells it: under these numbers the file is known. */
static struct mapping record_of(const struct space_range *r, uint64_t start, uint64_t len)
{
	struct maps maps;
	const struct mapping *m;
	struct mapping made;

	cr_assert_eq(maps__read(getpid(), &maps, NULL), 0);
	m = maps__find(&maps, r->start);
	cr_assert_not_null(m);
	made = (struct mapping){ .start = start, .end = start + len, .file_off = r->file_off, .dev_major = m->dev_major, .dev_minor = m->dev_minor, .ino = m->ino,
				 .exec = true, .path = r->object->path };
	maps__done(&maps);
	return made;
}

static void add(const struct mapping *m, uint64_t t_ns, bool is_new)
{
	cr_expect_eq(space__add(&space, objects, getpid(), m, t_ns), is_new, "%s at %llu", m->path, (unsigned long long)t_ns);
}

static const struct object *at(uint64_t addr, uint64_t t_ns, bool is_sole)
{
	bool sole;
	const struct space_range *r = space__find_at(&space, addr, t_ns, &sole);

	cr_expect_eq(sole, is_sole);
	return r ? r->object : NULL;
}

/* Two files in turn at one place: an address is that one's that was there. */
Test(space, an_address_at_a_time)
{
	const struct space_range *r;
	struct object *a, *b;
	struct mapping first, second, later, anon;
	uint64_t t, place = 0x1000;

	refresh();
	r = find(refresh);
	a = r->object;
	first = record_of(r, place, 0x2000);
	r = find(strtoull);
	b = r->object;
	second = record_of(r, place, 0x1000);
	later = record_of(r, place + 0x2000, 0x1000);
	anon = (struct mapping){ .start = place, .end = place + 0x10000, .exec = true, .path = (char *)"" };
	t = space.looked_ns;
	add(&first, t + 10, true);
	cr_expect_eq(at(place, t + 5, true), a, "nobody else was there");
	add(&first, t + 15, false);
	add(&later, t + 20, true);
	cr_expect_eq(space.replaced_ns, 0);
	add(&second, t + 30, true);
	cr_expect_eq(space.replaced_ns, t + 30);
	cr_expect_eq(at(place, t + 12, false), a);
	cr_expect_eq(at(place, t + 29, false), a);
	cr_expect_eq(at(place, t + 30, false), b);
	cr_expect_eq(at(place + 0x1000, t + 40, false), a, "some of the first is gone, and nobody has said that the rest is");
	cr_expect_eq(at(place, t + 5, false), NULL, "either may have been there");
	add(&first, t + 40, true);
	cr_expect_eq(at(place, t + 35, false), b);
	cr_expect_eq(at(place, t + 41, false), a);
	add(&anon, t + 50, true);
	cr_expect_eq(at(place, t + 51, false), NULL);
	cr_expect_eq(at(place, t + 49, false), a);
	add(&anon, t + 60, false);
	done();
}

/* mprotect tells of a part, and of the whole again when parts become one: nothing is mapped that was not. */
Test(space, a_part_has_other_rights)
{
	const struct space_range *r;
	struct mapping whole, part;
	struct object *a;
	uint64_t t, place = 0x100000;
	size_t n;

	refresh();
	r = find(refresh);
	a = r->object;
	whole = record_of(r, place, 0x5000);
	part = record_of(r, place + 0x2000, 0x1000);
	part.file_off += 0x2000;
	t = space.looked_ns;
	add(&whole, t + 10, true);
	n = space.n;
	add(&part, t + 20, false);
	cr_expect_eq(space.n, n);
	for (uint64_t off = 0; off < 0x5000; off += 0x1000)
		cr_expect_eq(at(place + off, t + 25, true), a);
	add(&whole, t + 30, false);
	cr_expect_eq(space.replaced_ns, 0);
	/* other bytes of the file there are other code; what is before and behind stays */
	part.file_off = whole.file_off + 0x7000;
	add(&part, t + 40, true);
	cr_expect_eq(space.replaced_ns, t + 40);
	cr_expect_eq(at(place + 0x1000, t + 45, false), a);
	cr_expect_eq(space__find(&space, place + 0x2000)->file_off, whole.file_off + 0x7000);
	cr_expect_eq(space__find(&space, place + 0x3000)->start, place + 0x3000);
	cr_expect_eq(space__find(&space, place + 0x3000)->file_off, whole.file_off + 0x3000);
	cr_expect_eq(at(place + 0x2000, t + 35, false), a);
	done();
}

static bool is_written(uint64_t addr, uint64_t t_ns)
{
	return space_written__has(&space.written, addr, t_ns);
}

/* What may have been written over is not what the file has, from then on, until it is another file's place. */
Test(space, what_may_be_written_to)
{
	const struct space_range *r;
	struct mapping whole, part, other;
	uint64_t t, place = 0x100000;

	refresh();
	/* not "nothing": Criterion itself writes over code of its library */
	cr_expect_not(is_written((uintptr_t)refresh, UINT64_MAX));
	r = find(refresh);
	whole = record_of(r, place, 0x5000);
	part = record_of(r, place + 0x2000, 0x1000);
	part.file_off += 0x2000;
	other = record_of(find(strtoull), place, 0x5000);
	t = space.looked_ns;
	add(&whole, t + 10, true);
	part.write = true;
	add(&part, t + 20, true);
	add(&part, t + 25, false);
	cr_expect_eq(space.replaced_ns, t + 20);
	part.write = false;
	add(&part, t + 30, false);
	add(&whole, t + 30, false);
	cr_expect_not(is_written(place + 0x2000, t + 19));
	cr_expect(is_written(place + 0x2000, t + 20));
	cr_expect(is_written(place + 0x2fff, t + 50));
	cr_expect_not(is_written(place + 0x1fff, t + 50));
	cr_expect_not(is_written(place + 0x3000, t + 50));
	cr_expect_eq(at(place + 0x2000, t + 50, true), r->object);
	add(&other, t + 60, true);
	cr_expect_not(is_written(place + 0x2000, t + 70));
	done();
}

static void written(struct space_written *w, uint64_t start, uint64_t end, bool is_new)
{
	cr_expect_eq(space_written__add(w, (struct written_piece){ start, end, 1 }), is_new, "[%llx, %llx)", (unsigned long long)start,
		     (unsigned long long)end);
	for (size_t i = 0; i + 1 < w->n; i++)
		cr_expect_lt(w->v[i].end, w->v[i + 1].start);
	cr_expect_leq(w->n, SPACE_MAX_WRITTEN);
}

Test(space, pieces_that_were_written)
{
	struct space_written w = {};

	written(&w, 10, 20, true);
	written(&w, 30, 40, true);
	written(&w, 12, 18, false);
	written(&w, 0, 5, true);
	cr_expect_eq(w.n, 3);
	written(&w, 20, 30, true);
	cr_expect_eq(w.n, 2);
	cr_expect(space_written__has(&w, 39, 1));
	cr_expect_not(space_written__has(&w, 40, 1));
	cr_expect_not(space_written__has(&w, 39, 0));
	space_written__cut(&w, 15, 25);
	cr_expect_eq(w.n, 3);
	cr_expect(space_written__has(&w, 14, 1));
	cr_expect_not(space_written__has(&w, 15, 1));
	cr_expect(space_written__has(&w, 25, 1));
	/* too many: more is distrusted, never less */
	for (uint64_t i = 0; i < 100; i++)
		written(&w, 1000 + i * 10, 1001 + i * 10, true);
	for (uint64_t i = 0; i < 100; i++)
		cr_expect(space_written__has(&w, 1000 + i * 10, 1));
	space_written__cut(&w, 0, UINT64_MAX);
	cr_expect_eq(w.n, 0);
}

/* Code that was written to without a record: its pages tell. Breakpoints are no other code. */
Test(space, pages_that_differ)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct space_range *r;
	uint64_t off;
	char *p;
#if defined(__aarch64__)
	static const unsigned char brk[] = { 0xa0, 0x00, 0x20, 0xd4 };
#else
	static const unsigned char brk[] = { 0xcc };
#endif

	cr_assert_geq(fd, 0);
	refresh();
	r = find(refresh);
	off = (r->file_off + ((uintptr_t)refresh - r->start)) & ~(page - 1);
	p = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, (off_t)off);
	cr_assert_neq(p, MAP_FAILED);
	memcpy(p + 16, brk, sizeof(brk));
	memset(p + page, 0x5a, 64);
	cr_assert_eq(mprotect(p, 3 * page, PROT_READ | PROT_EXEC), 0);
	refresh();
	cr_assert_not_null(find(p));
	cr_expect_not(is_written((uintptr_t)p, UINT64_MAX));
	cr_expect(is_written((uintptr_t)p + page, UINT64_MAX));
	cr_expect_not(is_written((uintptr_t)p + 2 * page, UINT64_MAX));
	munmap(p, 3 * page);
	close(fd);
	done();
}

/* A look takes a while: what it finds may have come when it had begun already, and the record says when. */
Test(space, what_came_during_a_look)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open("/bin/true", O_RDONLY);
	const struct space_range *r;
	struct mapping m;
	uint64_t t;
	char *p;

	cr_assert_geq(fd, 0);
	refresh();
	p = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	cr_assert_neq(p, MAP_FAILED);
	refresh();
	r = find(p);
	cr_assert_not_null(r);
	cr_expect_gt(r->born_ns, space.look_began_ns, "surely there when it was read, not before");
	cr_expect_eq(r->born_ns, space.looked_ns);
	m = record_of(r, r->start, page);
	t = space.look_began_ns + 1;
	add(&m, t, true);
	cr_expect_eq(find(p)->born_ns, t);
	/* and from then on up to the next look that does not find it */
	add(&m, t + 5, false);
	munmap(p, page);
	close(fd);
	done();
}

/* A program that maps and unmaps again and again: what is kept of it has an end. */
Test(space, what_is_gone_is_bounded)
{
	const struct space_range *r;
	struct mapping m;
	size_t most = 0, live;
	uint64_t t;

	refresh();
	live = space.n;
	r = find(strtoull);
	m = record_of(r, 0x1000, 0x1000);
	t = space.looked_ns + 1;
	for (size_t i = 0; i < 20000; i++) {
		m.start = 0x1000 + i * 0x1000;
		m.end = m.start + 0x1000;
		add(&m, t + i, true);
		if (space__is_long(&space)) {
			space__tidy(&space);
			cr_assert_eq(find(strtoull)->gone, false);
			refresh();
			t = space.looked_ns + 1;
		}
		most = MAX(most, space.n);
	}
	cr_expect_lt(most, live + 4096);
	cr_expect_gt(most, 1000);
	done();
}

/* A child knows what its parent knew, and since when: a record from before that look is no news to it, either. */
Test(space, a_copy_was_looked_at_when_its_parent_was)
{
	struct space child = {};
	struct mapping anon;

	refresh();
	space__copy(&child, &space);
	anon = (struct mapping){ .start = find(refresh)->start, .end = find(refresh)->end, .exec = true, .path = (char *)"" };
	cr_expect_not(space__add(&child, objects, getpid(), &anon, space.looked_ns - 1));
	cr_assert_not_null(space__find(&child, (uintptr_t)refresh));
	cr_expect_not(space__find(&child, (uintptr_t)refresh)->gone);
	cr_expect(space__add(&child, objects, getpid(), &anon, space.looked_ns + 1));
	space__done(&child);
	done();
}

Test(space, newer_mapping_wins)
{
	size_t page = sysconf(_SC_PAGESIZE), n_old;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *code = page_of_code(page);
	const struct space_range *r;

	cr_assert_geq(fd, 0);
	refresh();
	n_old = space.n;
	cr_assert_eq(mmap(code, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, page), code);
	cr_expect_gt(refresh(), 0);
	cr_expect_eq(refresh(), 0);
	cr_expect_eq(space.n, n_old + 1);
	r = find(code);
	cr_assert_not_null(r);
	cr_assert_not_null(r->object);
	cr_expect_eq(r->object, find(refresh)->object, "one object per file");
	cr_expect_eq(r->file_off, page);
	/* the same file at the same place, but another part of it */
	cr_assert_eq(mmap(code, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0), code);
	cr_expect_gt(refresh(), 0);
	cr_expect_eq(find(code)->file_off, 0);
	/* and gone: the last one seen stays */
	munmap(code, page);
	cr_expect_eq(refresh(), 1);
	cr_expect(find(code)->gone);
	cr_expect_eq(refresh(), 0);
	cr_expect_eq(find(code)->file_off, 0);
	close(fd);
	done();
}

Test(space, references)
{
	struct object *obj;
	size_t n_held = 0;

	refresh();
	obj = find(refresh)->object;
	for (size_t i = 0; i < space.n; i++)
		n_held += space.v[i].object == obj;
	cr_expect_gt(n_held, 0);
	cr_expect_eq(obj->refs, n_held + 1, "one for each range, one for the table");
	space__done(&space);
	cr_expect_eq(obj->refs, 1);
	cr_expect_eq(space.n, 0);
	cr_expect_null(space.v);
	cr_expect_null(find(refresh));
	/* an empty one can be filled again */
	cr_expect_gt(refresh(), 2);
	cr_expect_gt(obj->refs, 1);
	done();
}

Test(space, of_a_process_that_is_gone)
{
	_cleanup_err_ struct err e = {};
	size_t n_new = 12345;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	refresh();
	cr_expect_lt(space__refresh(&space, objects, pid, &n_new, &e), 0);
	cr_expect_eq(n_new, 0);
	cr_expect_neq(e.code, 0);
	cr_expect_not_null(find(refresh), "what was known is still known");
	done();
}

/* 30,000 mappings of code, of which 8,192 are listed, read again and again, and as many records of others: what one more costs does not depend on how many there are. */
Test(space, very_many_mappings, .timeout = 120)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t page = sysconf(_SC_PAGESIZE), n_mapped = 30000;
	const struct mapping *last;
	struct maps maps = {};
	struct mapping m;
	uint64_t began;

	cr_assert_geq(fd, 0);
	for (size_t i = 0; i < n_mapped; i++)
		cr_assert_neq(mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), MAP_FAILED);
	began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	cr_expect_geq(refresh(), 8192);
	cr_expect_eq(refresh(), 0);
	cr_expect_eq(space.n, 8192);
	cr_expect_geq(space.n_unlisted, n_mapped - 8192);
	/* what the program was started with is among them */
	cr_expect_not_null(space__find(&space, (uintptr_t)refresh));
	cr_expect_not_null(space__find(&space, (uintptr_t)strlen));
	cr_assert_eq(maps__read(getpid(), &maps, NULL), 0);
	last = maps__find(&maps, (uintptr_t)refresh);
	m = *last;
	for (size_t i = 0; i < n_mapped; i++) {
		m.start = 0x100000000ull + i * 2 * page;
		m.end = m.start + page;
		cr_assert(space__add(&space, objects, getpid(), &m, now_ns()));
		cr_assert_eq(space__find(&space, m.start)->start, m.start);
	}
	cr_expect_lt(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began, 5 * SECOND_NS, "%.1f s", (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began) / 1e9);
	maps__done(&maps);
	done();
}

/* A user's processes list all that they may, but for what each has in any case: what comes then is counted, and nothing else. */
Test(space, no_room_beside_others)
{
	uint64_t place = 0x100000000ull, t;
	struct mapping first, m, anon;
	struct space child = {};
	size_t n;

	space.n_beside = SPACE_MOST_OF_USER - 1;
	cr_expect_eq(space__most_listed(&space), SPACE_ALWAYS_LISTED);
	refresh();
	n = space.n;
	cr_assert_lt(n, SPACE_ALWAYS_LISTED);
	cr_expect_eq(space.n_unlisted, 0);
	t = space.looked_ns;
	first = m = record_of(find(strtoull), place, 0x3000);
	for (; space.index.alive.n < SPACE_ALWAYS_LISTED; m.start += 0x10000, m.end += 0x10000)
		add(&m, ++t, true);
	cr_expect_eq(space.n, SPACE_ALWAYS_LISTED);
	cr_expect_eq(space.n_unlisted, 0);
	/* what is listed already, and what is no code of a file, is not left out */
	add(&first, ++t, false);
	anon = (struct mapping){ .start = m.start, .end = m.end, .exec = true, .path = (char *)"" };
	add(&anon, ++t, false);
	cr_expect_eq(space.n_unlisted, 0);
	add(&m, ++t, false);
	cr_expect_eq(space.n_unlisted, 1);
	cr_expect_null(space__find(&space, m.start));
	/* a reading has counted what came before it */
	add(&m, space.looked_ns, false);
	cr_expect_eq(space.n_unlisted, 1);
	/* what takes the place of another has the room of that */
	first.file_off += 0x100000;
	add(&first, ++t, true);
	cr_expect_eq(space__find(&space, place)->file_off, first.file_off);
	cr_expect_eq(space.n_unlisted, 1);
	/* but not of what stays before and behind it: that of the three which comes first is listed */
	first.start += 0x1000;
	first.end -= 0x1000;
	first.file_off += 0x100000;
	add(&first, ++t, true);
	cr_expect_eq(space__find(&space, place)->end, place + 0x1000);
	cr_expect_null(space__find(&space, place + 0x1000));
	cr_expect_null(space__find(&space, place + 0x2000));
	cr_expect_eq(space.index.alive.n, SPACE_ALWAYS_LISTED);
	cr_expect_eq(space.n_unlisted, 3);
	/* a child has no more room, whatever its parent had */
	space.n_beside = 0;
	add(&m, ++t, true);
	child.n_beside = SPACE_MOST_OF_USER;
	space__copy(&child, &space);
	cr_expect_eq(child.n, SPACE_ALWAYS_LISTED);
	cr_expect_eq(child.n_unlisted, 1);
	cr_expect_not_null(space__find(&child, (uintptr_t)refresh), "what the program was started with");
	cr_expect_not_null(space__find(&child, (uintptr_t)strtoull));
	space__done(&child);
	done();
}
