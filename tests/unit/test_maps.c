// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* /proc/PID/maps: odd lines, odd names, and this process's own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/maps.h"
#include "process/process.h"
#include "util/util.h"

static struct maps parse(const char *text)
{
	struct maps m = { 0 };

	maps__parse(text, strlen(text), &m);
	return m;
}

Test(maps, fields)
{
	struct maps m = parse("55d0c000-55d0e000 r-xp 00002000 fd:1a 1835017                    /usr/bin/a b\n"
			      "7ffd1000-7ffd2000 rw-p 00000000 00:00 0                          [stack]\n"
			      "7ffe1000-7ffe2000 rw-p 00000000 00:00 0\n");

	cr_assert_eq(m.n, 3);
	cr_assert_eq(m.v[0].start, 0x55d0c000);
	cr_assert_eq(m.v[0].end, 0x55d0e000);
	cr_assert_eq(m.v[0].file_off, 0x2000);
	cr_assert_eq(m.v[0].dev_major, 0xfd);
	cr_assert_eq(m.v[0].dev_minor, 0x1a);
	cr_assert_eq(m.v[0].ino, 1835017);
	cr_assert(m.v[0].read && !m.v[0].write && m.v[0].exec && !m.v[0].shared);
	cr_assert_not(m.v[0].deleted);
	cr_assert_str_eq(m.v[0].path, "/usr/bin/a b");
	cr_assert_str_eq(m.v[1].path, "[stack]");
	cr_assert_eq(m.v[1].ino, 0);
	cr_assert_not(m.v[1].exec);
	cr_assert_str_eq(m.v[2].path, "");
	maps__done(&m);
}

Test(maps, names)
{
	struct maps m = parse("1000-2000 r-xp 00000000 08:01 5 /tmp/new\\012line \\040 x (deleted)\n"
			      "2000-3000 r-xp 00000000 08:01 6 /tmp/(deleted)\n"
			      "3000-4000 rwxs 00000000 00:01 7 /memfd:jit (deleted)\n"
			      "4000-5000 rw-s 00000000 00:01 0 /SYSV00000000 (deleted)");

	cr_assert_eq(m.n, 4);
	cr_assert_str_eq(m.v[0].path, "/tmp/new\nline \\040 x");
	cr_assert(m.v[0].deleted);
	cr_assert_str_eq(m.v[1].path, "/tmp/(deleted)");
	cr_assert_not(m.v[1].deleted);
	cr_assert_str_eq(m.v[2].path, "/memfd:jit");
	cr_assert(m.v[2].deleted);
	cr_assert(m.v[2].read && m.v[2].write && m.v[2].exec && m.v[2].shared);
	cr_assert_str_eq(m.v[3].path, "/SYSV00000000");
	cr_assert(m.v[3].deleted);
	maps__done(&m);
}

Test(maps, nonsense_is_skipped)
{
	struct maps m = parse("\n"
			      "hello\n"
			      "1000-1000 r-xp 00000000 08:01 5 /empty\n"
			      "3000-2000 r-xp 00000000 08:01 5 /backwards\n"
			      "11112222333344445-2 r-xp 00000000 08:01 5 /wide\n"
			      "1000-2000 r-x\n"
			      "1000-2000 r-xp 0 08:01\n"
			      "1000-2000 r-xp 0 08:01 5x /x\n"
			      "8000-9000 r-xp 00000000 08:01 5 /good\n"
			      "1000-2000 r-xp 0 08:01 99999999999999999999999 /x\n"
			      "4000-5000 ---p 00000000 08:01 5 /low");

	cr_assert_eq(m.n, 2);
	cr_assert_str_eq(m.v[0].path, "/low", "sorted by address");
	cr_assert_str_eq(m.v[1].path, "/good");
	maps__done(&m);
}

Test(maps, every_prefix_of_a_line_is_survived)
{
	const char *line = "55d0c000-55d0e000 r-xp 00002000 fd:1a 1835017   /usr/x\\012 (deleted)";
	size_t len;

	for (len = 0; len <= strlen(line); len++) {
		_cleanup_free_ char *exact = malloc(len + !len);
		struct maps m = { 0 };

		memcpy(exact, line, len);
		maps__parse(exact, len, &m);
		cr_assert_leq(m.n, 1);
		maps__done(&m);
	}
}

