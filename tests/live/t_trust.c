// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What malloctrace's rights are not for: docs/SECURITY.md. Whoever runs a malloctrace with capabilities gets what tracing
 * gives, and no more; and what others put in its way does not get what is written.
 */
#include "actors.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SECRET "oh-so-secret"

static const struct actor user = { .uid = USER };

static void put_file(struct test *t, const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	must(t, fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s: %s", path, strerror(errno));
	close(fd);
}

static void want_file(struct test *t, const char *path, const char *wanted)
{
	char *got = read_all(path, NULL);

	want(t, got && !strcmp(got, wanted), "%s, wanted '%s', got '%s'", path, wanted, got ? got : "nothing");
	free(got);
}

/* ---- files that the user names are opened with the user's own rights */

static void want_no_secret(struct test *t, struct spawn *s, const char *says)
{
	struct mt m;

	s->become = become;
	s->become_arg = &user;
	mt__start_v(t, &m, s);
	want_eq(t, "exit status", 1, (uint64_t)child__wait(t, &m.c));
	want(t, !strstr(m.c.errs.s, SECRET) && !strstr(m.c.outs.s, SECRET), "a file of root's was read: %.400s", m.c.errs.s);
	want(t, strstr(m.c.errs.s, says) != NULL, "stderr, wanted '%s', got: %.400s", says, m.c.errs.s);
}

TEST(trust_named_files)
{
	const char *bin = copy_with_caps(t, OTHERS), *secret = in_dir(t, "secret"), *program = in_dir(t, "program");
	const char *closed = in_dir(t, "closed/"), *inside = in_dir(t, "closed/secret"), *out = in_dir(t, "closed/out.json");
	const char *pid;
	struct fx f;

	put_file(t, secret, SECRET "\n", 0600);
	make_dirs(t, closed);
	put_file(t, inside, SECRET "\n", 0644);
	must(t, !chmod(closed, 0700), "chmod %s: %s", closed, strerror(errno));
	copy_file(t, fixture("basic"), program);
	must(t, !chmod(program, 0700), "chmod %s: %s", program, strerror(errno));
	start_fixture(t, &f, "basic", USER, false, "family");
	pid = pid_arg(f.c.pid);
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid, "-d", "1", "--suppressions", secret } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid, "-d", "1", "--suppressions", inside } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "report", "--suppressions", secret, secret } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "diff", secret, secret } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid, "-d", "1", "-O", program } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid, "-d", "1", "-o", out } }, "Permission denied");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "heap", "-p", pid, "-o", out } }, "Permission denied");
	want(t, access(out, F_OK) != 0, "%s was written", out);
	fx__quit(t, &f);
}

/* What the kernel lets a directory's owner do, capabilities that go far beyond README's do not undo: -o. */
TEST(trust_named_output)
{
	const char *bin = copy_with_caps(t, OTHERS | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER)), *closed = in_dir(t, "closed/");
	const char *out = in_dir(t, "closed/out.json"), *printed = in_dir(t, "closed/printed");
	struct fx f;

	make_dirs(t, closed);
	put_file(t, out, "old", 0644);
	start_fixture(t, &f, "basic", USER, false, "family");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid_arg(f.c.pid), "-d", "1", "-o", out } }, "Permission denied");
	want_file(t, out, "old");
	if (has_multi(t)) {
		struct spawn s = { .argv = { bin, "--as-root", "--cmd-output", printed, "--", "/bin/true" }, .become = become, .become_arg = &user };
		struct mt m;

		mt__start_v(t, &m, &s);
		want_eq(t, "exit status", 125, (uint64_t)child__wait(t, &m.c));
		want(t, access(printed, F_OK) != 0, "%s was written", printed);
	}
	fx__quit(t, &f);
}

/* ---- nor does the user's environment steer what acts with malloctrace's rights */

