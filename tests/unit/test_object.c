// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* ELF files: found through a process, read bounded, garbage survived. */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "elf/code_book.h"
#include "elf/object.h"
#include "fuse_made.h"
#include "util/util.h"

static int note_name(const struct object_symbol *s, void *arg)
{
	struct {
		const char *want;
		uint64_t value;
		size_t n;
	} *look = arg;

	look->n++;
	if (!strcmp(s->name, look->want))
		look->value = s->value;
	return 0;
}

static uint64_t find_function(const struct object *obj, const char *name, size_t *ret_n)
{
	struct {
		const char *want;
		uint64_t value;
		size_t n;
	} look = { .want = name };

	object__for_each_function(obj, note_name, &look);
	if (ret_n)
		*ret_n = look.n;
	return look.value;
}

/* The object of the mapping that holds an address of this process. */
static struct object *own(struct objects *o, const void *addr, struct mapping *ret)
{
	static struct maps m;
	const struct mapping *hit;
	struct object *obj = NULL;

	maps__done(&m);
	cr_assert_eq(maps__read(getpid(), &m, NULL), 0);
	hit = maps__find(&m, (uintptr_t)addr);
	cr_assert_not_null(hit);
	if (ret)
		*ret = *hit;
	cr_assert_eq(objects__get(o, getpid(), hit, &obj, NULL), 0);
	return obj;
}

static char *read_all(const char *path, size_t *ret_len)
{
	char *text = NULL;

	cr_assert_eq(read_small_file(path, &text, ret_len), 0);
	return text;
}

/* What the file of a memfd with these bytes gives. */
static int get_bytes(struct objects *o, const void *bytes, size_t len, struct object **ret)
{
	_cleanup_close_ int fd = memfd_create("mt-object", MFD_CLOEXEC);
	_cleanup_free_ char *path = NULL;

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	cr_assert_geq(asprintf(&path, "/proc/self/fd/%d", fd), 0);
	return objects__get_path(o, path, ret, NULL);
}

Test(object, own_libc)
{
	struct objects *o = objects__new();
	struct mapping m;
	struct object *obj = own(o, (void *)strtoul, &m), *again = own(o, (void *)strtoul, NULL);
	uint64_t vaddr, off, back;
	uint8_t code[16], raw[16];
	size_t n;

	cr_assert(obj == again, "one file is one object");
	cr_assert(obj->is_elf && obj->is_64);
	cr_assert_not(obj->is_exec, "libc has an interpreter and is no program");
	cr_assert(object__has_section(obj, ".text") && object__has_section(obj, ".dynsym"));
	cr_assert_not(object__has_section(obj, ".tex") || object__has_section(obj, ".go.buildinfo"));
	cr_assert_not_null(obj->build_id);
	cr_assert_eq(strspn(obj->build_id, "0123456789abcdef"), strlen(obj->build_id));
	vaddr = find_function(obj, "strtoul", &n);
	cr_assert_gt(n, 1000);
	cr_assert(object__vaddr_to_offset(obj, vaddr, &off));
	cr_assert_eq(off, (uintptr_t)strtoul - m.start + m.file_off);
	cr_assert(object__offset_to_vaddr(obj, off, &back));
	cr_assert_eq(back, vaddr);
	cr_assert_eq(object__read_code(obj, vaddr, code, sizeof(code)), 0);
	cr_assert_eq(pread(obj->fd, raw, sizeof(raw), off), (ssize_t)sizeof(raw));
	cr_assert_arr_eq(code, raw, sizeof(code));
	cr_assert_eq(object__read_code(obj, UINT64_MAX - 4, code, sizeof(code)), -EINVAL);
	cr_assert_not(object__vaddr_to_offset(obj, UINT64_MAX, &off));
	memset(code, 0, sizeof(code));
	cr_assert_eq(object__read_constant(obj, vaddr, code, sizeof(code)), 0);
	cr_assert_arr_eq(code, raw, sizeof(code));
	cr_assert_eq(object__read_constant(obj, UINT64_MAX - 4, code, sizeof(code)), -EINVAL);
	for (size_t i = 0; i < obj->n_segments; i++) {
		const struct object_segment *s = &obj->segments[i];
		uint64_t last = s->vaddr + s->file_size - 1;

		/* what may be written to is none, and neither is what lies beyond */
		cr_expect_eq(object__read_constant(obj, last, code, 1), s->write ? -EINVAL : 0);
		cr_expect_eq(object__read_constant(obj, last, code, 2), -EINVAL);
	}
	object__put(again);
	object__put(obj);
	objects__free(o);
}