Test(maps, find)
{
	struct maps m = parse("1000-2000 r-xp 0 08:01 5 /a\n2000-3000 r-xp 0 08:01 5 /b\n5000-6000 r-xp 0 08:01 5 /c\n");

	cr_assert_null(maps__find(&m, 0xfff));
	cr_assert_str_eq(maps__find(&m, 0x1000)->path, "/a");
	cr_assert_str_eq(maps__find(&m, 0x1fff)->path, "/a");
	cr_assert_str_eq(maps__find(&m, 0x2000)->path, "/b");
	cr_assert_null(maps__find(&m, 0x3000));
	cr_assert_str_eq(maps__find(&m, 0x5fff)->path, "/c");
	cr_assert_null(maps__find(&m, 0x6000));
	maps__done(&m);
}

/* The kernel's own way of writing odd names, against what was mapped. */
Test(maps, own)
{
	char dir[] = "/tmp/mt-maps-XXXXXX";
	const char *names[] = { "with space", "new\nline", "back\\040slash", "gone (deleted)", "\xff\x01" };
	size_t i;

	cr_assert_not_null(mkdtemp(dir));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *path = NULL;
		const struct mapping *hit;
		struct maps m = { 0 };
		struct stat st;
		void *p;
		int fd;

		cr_assert_geq(asprintf(&path, "%s/%s", dir, names[i]), 0);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
		cr_assert_geq(fd, 0);
		cr_assert_eq(ftruncate(fd, 4096), 0);
		cr_assert_eq(fstat(fd, &st), 0);
		p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
		cr_assert_neq(p, MAP_FAILED);
		unlink(path);
		cr_assert_eq(maps__read(getpid(), &m, NULL), 0);
		hit = maps__find(&m, (uintptr_t)p);
		cr_assert_not_null(hit);
		cr_assert_str_eq(hit->path, path);
		cr_assert(hit->deleted);
		cr_assert_eq(hit->ino, st.st_ino);
		maps__done(&m);
		munmap(p, 4096);
		close(fd);
	}
	rmdir(dir);
}

/* A process may have a million, with paths of thousands of letters. */
Test(maps, no_more_than_there_is_room_for)
{
	_cleanup_close_ int fd = process__open(getpid(), "maps", 0);
	struct maps m = { 0 };
	int err = maps__query(fd, SMALL_FILE_MAX, &m);

	if (err == -ENOTTY)
		cr_skip_test("a kernel before 6.11");
	cr_assert_eq(err, 0);
	maps__done(&m);
	cr_expect_eq(maps__query(fd, 1024, &m), -EFBIG);
}

Test(maps, no_process)
{
	_cleanup_err_ struct err e = { 0 };
	struct maps m = { 0 };

	cr_assert_eq(maps__read(0x7ffffff0, &m, &e), -ESRCH);
	cr_assert_str_eq(err_msg(&e), "no process 2147483632");
}

Test(maps, zombie_has_none)
{
	struct maps m = { .n = 7 };
	siginfo_t si;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	cr_assert_gt(pid, 0);
	cr_assert_eq(waitid(P_PID, pid, &si, WEXITED | WNOWAIT), 0);
	cr_assert_eq(maps__read(pid, &m, NULL), 0);
	cr_assert_eq(m.n, 0);
	maps__done(&m);
	waitpid(pid, NULL, 0);
}

Test(maps, not_allowed_says_what_to_do)
{
	int status;
	pid_t pid;

	if (getuid())
		cr_skip_test("needs root to become somebody else");
	pid = fork();
	if (!pid) {
		_cleanup_err_ struct err e = { 0 };
		struct maps m = { 0 };

		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(2);
		_exit(maps__read(getppid(), &m, &e) == -EACCES && strstr(err_msg(&e), "CAP_SYS_PTRACE") &&
				      strstr(err_msg(&e), "run with sudo") ? 0 : 1);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0);
}

/* Pages that may be executed, and those between them that may not. */
Test(maps, code_is_counted)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), before = maps__n_code(getpid(), 60000);
	char *at = mmap(NULL, 11 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(at, MAP_FAILED);
	cr_expect_gt(before, 1);
	for (size_t i = 1; i < 11; i += 2)
		cr_assert_eq(mprotect(at + i * page, page, PROT_READ | PROT_EXEC), 0);
	cr_expect_eq(maps__n_code(getpid(), 60000), before + 5);
	cr_expect_eq(maps__n_code(getpid(), 3), 3, "more than that in all");
}