TEST(trust_no_debuginfod)
{
	const char *bin = copy_with_caps(t, OTHERS);
	struct fx f;

	start_fixture(t, &f, "basic", USER, false, "family");
	want_no_secret(t, &(struct spawn){ .argv = { bin, "-p", pid_arg(f.c.pid), "-d", "1", "--debuginfod" },
					   .env = { "DEBUGINFOD_URLS=file:///", "DEBUGINFOD_CACHE_PATH=/tmp" } },
		       "--debuginfod: not with capabilities");
	fx__quit(t, &f);
}

/* Of a terminal that only the user's own file describes nothing is known. */
TEST(trust_terminfo)
{
	static const char *const known[] = { "/usr/share/terminfo/x/xterm", "/lib/terminfo/x/xterm", "/usr/lib/terminfo/x/xterm" };
	const char *own = in_dir(t, "m/mt-own"), *from = NULL;
	char dir[200], line[600];
	struct spawn s = { .argv = { "/usr/bin/script", "-qec", line, "/dev/null" }, .env = { dir, "TERM=mt-own" }, .become = become,
			   .become_arg = &user };
	struct child c;
	struct fx f;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known) && !from; i++)
		from = access(known[i], R_OK) ? NULL : known[i];
	if (!from || access("/usr/bin/script", X_OK))
		skip(t, "neither script nor a description of xterm");
	make_dirs(t, own);
	copy_file(t, from, own);
	start_fixture(t, &f, "basic", USER, false, "family");
	snprintf(dir, sizeof(dir), "TERMINFO=%s", t->dir);
	snprintf(line, sizeof(line), "'%s' -p %d -d 1", copy_with_caps(t, LOAD), (int)f.c.pid);
	child__start(t, &c, &s);
	child__wait(t, &c);
	want(t, strstr(c.outs.s, "nothing is known of the terminal 'mt-own'") != NULL, "wanted no live view, got: %.400s", c.outs.s);
	fx__quit(t, &f);
}

/* CMD is the user's, and so is its environment. */
TEST(trust_environment_of_cmd)
{
	struct spawn s = { .argv = { copy_with_caps(t, LOAD), "--json", "--", "/usr/bin/env" },
			   .env = { "MT_OF_USER=yes", "HOME=/home/of/user" }, .become = become, .become_arg = &user };
	struct mt m;

	if (!has_multi(t))
		skip(t, "without uprobe_multi only root can trace");
	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, "MT_OF_USER=yes\n") && strstr(m.c.errs.s, "HOME=/home/of/user\n"), "CMD's environment, got: %.600s",
	     m.c.errs.s);
}

/* ---- where files are written to */

/* It is refused before anything is traced, also if it is read; standard output may be what it is. */
TEST(trust_output_fifo)
{
	const char *fifo = in_dir(t, "out.json");
	struct mt m;
	struct fx f;
	char got[8];
	int fd;

	must(t, !mkfifo(fifo, 0600), "mkfifo %s: %s", fifo, strerror(errno));
	fx__start(t, &f, "basic", "family", "10", NULL);
	for (int i = 0; i < 2; i++) {
		want_eq(t, "exit status", 1, (uint64_t)mt__run(t, &m, "-p", pid_arg(f.c.pid), "-d", "1", "-o", fifo, NULL));
		want(t, strstr(m.c.errs.s, "it is a FIFO, not a file") && !strstr(m.c.errs.s, "attached"), "stderr, got: %.400s", m.c.errs.s);
		if (!i)
			fd = open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	want(t, read(fd, got, sizeof(got)) == 0, "the FIFO got something");
	close(fd);
	want_eq(t, "exit status with -o -", 0, (uint64_t)mt__run(t, &m, "-p", pid_arg(f.c.pid), "-d", "0.2", "-o", "-", NULL));
	want(t, m.c.outs.n > 0, "nothing was written to standard output");
	fx__quit(t, &f);
}

/* A trace that does not begin leaves what was there. */
TEST(trust_cmd_output_stays)
{
	const char *printed = in_dir(t, "printed");
	struct spawn s = { .argv = { own_copy(t), "--cmd-output", printed, "--", "/bin/true" }, .become = become, .become_arg = &user };
	struct mt m;

	put_file(t, printed, "old", 0666);
	must(t, !chmod(printed, 0666), "chmod %s: %s", printed, strerror(errno));
	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 125, (uint64_t)child__wait(t, &m.c));
	want_file(t, printed, "old");
	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &m, "-q", "--cmd-output", printed, "--", "/bin/echo", "new", NULL));
	want_file(t, printed, "new\n");
}