Test(object, own_program)
{
	struct objects *o = objects__new();
	struct object *obj = own(o, (void *)note_name, NULL);

	cr_assert(obj->is_exec);
	cr_assert_neq(find_function(obj, "main", NULL) | find_function(obj, "note_name", NULL), 0);
	object__put(obj);
	objects__free(o);
}

/* A file that is deleted, or replaced by another of the same name, while it is mapped. */
Test(object, deleted_and_replaced)
{
	char path[] = "/tmp/mt-object-XXXXXX";
	struct objects *o = objects__new(), *others = objects__new();
	_cleanup_free_ char *bytes = NULL;
	struct maps m = { 0 };
	struct object *obj;
	struct mapping fake;
	size_t len;
	int fd = mkstemp(path), r;
	void *p;

	bytes = read_all("/proc/self/exe", &len);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	cr_assert_neq(p, MAP_FAILED);
	unlink(path);
	cr_assert_eq(maps__read(getpid(), &m, NULL), 0);
	r = objects__get(o, getpid(), maps__find(&m, (uintptr_t)p), &obj, NULL);
	if (r) {
		cr_assert_eq(getuid() == 0, false, "root reaches deleted files");
	} else {
		struct stat st;

		cr_assert_eq(fstat(fd, &st), 0);
		cr_assert_eq(obj->ino, st.st_ino);
		cr_assert_str_eq(obj->path, path);
		object__put(obj);
	}
	/* a mapping that is gone from map_files, its path another file's */
	fake = *maps__find(&m, (uintptr_t)p);
	munmap(p, 4096);
	close(open(path, O_RDWR | O_CREAT, 0600));
	fake.deleted = false;
	if (!r) {
		/* who met the file before knows it by its numbers: its inode is nobody else's as long as it is open */
		cr_assert_eq(objects__get(o, getpid(), &fake, &obj, NULL), 0);
		cr_assert_str_eq(obj->path, path);
		object__put(obj);
	}
	cr_assert_eq(objects__get(others, getpid(), &fake, &obj, NULL), -ESTALE);
	unlink(path);
	cr_assert_eq(objects__get(others, getpid(), &fake, &obj, NULL), -ENOENT);
	objects__free(others);
	close(fd);
	maps__done(&m);
	objects__free(o);
}

/* ---- a mapping whose place and name another file has taken since it was read */

static void note_record(const struct watch_record *r, void *arg)
{
	struct mapping *m = arg;

	if (r->kind != WATCH_MAPPED || r->pid != getpid() || r->map.start != m->start)
		return;
	free(m->path);
	*m = r->map;
	m->path = xstrdup(r->map.path);
}

/* A page of the file, at `at` if that is not NULL, as /proc or a record shows it. Owns its path. */
static void *map_code(void *at, const char *path, bool recorded, struct mapping *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct watch *w = NULL;
	struct maps maps;
	void *p;

	cr_assert(!recorded || !watch__open(false, &w, NULL));
	p = mmap(at, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | (at ? MAP_FIXED : 0), fd, 0);
	cr_assert(p != MAP_FAILED, "%s: %s", path, strerror(errno));
	*ret = (struct mapping){ .start = (uintptr_t)p };
	if (recorded) {
		watch__read(w, note_record, ret);
	} else {
		cr_assert_eq(maps__read(getpid(), &maps, NULL), 0);
		*ret = *maps__find(&maps, (uintptr_t)p);
		ret->path = xstrdup(ret->path);
		maps__done(&maps);
	}
	watch__close(w);
	cr_assert(ret->ino && !strcmp(ret->path, path));
	return p;
}

static void copy_to(const char *dir, const char *name, const char *from)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "cp %s %s/%s", from, dir, name);
	cr_assert_eq(system(cmd), 0, "%s", cmd);
}

