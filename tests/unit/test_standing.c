// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What stands at a point: the kernel's breakpoint, the call that it may make of it, a debugger's, or the file's own code. */
#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "fuse_made.h"
#include "probe/attach.h"
#include "process/memory.h"
#include "space/space.h"
#include "util/util.h"

static const struct {
	const char *what;
	uint16_t machine;
	unsigned char mem[BREAKPOINT_BYTES], file[BREAKPOINT_BYTES];
	enum breakpoint_kind kind;
} cases[] = {
	{ "arm64: the kernel's", EM_AARCH64, { 0xa0, 0x00, 0x20, 0xd4 }, { 0xfd, 0x7b, 0xbf, 0xa9 }, BREAKPOINT_IN_PLACE },
	{ "arm64: gdb's", EM_AARCH64, { 0x00, 0x00, 0x20, 0xd4 }, { 0xfd, 0x7b, 0xbf, 0xa9 }, BREAKPOINT_FOREIGN },
	{ "arm64: none", EM_AARCH64, { 0xfd, 0x7b, 0xbf, 0xa9 }, { 0xfd, 0x7b, 0xbf, 0xa9 }, BREAKPOINT_GONE },
	{ "int3", EM_X86_64, { 0xcc, 0x48, 0x89, 0xe5 }, { 0x55, 0x48, 0x89, 0xe5 }, BREAKPOINT_IN_PLACE },
	{ "none", EM_X86_64, { 0x55, 0x48, 0x89, 0xe5 }, { 0x55, 0x48, 0x89, 0xe5 }, BREAKPOINT_GONE },
	{ "a nop of five bytes, int3", EM_X86_64, { 0xcc, 0x1f, 0x44, 0, 0, 0x55 }, { 0x0f, 0x1f, 0x44, 0, 0, 0x55 }, BREAKPOINT_IN_PLACE },
	{ "a nop of five bytes, a call", EM_X86_64, { 0xe8, 0x10, 0x20, 0x30, 0x40, 0x55 }, { 0x0f, 0x1f, 0x44, 0, 0, 0x55 }, BREAKPOINT_IN_PLACE },
	{ "a nop of five bytes, none", EM_X86_64, { 0x0f, 0x1f, 0x44, 0, 0, 0x55 }, { 0x0f, 0x1f, 0x44, 0, 0, 0x55 }, BREAKPOINT_GONE },
	{ "five bytes by prefixes, a call", EM_X86_64, { 0xe8, 1, 2, 3, 4 }, { 0x66, 0x66, 0x66, 0x66, 0x90 }, BREAKPOINT_IN_PLACE },
	{ "ten bytes, a call behind a lea", EM_X86_64, { 0x48, 0x8d, 0x64, 0x24, 0x80, 0xe8, 1, 2, 3, 4 },
	  { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, BREAKPOINT_IN_PLACE },
	{ "ten bytes, none", EM_X86_64, { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, { 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0 }, BREAKPOINT_GONE },
	/* a call of the program's own is no sign of the kernel */
	{ "a call of the file's", EM_X86_64, { 0xe8, 1, 2, 3, 4 }, { 0xe8, 1, 2, 3, 4 }, BREAKPOINT_GONE },
	{ "a call that somebody wrote", EM_X86_64, { 0xe8, 1, 2, 3, 4 }, { 0x55, 0x48, 0x89, 0xe5, 0x53 }, BREAKPOINT_GONE },
	{ "a nop of one byte", EM_X86_64, { 0xe8, 1, 2, 3, 4 }, { 0x90, 0x55, 0x48, 0x89, 0xe5 }, BREAKPOINT_GONE },
	{ "a nop of three bytes", EM_X86_64, { 0xe8, 1, 2, 3, 4 }, { 0x0f, 0x1f, 0x00, 0x55, 0x53 }, BREAKPOINT_GONE },
};

Test(standing, kinds)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_eq(breakpoint__kind(cases[i].machine, cases[i].mem, cases[i].file), cases[i].kind, "%s", cases[i].what);
}

/* Code in a page that nobody brings in: nothing is said of it, and nobody waits for it. */
Test(standing, withheld_page, .timeout = 60)
{
	struct point point = { .how = ON_ENTRY };
	struct object obj = { .fd = memfd_create("same", MFD_CLOEXEC), .machine = EM_X86_64,
			      .build_id = "0123456789abcdef", .build_id_off = 64 };
	const struct plan plan = { .object = &obj, .points = &point, .n_points = 1 };
	const struct plan *plans[] = { &plan };
	_cleanup_memory_ struct memory mem = {};
	struct breakpoints b = {};
	const struct mapping *m;
	struct fuse_made f;
	struct maps maps;
	pid_t pid;
	void *p;
	int fd;

	fuse_made__begin(&f);
	fd = open(f.file, O_RDONLY | O_CLOEXEC);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	cr_assert(p != MAP_FAILED && !maps__read(getpid(), &maps, NULL));
	cr_assert_eq(memory__open(&mem, getpid()), 0);
	m = maps__find(&maps, (uintptr_t)p);
	obj.ino = m->ino;
	pid = fork();
	if (!pid)
		_exit(breakpoints__check(getppid(), NULL, plans, 1, &b) ||
		      b.n_points || b.n_gone || b.n_never ||
		      space_memory__is_another(getppid(), &mem, &maps, m, &obj));
	fuse_made__end_after(&f, pid);
	maps__done(&maps);
}