/* Nor does one whose CMD cannot be run: no such program, or no such interpreter. */
TEST(trust_cmd_output_no_program)
{
	const char *printed = in_dir(t, "printed"), *free_name = in_dir(t, "free"), *script = in_dir(t, "script");
	const char *const programs[] = { "/nonexistent/program", script };
	struct mt m;

	put_file(t, script, "#!/nonexistent/interpreter\n", 0755);
	put_file(t, printed, "old", 0644);
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		want_eq(t, "exit status", 127, (uint64_t)mt__run(t, &m, "-q", "--cmd-output", printed, "--", programs[i], NULL));
		want_file(t, printed, "old");
	}
	want_eq(t, "exit status", 127, (uint64_t)mt__run(t, &m, "-q", "--cmd-output", free_name, "--", programs[0], NULL));
	want(t, access(free_name, F_OK) != 0, "%s was made", free_name);
}

/* What another user put where everybody can write leads what CMD prints nowhere, and gets none of it. */
TEST(trust_cmd_output_planted)
{
	const char *all = in_dir(t, "all/"), *away = in_dir(t, "away/"), *secret = in_dir(t, "away/secret");
	const char *links[] = { in_dir(t, "all/link"), in_dir(t, "all/dangling"), in_dir(t, "all/D/secret") };
	const char *dir_link = in_dir(t, "all/D"), *made = in_dir(t, "all/made"), *fresh = in_dir(t, "away/fresh");
	const mode_t modes[] = { 01777, 0777, 0770 };
	struct stat st;
	struct mt m;
	int fd;

	make_dirs(t, all);
	make_dirs(t, away);
	put_file(t, secret, "old", 0600);
	must(t, !symlink(secret, links[0]) && !symlink(fresh, links[1]) && !symlink(away, dir_link), "symlink: %s", strerror(errno));
	must(t, !lchown(links[0], USER, USER) && !lchown(links[1], USER, USER) && !lchown(dir_link, USER, USER), "lchown: %s", strerror(errno));
	put_file(t, made, "old", 0666);
	must(t, !chown(made, USER, USER) && !chmod(made, 0666), "%s: %s", made, strerror(errno));
	fd = open(made, O_RDONLY | O_CLOEXEC);
	must(t, fd >= 0, "open %s: %s", made, strerror(errno));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		must(t, !chmod(all, modes[i]), "chmod %s: %s", all, strerror(errno));
		for (size_t k = 0; k < sizeof(links) / sizeof(links[0]); k++) {
			want_eq(t, "exit status", 125, (uint64_t)mt__run(t, &m, "-q", "--cmd-output", links[k], "--", "/bin/echo", "new", NULL));
			want(t, strstr(m.c.errs.s, "symbolic link"), "stderr, got: %.400s", m.c.errs.s);
		}
	}
	want_file(t, secret, "old");
	want(t, access(fresh, F_OK) != 0, "%s was made", fresh);
	want_eq(t, "exit status", 0, (uint64_t)mt__run(t, &m, "-q", "--cmd-output", made, "--", "/bin/echo", "new", NULL));
	want_file(t, made, "new\n");
	must(t, !fstat(fd, &st), "fstat: %s", strerror(errno));
	want_eq(t, "bytes of the other user's file", 3, (uint64_t)st.st_size);
	must(t, !stat(made, &st), "stat: %s", strerror(errno));
	want_eq(t, "mode", 0600, st.st_mode & 0777);
	want_eq(t, "owner", 0, st.st_uid);
	close(fd);
}

/* ---- whom one may look into */