static void expect_no_other_by_name(const char *dir, bool recorded)
{
	struct objects *o = objects__new(), *others = objects__new();
	struct mapping true_one, false_one, again;
	struct object *obj = NULL, *own = NULL;
	char path[256], other[256];
	struct stat st;
	void *p;

	snprintf(path, sizeof(path), "%s/lib", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	copy_to(dir, "lib", "/proc/self/exe");
	copy_to(dir, "other", "/bin/sh");
	p = map_code(NULL, path, recorded, &true_one);
	/* elsewhere, by another table: whoever has it mapped gets it */
	cr_assert_eq(objects__get(others, getpid(), &true_one, &own, NULL), 0);
	cr_assert_eq(objects__known(others, &true_one), own);
	object__put(own);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(own->ino, st.st_ino);
	object__put(own);
	cr_assert_eq(rename(other, path), 0);
	map_code(p, path, false, &false_one);
	cr_expect_eq(objects__get(o, getpid(), &true_one, &obj, NULL), -ESTALE);
	cr_expect_null(objects__known(o, &true_one), "whoever maps the true one is given %s", path);
	cr_assert_eq(objects__get(o, getpid(), &false_one, &obj, NULL), 0);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(obj->ino, st.st_ino);
	object__put(obj);
	/* known by then under its own numbers, it is not found under others */
	cr_expect_eq(objects__get(o, getpid(), &true_one, &obj, NULL), -ESTALE);
	map_code(p, path, recorded, &again);
	cr_assert_eq(objects__get(o, getpid(), &again, &obj, NULL), 0);
	cr_expect_eq(obj->ino, st.st_ino);
	object__put(obj);
	munmap(p, (size_t)sysconf(_SC_PAGESIZE));
	free(true_one.path);
	free(false_one.path);
	free(again.path);
	objects__free(o);
	objects__free(others);
}

static char named_dir[] = "/tmp/mt-object-XXXXXX";

static void remove_named(void)
{
	char cmd[64];

	snprintf(cmd, sizeof(cmd), "rm -r %s", named_dir);
	cr_expect_eq(system(cmd), 0);
}

Test(object, another_file_by_the_same_name)
{
	if (geteuid())
		cr_skip_test("skipped: only root opens what is mapped whatever its path is");
	cr_assert_not_null(mkdtemp(named_dir));
	expect_no_other_by_name(named_dir, false);
	expect_no_other_by_name(named_dir, true);
	remove_named();
}

/* Where fstat has other numbers than the mapping, or its record. */
Test(object, another_file_of_an_overlay_by_the_same_name)
{
	char above[64], options[256];

	cr_assert_not_null(mkdtemp(named_dir));
	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", named_dir, "tmpfs", 0, NULL))
		cr_skip_test("skipped: only root mounts");
	snprintf(above, sizeof(above), "%s/above", named_dir);
	cr_assert(!chdir(named_dir) && !mkdir("lower", 0755) && !mkdir("upper", 0755) &&
		  !mkdir("work", 0755) && !mkdir("above", 0755));
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work",
		 named_dir, named_dir, named_dir);
	if (mount("overlay", above, "overlay", 0, options))
		cr_skip_test("skipped: no overlay can be mounted here");
	expect_no_other_by_name(above, false);
	expect_no_other_by_name(above, true);
	cr_expect(!chdir("/") && !umount2(above, MNT_DETACH) && !umount2(named_dir, MNT_DETACH));
	remove_named();
}

/* A file of FUSE is copied, and may have the name of another: that makes it no other one's. */
Test(object, file_of_fuse_by_the_name_of_another, .timeout = 60)
{
	struct object *obj = NULL;
	char path[64], from[64];
	struct fuse_made f;
	struct objects *o;
	struct mapping m, served;
	pid_t pid;
	void *p;

	cr_assert_not_null(mkdtemp(named_dir));
	fuse_made__begin(&f);
	snprintf(path, sizeof(path), "%s/lib", named_dir);
	snprintf(from, sizeof(from), "%s/written", f.dir);
	copy_to(named_dir, "lib", "/proc/self/exe");
	p = map_code(NULL, path, false, &m);
	cr_assert_eq(mount(from, path, NULL, MS_BIND, NULL), 0);
	map_code(p, path, false, &served);
	pid = fork();
	if (!pid) {
		o = objects__new();
		(void)objects__get(o, getppid(), &m, &obj, NULL);
		if (objects__known(o, &m))
			_exit(1);
		/* by its own numbers it is */
		if (objects__get(o, getppid(), &served, &obj, NULL))
			_exit(2);
		_exit(objects__known(o, &served) != obj ? 3 : 0);
	}
	fuse_made__end_after(&f, pid);
	umount2(path, MNT_DETACH);
	remove_named();
}

