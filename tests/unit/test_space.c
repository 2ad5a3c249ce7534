// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The code that a process has mapped: found, found again, and never forgotten. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/space.h"
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
	cr_expect_eq(refresh(), 0);
	cr_expect_eq(space.n, n_before, "what was unloaded still has its names");
	done();
}

Test(space, ends_of_a_mapping)
{
	size_t page = sysconf(_SC_PAGESIZE);
	const struct space_range *r;
	char *code;

	refresh();
	code = page_of_code(page);
	cr_expect_null(find(code));
	cr_expect_eq(refresh(), 1);
	r = find(code);
	cr_assert_not_null(r);
	cr_expect_eq(r->start, (uintptr_t)code);
	cr_expect_eq(r->end, (uintptr_t)code + page);
	cr_expect_null(r->object);
	cr_expect_str_eq(r->label, "");
	cr_expect_eq(find(code + page - 1), r);
	cr_expect_null(find(code - 1));
	cr_expect_null(find(code + page));
	cr_expect_eq(refresh(), 0);
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
	cr_expect_eq(refresh(), 1);
	cr_expect_eq(space.n, n_old + 1);
	r = find(code);
	cr_assert_not_null(r);
	cr_assert_not_null(r->object);
	cr_expect_eq(r->object, find(refresh)->object, "one object per file");
	cr_expect_eq(r->file_off, page);
	/* the same file at the same place, but another part of it */
	cr_assert_eq(mmap(code, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0), code);
	cr_expect_eq(refresh(), 1);
	cr_expect_eq(find(code)->file_off, 0);
	/* and gone: the last one seen stays */
	munmap(code, page);
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