/* How many lives of this pid are in the report. */
static size_t n_lives(json_t *root, pid_t pid)
{
	json_t *processes = jget(root, "processes"), *p;
	size_t i, n = 0;

	json_array_foreach(processes, i, p)
		n += (pid_t)json_integer_value(jget(p, "pid")) == pid;
	return n;
}

static void want_left_out(struct test *t, json_t *root)
{
	want(t, json_integer_value(jget(root, "left_out")) > 0, "left_out, wanted more than 0");
}

/* A program of root's that begins during the trace, and one of the user's own beside it. */
static void others_are_left_out(struct test *t, const char *const *how, unsigned int checks)
{
	const char *bin = copy_with_caps(t, LOAD), *own = in_dir(t, "same-name"), *secret = in_dir(t, "root/same-name");
	struct spawn s = { .argv = { bin, "--json" }, .become = become, .become_arg = &user };
	struct spawn as_user = { .argv = { own, "leak", "10" }, .uid = USER };
	struct spawn as_root = { .argv = { secret, "leak", "10" } };
	struct fx f, root_fx;
	struct mt m;
	json_t *root;

	if (!has_multi(t))
		skip(t, "without uprobe_multi only root can trace");
	make_dirs(t, secret);
	copy_file(t, fixture("basic"), own);
	copy_file(t, fixture("basic"), secret);
	must(t, !chmod(secret, 0700), "chmod %s: %s", secret, strerror(errno));
	for (size_t i = 0; how[i]; i++)
		s.argv[2 + i] = how[i];
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__start_as(t, &root_fx, &as_root);
	fx__start_as(t, &f, &as_user);
	fx__go(t, &root_fx);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_eq(t, "lives of root's program", 0, n_lives(root, root_fx.c.pid));
	want_eq(t, "lives of the user's program", 1, n_lives(root, f.c.pid));
	if (checks)
		want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, checks);
	fx__quit(t, &root_fx);
	fx__quit(t, &f);
	json_decref(root);
}

TEST_ALONE(trust_others_all) { others_are_left_out(t, (const char *const[]){ "-a", NULL }, LED_STACKS | LED_TEMP | LED_REALLOC); }
TEST_ALONE(trust_others_comm) { others_are_left_out(t, (const char *const[]){ "--comm", "same-name", NULL }, LED_STACKS | LED_TEMP | LED_REALLOC); }
TEST_ALONE(trust_others_cgroup) { others_are_left_out(t, (const char *const[]){ "--cgroup", "/", NULL }, LED_STACKS | LED_TEMP | LED_REALLOC); }
TEST_ALONE(trust_others_growth) { others_are_left_out(t, (const char *const[]){ "-a", "--mode", "growth", NULL }, 0); }
TEST_ALONE(trust_others_sample) { others_are_left_out(t, (const char *const[]){ "-a", "--sample", "1", NULL }, 0); }

/* What makes a program one that its user may not look into. */
enum gain { SET_USER_ID, SET_GROUP_ID, FILE_CAPS };

/*
 * A process of the user's becomes a program that has more rights than the user. What it did before is reported, what it does
 * from then on is not; and it goes on.
 */