/* A memfd when the mappings were read, now a file whose file system does not answer. */
Test(object, memory_that_became_a_file, .timeout = 60)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int memory = memfd_create("code", MFD_CLOEXEC), fd;
	const struct mapping *m;
	struct object *obj = NULL;
	struct fuse_made f;
	struct maps maps;
	pid_t pid;
	void *p;

	fuse_made__begin(&f);
	cr_assert(memory >= 0 && !ftruncate(memory, (off_t)page));
	p = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, memory, 0);
	cr_assert(p != MAP_FAILED && !maps__read(getpid(), &maps, NULL));
	m = maps__find(&maps, (uintptr_t)p);
	fd = open(f.file, O_RDONLY | O_CLOEXEC);
	cr_assert_eq(mmap(p, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0), p);
	pid = fork();
	if (!pid)
		_exit(objects__get(objects__new(), getppid(), m, &obj, NULL) != -ESTALE);
	fuse_made__end_after(&f, pid);
	maps__done(&maps);
}

/* A time of the last write that lies ahead tells nothing: the build id does. */
/* Those that no table has, too: a count that fell below zero would leave no room for any file. */
Test(object, open_files_are_counted_once)
{
	struct objects *o = objects__new();
	struct object *obj = NULL;

	for (int i = 0; i < 3; i++)
		object__put(jitmap__over(open("/dev/null", O_RDONLY | O_CLOEXEC), "x"));
	object__put(object__over(open("/dev/null", O_RDONLY | O_CLOEXEC), "x"));
	cr_assert_eq(objects__get_path(o, "/proc/self/exe", &obj, NULL), 0);
	object__put(obj);
	objects__free(o);
}

Test(object, written_tomorrow)
{
	char path[] = "/tmp/mt-object-XXXXXX";
	struct timespec ahead[2] = { { .tv_sec = time(NULL) + 86400 }, { .tv_sec = time(NULL) + 86400 } };
	struct objects *o = objects__new();
	_cleanup_free_ char *bytes = NULL;
	_cleanup_close_ int fd = mkstemp(path);
	struct mapping libc;
	struct object *obj = own(o, (void *)strtoul, &libc);
	size_t len;

	bytes = read_all(obj->fd_path, &len);
	object__put(obj);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, len), (ssize_t)len);
	cr_assert_eq(futimens(fd, ahead), 0);
	cr_assert_eq(objects__get_path(o, path, &obj, NULL), 0);
	cr_assert_not_null(obj->build_id);
	cr_assert_not(obj->fresh, "else it would be until tomorrow");
	cr_assert_eq(object__version_at(obj, now_ns()), VERSION_SAME);
	cr_assert_eq(pwrite(fd, "\377\376\375", 3, (off_t)obj->build_id_off), 3);
	cr_assert_eq(futimens(fd, ahead), 0);
	cr_assert_eq(object__version_at(obj, now_ns()), VERSION_OTHER);
	cr_assert(obj->changed);
	object__put(obj);
	unlink(path);
	objects__free(o);
}