static void exec_gains(struct test *t, enum gain gain, const char *const *how, bool by_pid, unsigned int checks)
{
	static const struct vfs_cap_data caps = { .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE, .data = { { BIT(CAP_NET_RAW), 0 } } };
	const char *bin = copy_with_caps(t, LOAD), *life = in_dir(t, "life"), *gains = in_dir(t, "gains");
	struct spawn target = { .argv = { life, "exec", gains, "leak", "300" }, .uid = USER };
	struct spawn s = { .argv = { bin, "--json" }, .become = become, .become_arg = &user };
	struct ledger first;
	size_t n = 2;
	struct fx f;
	struct mt m;
	json_t *root, *old;

	if (!has_multi(t))
		skip(t, "without uprobe_multi only root can trace");
	copy_file(t, fixture("life"), life);
	copy_file(t, fixture("basic"), gains);
	must(t, !chmod(gains, gain == SET_USER_ID ? 04755 : gain == SET_GROUP_ID ? 02755 : 0755), "chmod %s: %s", gains, strerror(errno));
	must(t, gain != FILE_CAPS || !setxattr(gains, "security.capability", &caps, sizeof(caps), 0), "%s: %s", gains, strerror(errno));
	fx__start_as(t, &f, &target);
	for (size_t i = 0; how[i]; i++)
		s.argv[n++] = how[i];
	if (by_pid) {
		s.argv[n++] = "-p";
		s.argv[n++] = pid_arg(f.c.pid);
	}
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	first = f.led;
	fx__send(t, &f, 'g');
	fx__wait_ready(t, &f);		/* it is another program now */
	fx__go(t, &f);
	child__wait_err(t, &m.c, "malloctrace: ", "it is not traced any more", patience_s(60));
	root = by_pid ? mt__stop_json(t, &m, 0, 1) : mt__stop_json(t, &m, SIGINT, 0);
	want_left_out(t, root);
	want_eq(t, "lives", 1, n_lives(root, f.c.pid));
	old = process_of(t, root, f.c.pid, 0);
	want_bool(t, old, "ended", true);
	if (checks)
		want_ledger(t, root, old, &first, checks);
	want_eq(t, "calls from the program with other rights", 0, site_sum(t, root, old, "leak_here", "alloc_calls"));
	fx__quit(t, &f);
	json_decref(root);
}

#define EXEC_GAINS(id, gain, by_pid, checks, ...)		\
	TEST_ALONE(trust_exec_##id)				\
	{							\
		exec_gains(t, gain, (const char *const[]){ __VA_ARGS__ NULL }, by_pid, checks);	\
	}

EXEC_GAINS(uid, SET_USER_ID, true, LED_ALL)
EXEC_GAINS(gid, SET_GROUP_ID, true, LED_ALL)
EXEC_GAINS(caps, FILE_CAPS, true, LED_ALL)
EXEC_GAINS(uid_follow, SET_USER_ID, true, LED_ALL, "-f",)
EXEC_GAINS(uid_all, SET_USER_ID, false, LED_STACKS, "-a",)
EXEC_GAINS(uid_comm, SET_USER_ID, false, LED_STACKS, "--comm", "life",)
EXEC_GAINS(caps_all, FILE_CAPS, false, LED_STACKS, "-a",)
EXEC_GAINS(uid_growth, SET_USER_ID, true, 0, "--mode", "growth",)
EXEC_GAINS(uid_growth_all, SET_USER_ID, false, 0, "-a", "--mode", "growth",)
EXEC_GAINS(uid_sample, SET_USER_ID, true, 0, "--sample", "1",)
EXEC_GAINS(uid_count, SET_USER_ID, true, 0, "--mode", "count",)

/* Who may look into everybody still does. */
TEST_ALONE(trust_exec_uid_may)
{
	const char *life = in_dir(t, "life"), *gains = in_dir(t, "gains");
	struct spawn target = { .argv = { life, "exec", gains, "leak", "300" }, .uid = USER };
	struct spawn s = { .argv = { copy_with_caps(t, OTHERS), "--json", "-p" }, .become = become, .become_arg = &user };
	struct fx f;
	struct mt m;
	json_t *root;

	if (!has_multi(t))
		skip(t, "without uprobe_multi only root can trace");
	copy_file(t, fixture("life"), life);
	copy_file(t, fixture("basic"), gains);
	must(t, !chmod(gains, 04755), "chmod %s: %s", gains, strerror(errno));
	fx__start_as(t, &f, &target);
	s.argv[3] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	fx__send(t, &f, 'g');
	fx__wait_ready(t, &f);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_eq(t, "lives", 2, n_lives(root, f.c.pid));
	want(t, !jget(root, "left_out"), "left_out, wanted none");
	fx__quit(t, &f);
	json_decref(root);
}

/* ---- below sudo */

#define BELOW_SUDO "SUDO_UID=65534", "SUDO_GID=65534"

/* CMD runs as the user who called it, and is told so. */
TEST(trust_names_below_sudo)
{
	struct spawn s = { .argv = { lt_bin, "--json", "--", "/usr/bin/env" }, .env = { BELOW_SUDO, "HOME=/root", "USER=root" } };
	struct spawn other = { .argv = { lt_bin, "--json", "--", "/usr/bin/env" }, .env = { BELOW_SUDO, "HOME=/chosen", "LOGNAME=root" } };
	FILE *users = fopen("/etc/passwd", "re");
	struct passwd *pw = NULL;
	char home[300], name[300];
	struct mt m;

	while (users && (pw = fgetpwent(users)) && pw->pw_uid != USER)
		;
	must(t, pw != NULL, "no user %d", USER);
	snprintf(home, sizeof(home), "HOME=%s\n", pw->pw_dir);
	snprintf(name, sizeof(name), "USER=%s\n", pw->pw_name);
	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, home) && strstr(m.c.errs.s, name) && !strstr(m.c.errs.s, "=root\n"), "CMD's environment, wanted %s%s, got: %.900s",
	     home, name, m.c.errs.s);
	/* what the user set is the user's */
	mt__start_v(t, &m, &other);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, "HOME=/chosen\n") != NULL, "CMD's HOME, got: %.900s", m.c.errs.s);
	fclose(users);
}

/* What reads files that anybody may have made is not root. A FIFO holds it where it opens its file. */
TEST(trust_report_below_sudo)
{
	const char *fifo = in_dir(t, "x.json");
	struct spawn s = { .argv = { lt_bin, "report", fifo }, .env = { BELOW_SUDO } };
	char path[64], *status;
	struct mt m;
	int fd;

	must(t, !mkfifo(fifo, 0600) && !chown(fifo, USER, USER), "no FIFO");
	mt__start_v(t, &m, &s);
	fd = open(fifo, O_WRONLY | O_CLOEXEC);
	must(t, fd >= 0, "nobody reads the FIFO");
	snprintf(path, sizeof(path), "/proc/%d/status", (int)m.c.pid);
	status = read_all(path, NULL);
	want(t, status && strstr(status, "\nUid:\t65534\t65534\t65534\t65534\n") && strstr(status, "\nGid:\t65534\t65534\t65534\t65534\n"),
	     "user and group of report, got: %.900s", status ? status : "");
	want(t, status && strstr(status, "\nCapPrm:\t0000000000000000\n"), "capabilities of report, got: %.900s", status ? status : "");
	free(status);
	must(t, write(fd, "{}", 2) == 2, "nobody reads the FIFO any more");
	close(fd);
	mt__stop(t, &m, 0, 1);
}

/* ---- files that may be open at a time */

/* The soft limit is raised, and CMD has the one that it would have had; where even the hard one is too low, that is said. */
static int limit_files(const void *arg)
{
	return setrlimit(RLIMIT_NOFILE, arg);
}

TEST(trust_few_descriptors)
{
	struct rlimit soft = { 16, 4096 }, hard = { 64, 64 };
	struct spawn s = { .argv = { lt_bin, "--json", "--", "/bin/sh", "-c", "ulimit -n" }, .become = limit_files, .become_arg = &soft };
	struct spawn d = { .argv = { lt_bin, "doctor" }, .become = limit_files, .become_arg = &hard };
	struct mt m;

	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, "\n16\n") || !strncmp(m.c.errs.s, "16\n", 3), "CMD's ulimit -n, wanted 16, got: %.400s", m.c.errs.s);
	s.become_arg = &hard;
	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 125, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, "only 64 files may be open at a time") && !strstr(m.c.errs.s, "kernel"), "stderr, got: %.400s", m.c.errs.s);
	mt__start_v(t, &m, &d);
	want_eq(t, "doctor: exit status", 1, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.outs.s, "\nno: only 64 files may be open at a time") != NULL, "doctor, got: %.900s", m.c.outs.s);
}