Test(object, never_waits_for_a_fifo, .timeout = 10)
{
	char dir[] = "/tmp/mt-fifo-XXXXXX";
	_cleanup_free_ char *path = NULL;
	_cleanup_err_ struct err e = { 0 };
	struct objects *o = objects__new();
	struct object *obj;

	cr_assert_not_null(mkdtemp(dir));
	cr_assert_geq(asprintf(&path, "%s/f\033ifo", dir), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(objects__get_path(o, path, &obj, &e), -EINVAL);
	cr_assert_null(strchr(err_msg(&e), '\033'));
	cr_assert_eq(objects__get_path(o, "/dev/null", &obj, NULL), -EINVAL);
	cr_assert_eq(objects__get_path(o, dir, &obj, NULL), -EINVAL);
	unlink(path);
	rmdir(dir);
	objects__free(o);
}

Test(object, no_elf)
{
	struct objects *o = objects__new();
	struct object *obj;

	cr_assert_eq(get_bytes(o, "#!/bin/sh\n", 10, &obj), 0);
	cr_assert_not(obj->is_elf);
	cr_assert_eq(find_function(obj, "main", NULL), 0);
	object__put(obj);
	cr_assert_eq(get_bytes(o, "", 0, &obj), 0);
	cr_assert_not(obj->is_elf);
	object__put(obj);
	objects__free(o);
}

/* Without section headers, the dynamic section leads to the same symbols. */
Test(object, no_section_headers)
{
	struct objects *o = objects__new();
	struct object *libc = own(o, (void *)strtoul, NULL), *bare;
	_cleanup_free_ char *bytes = NULL;
	size_t len, n_whole, n_bare;
	Elf64_Ehdr *eh;

	bytes = read_all(libc->fd_path, &len);
	eh = (Elf64_Ehdr *)bytes;
	eh->e_shoff = 0;
	eh->e_shnum = 0;
	cr_assert_eq(get_bytes(o, bytes, len, &bare), 0);
	cr_assert_eq(find_function(bare, "strtoul", &n_bare), find_function(libc, "strtoul", &n_whole));
	cr_assert_gt(n_bare, 1000);
	cr_assert_leq(n_bare, n_whole);
	cr_assert_str_eq(bare->build_id, libc->build_id);
	object__put(bare);
	object__put(libc);
	objects__free(o);
}

static uint32_t next_random(uint32_t *state)
{
	return *state = *state * 1664525 + 1013904223;
}

static void exercise(struct objects *o, const char *bytes, size_t len)
{
	struct object *obj;
	uint64_t *starts = NULL, target;
	char *name = NULL;
	size_t n = 0;

	cr_assert_eq(get_bytes(o, bytes, len, &obj), 0);
	find_function(obj, "malloc", NULL);
	object__function_starts(obj, &starts, &n);
	free(starts);
	if (!object__slot_function(obj, 0x1000, &target, &name))
		free(name);
	object__put(obj);
}

static void mutate(const char *path)
{
	_cleanup_free_ char *bytes = NULL, *copy = NULL;
	uint32_t state = 12345;
	size_t len, i, j;

	bytes = read_all(path, &len);
	copy = malloc(len);
	cr_assert_not_null(copy);
	for (i = 0; i < 150; i++) {
		struct objects *o = objects__new();
		Elf64_Ehdr *eh = (Elf64_Ehdr *)copy;
		size_t cut = i % 3 == 2 ? next_random(&state) % len : len;

		memcpy(copy, bytes, len);
		for (j = 0; j < 1 + i % 20; j++) {
			/* the header, the program headers, the section headers, anywhere */
			size_t from = i % 4 == 2 && eh->e_shoff < len - 1 ? eh->e_shoff : 16;
			size_t span = i % 4 == 0 ? 48 : i % 4 == 1 ? 900 : len - from;

			copy[from + next_random(&state) % MIN(span, len - from)] = next_random(&state) >> 24;
		}
		exercise(o, copy, cut);
		objects__free(o);
	}
}

Test(object, mutated_program, .timeout = 120)
{
	mutate("/proc/self/exe");
}

Test(object, mutated_libc, .timeout = 120)
{
	struct objects *o = objects__new();
	struct object *libc = own(o, (void *)strtoul, NULL);

	mutate(libc->fd_path);
	object__put(libc);
	objects__free(o);
}

/* Numbers at their limits, each on its own. */
Test(object, huge_numbers, .timeout = 60)
{
	static const uint64_t values[] = { UINT64_MAX, INT64_MAX, 1ull << 62, UINT64_MAX - 63, 1 };
	struct objects *o = objects__new();
	_cleanup_free_ char *bytes = NULL, *copy = NULL;
	size_t len, i, j;

	bytes = read_all("/proc/self/exe", &len);
	copy = malloc(len);
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		/* every eight bytes of the file header and of the first program headers */
		for (j = 16; j + 8 <= 64 + 12 * sizeof(Elf64_Phdr); j += 8) {
			memcpy(copy, bytes, len);
			memcpy(copy + j, &values[i], 8);
			exercise(o, copy, len);
		}
	}
	objects__free(o);
}