/* More files are mapped than may be open: the rest is counted, and its allocator is traced all the same. */
static void many_files(struct test *t, const char *when)
{
	struct rlimit few = { 256, 256 };
	struct spawn s = { .argv = { lt_bin, "-p", NULL, "--json" }, .become = limit_files, .become_arg = &few };
	struct mt m;
	struct fx f;
	json_t *root;

	fx__start(t, &f, "manyfiles", in_dir(t, "file"), "500", when, NULL);
	s.argv[2] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 3);
	want(t, strstr(m.c.errs.s, "no more files can be opened") != NULL, "stderr, got: %.400s", m.c.errs.s);
	want(t, ju64(t, root, "unread_files") >= 500 - (256 - 160) && ju64(t, root, "unread_files") < 500, "unread_files, wanted what is beyond the limit, got %llu",
	     (unsigned long long)ju64(t, root, "unread_files"));
	want_u64(t, root, "losses.unread_file", ju64(t, root, "unread_files"));
	want_u64(t, root, "losses.total", ju64(t, root, "unread_files"));
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
	json_decref(root);
}

TEST(trust_many_files) { many_files(t, NULL); }
TEST(trust_many_files_before) { many_files(t, "early"); }

/* A file that somebody keeps from being opened: all else is traced, and it is told. */
TEST(trust_leased_file)
{
	json_t *root;
	struct fx f;
	struct mt m;

	copy_file(t, fixture("libpre.so"), in_dir(t, "leased.so"));
	fx__start(t, &f, "leased", in_dir(t, "leased.so"), NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 3);
	want(t, strstr(m.c.errs.s, "leased.so could not be read: a process holds a lease on it") != NULL, "stderr, got: %.400s", m.c.errs.s);
	want_u64(t, root, "losses.unread_file", 1);
	want_u64(t, root, "losses.total", 1);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	fx__quit(t, &f);
}

/* ---- what is held while tracing */

static uint64_t caps_line(struct test *t, const char *status, const char *name)
{
	const char *line = status ? strstr(status, name) : NULL;
	uint64_t caps = ~0ull;

	want(t, line && sscanf(line + strlen(name), " %lx", &caps) == 1, "%s, wanted a line of it", name);
	return caps;
}

/* Once it has attached, root's malloctrace has no more than doctor says, and cannot get it back. */
TEST(trust_settled)
{
	static const uint64_t kept = OTHERS | BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_SYS_ADMIN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_CHOWN) |
				     BIT(CAP_FOWNER) | BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL) | BIT(CAP_SYS_NICE);
	char path[64], *status;
	struct mt m, d;
	json_t *root;
	struct fx f;

	fx__start(t, &f, "basic", "family", "10", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)m.c.pid);
	status = read_all(path, NULL);
	want_eq(t, "permitted beyond those", 0, caps_line(t, status, "\nCapPrm:") & ~kept);
	want_eq(t, "effective beyond those", 0, caps_line(t, status, "\nCapEff:") & ~kept);
	want_eq(t, "bounds beyond those", 0, caps_line(t, status, "\nCapBnd:") & ~kept);
	want(t, status && strstr(status, "\nNoNewPrivs:\t1\n"), "NoNewPrivs, wanted 1");
	want(t, status && strstr(status, "\nSeccomp:\t2\n"), "Seccomp, wanted a filter");
	free(status);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want_eq(t, "doctor: exit status", 0, (uint64_t)mt__run(t, &d, "doctor", NULL));
	want(t, strstr(d.c.outs.s, "\n  held while tracing             ok   ") && strstr(d.c.outs.s, "cap_bpf") && !strstr(d.c.outs.s, "cap_sys_module"),
	     "doctor, got: %.900s", d.c.outs.s);
	fx__quit(t, &f);
	json_decref(root);
}

/* What CMD may gain by its exec, it may gain still. */
TEST(trust_cmd_gains_by_exec)
{
	struct spawn s = { .argv = { lt_bin, "--json", "--", "/bin/sh", "-c", "grep NoNewPrivs /proc/self/status" } };
	struct mt m;

	mt__start_v(t, &m, &s);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.errs.s, "NoNewPrivs:\t0\n") != NULL, "CMD's NoNewPrivs, got: %.400s", m.c.errs.s);
}
