// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Without root: malloctrace as an ordinary user who holds some capabilities,
 * from the file or from whoever started it. With enough of them the figures
 * equal the ledger as they do for root; without one, doctor and the refusal
 * name that one. Kernels without uprobe_multi want CAP_SYS_ADMIN: there the
 * same tests expect to be told so.
 */
#include "actors.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- what is checked */

/* A failed trace: one line, exit 1, which names these capabilities and says what to do. */
static void want_refused(struct test *t, struct child *c, int got, const char *names, const char *mend)
{
	const char *end = strchr(c->errs.s, '\n');

	want(t, got == 1, "exit status, wanted 1, got %d; stderr: %.400s", got, c->errs.s);
	want(t, end && !end[1], "stderr, wanted one line, got: %.600s", c->errs.s);
	want(t, strstr(c->errs.s, names) != NULL, "stderr, wanted '%s', got: %.400s", names, c->errs.s);
	want(t, strstr(c->errs.s, mend) != NULL, "stderr, wanted '%s', got: %.400s", mend, c->errs.s);
	want(t, c->outs.n == 0, "standard output, wanted nothing, got: %.100s", c->outs.s);
}

/* The line "missing" of doctor: these and no others, and the same of the rows marked NO; NULL: there is none. */
static void want_missing(struct test *t, struct child *c, const char *names, const char *mend)
{
	const char *row = strstr(c->outs.s, "\n  missing ");
	char wanted[200];

	if (!names) {
		want(t, !row, "doctor, wanted nothing missing, got: %.900s", c->outs.s);
		return;
	}
	snprintf(wanted, sizeof(wanted), "\n  %-30s %s: ", "missing", names);
	want(t, row && !strncmp(row, wanted, strlen(wanted)), "doctor, wanted '%s', got: %.900s", wanted + 1, row ? row + 1 : c->outs.s);
	want(t, row && strstr(row, mend) && strstr(row, mend) < strchr(row + 1, '\n'), "doctor, wanted '%s', got: %.600s", mend,
	     row ? row + 1 : "nothing missing");
	for (const char *p = c->outs.s; (p = strstr(p, "\n  CAP_"));) {
		char name[64] = "", state[8] = "";

		p += 3;
		sscanf(p, "%63s %7s", name, state);
		want(t, !strcmp(state, "NO") == (strstr(names, name) != NULL), "doctor's row %s, wanted %s, got %s", name,
		     strstr(names, name) ? "NO" : "no", state);
	}
}

/* Attaches, lets the fixture work, and compares. */
static void trace_as(struct test *t, const char *bin, const struct actor *a, struct fx *f, unsigned int checks)
{
	struct spawn s = { .argv = { bin, "-p", pid_arg(f->c.pid), "--json" }, .become = become, .become_arg = a };
	struct mt m;
	json_t *root;

	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_scan(t, root);
	want_ledger(t, root, process_of(t, root, f->c.pid, 0), &f->led, checks);
	if (!(checks & LED_TOTALS))
		want(t, !strstr(m.c.errs.s, "CAP_"), "stderr, wanted no complaint, got: %.400s", m.c.errs.s);
	else
		want(t, strstr(m.c.errs.s, "CAP_DAC_READ_SEARCH is missing") != NULL,
		     "stderr, wanted to be told of the file that cannot be read, got: %.400s", m.c.errs.s);
	json_decref(root);
}

/* Doctor and trace must fail for the same reason; the target goes on as if nothing had been. */
static void refuse_as(struct test *t, const char *bin, const struct actor *a, struct fx *f, const char *missing, const char *first,
		      const char *mend)
{
	struct spawn doctor = { .argv = { bin, "doctor", "-p", pid_arg(f->c.pid) }, .become = become, .become_arg = a };
	struct spawn trace = { .argv = { bin, "-p", pid_arg(f->c.pid), "--json" }, .become = become, .become_arg = a };
	struct mt m;

	mt__start_v(t, &m, &doctor);
	want_eq(t, "doctor: exit status", 1, (uint64_t)child__wait(t, &m.c));
	want_missing(t, &m.c, missing, mend);
	want(t, strstr(m.c.outs.s, "\nno: ") != NULL, "doctor, wanted a no, got: %.900s", m.c.outs.s);
	mt__start_v(t, &m, &trace);
	want_refused(t, &m.c, child__wait(t, &m.c), first, mend);
	fx__go(t, f);
	fx__quit(t, f);
}

/* ---- enough */

static void own_process(struct test *t, const char *bin, const struct actor *a)
{
	static const char *const whats[] = { "family", "reallocs", "failures" };
	bool multi = has_multi(t);

	/* where all is slow, one shows it */
	for (unsigned int i = 0; i < (multi && lt_scale_pct >= 100 ? 3 : 1); i++) {
		struct fx f;

		start_fixture(t, &f, "basic", USER, false, whats[i]);
		if (multi) {
			trace_as(t, bin, a, &f, LED_ALL);
			fx__quit(t, &f);
		} else {
			refuse_as(t, bin, a, &f, "CAP_SYS_ADMIN", "CAP_SYS_ADMIN is missing", "run with sudo");
		}
	}
}

TEST(caps_own_process) { own_process(t, own_copy(t), &(struct actor){ .uid = USER, .caps = LOAD }); }
TEST(caps_of_file) { own_process(t, copy_with_caps(t, LOAD), &(struct actor){ .uid = USER }); }

/* It stands for both, and is the only one that perf uprobes need. */
TEST(caps_sys_admin)
{
	struct fx f;

	start_fixture(t, &f, "basic", USER, false, "family");
	trace_as(t, own_copy(t), &(struct actor){ .uid = USER, .caps = BIT(CAP_SYS_ADMIN) }, &f, LED_ALL);
	fx__quit(t, &f);
}

static void other_user(struct test *t, const char *bin, const struct actor *a)
{
	struct fx f;

	start_fixture(t, &f, "basic.static", OTHER_USER, true, "family");
	if (has_multi(t)) {
		trace_as(t, bin, a, &f, LED_ALL);
		fx__quit(t, &f);
	} else {
		refuse_as(t, bin, a, &f, "CAP_SYS_ADMIN", "CAP_SYS_ADMIN is missing", "run with sudo");
	}
}

TEST(caps_other_user) { other_user(t, own_copy(t), &(struct actor){ .uid = USER, .caps = OTHERS }); }
TEST(caps_other_user_of_file) { other_user(t, copy_with_caps(t, OTHERS), &(struct actor){ .uid = USER }); }

/* What shows arguments, or stops, is not for the processes of others: such a user could read files by it, or keep them stopped. */
static void refused_for_others(struct test *t, const char *option, const char *value, const char *why)
{
	struct spawn s = { .argv = { own_copy(t), "heap", "-p", NULL, option, value }, .become = become,
			   .become_arg = &(struct actor){ .uid = USER, .caps = OTHERS } };
	struct mt m;
	struct fx f;

	if (!has_multi(t))
		skip(t, "without uprobe_multi only root can trace");
	start_fixture(t, &f, "basic.static", OTHER_USER, true, "family");
	s.argv[3] = pid_arg(f.c.pid);
	if (value)
		memmove(s.argv + 1, s.argv + 2, sizeof(s.argv) - 2 * sizeof(*s.argv));
	mt__start_v(t, &m, &s);
	want(t, child__wait(t, &m.c) != 0, "exit status, wanted not 0");
	want(t, strstr(m.c.errs.s, why) != NULL, "stderr, wanted '%s', got: %.400s", why, m.c.errs.s);
	fx__go(t, &f);
	fx__quit(t, &f);
}

TEST(caps_no_sym) { refused_for_others(t, "--sym", "malloc=fgetc", "--sym: only root may use it"); }
TEST(caps_no_stop_of_others) { refused_for_others(t, "--pause", NULL, "only root may stop it"); }

/* The allocator can be read, the program cannot: figures are whole, names are not, and it is said. */
TEST(caps_program_unreadable)
{
	struct fx f;

	if (!has_multi(t))
		skip(t, "without uprobe_multi only root can trace");
	start_fixture(t, &f, "basic", OTHER_USER, true, "family");
	trace_as(t, own_copy(t), &(struct actor){ .uid = USER, .caps = LOAD | BIT(CAP_SYS_PTRACE) }, &f, LED_TOTALS | LED_TEMP | LED_REALLOC | LED_PEAK);
	fx__quit(t, &f);
}

/* A target that becomes a program which this user may not look into: what was seen before is not lost. */
TEST(caps_target_execs_unreadable)
{
	struct actor a = { .uid = USER, .caps = LOAD };
	const char *closed = in_dir(t, "closed"), *life = in_dir(t, "life");
	struct spawn target = { .argv = { life, "exec", closed, "leak", "300" }, .uid = USER };
	struct spawn s = { .argv = { own_copy(t), "-p", NULL, "--json" }, .become = become, .become_arg = &a };
	struct ledger first;
	struct fx f;
	struct mt m;
	json_t *root, *old;

	if (!has_multi(t))
		skip(t, "without uprobe_multi only root can trace");
	copy_file(t, fixture("life"), life);
	copy_file(t, fixture("basic"), closed);
	must(t, !chmod(closed, 0711), "chmod %s: %s", closed, strerror(errno));
	fx__start_as(t, &f, &target);
	s.argv[2] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	first = f.led;
	fx__send(t, &f, 'g');
	fx__wait_ready(t, &f);		/* it is another program now */
	child__wait_err(t, &m.c, "malloctrace: ", "CAP_SYS_PTRACE is missing", patience_s(60));
	/* nothing is left to be traced, and nobody asked for the end */
	root = mt__stop_json(t, &m, 0, 1);
	old = process_of(t, root, f.c.pid, 0);
	if (!json_is_true(jget(old, "ended")))
		old = process_of(t, root, f.c.pid, 1);
	want_ledger(t, root, old, &first, LED_ALL);
	fx__go(t, &f);
	fx__quit(t, &f);
	json_decref(root);
}

/*
 * A library that comes later is seen by perf events, or, where the machine keeps
 * those to root, by looking every second; then it is said what to do.
 */
TEST(caps_late_library)
{
	struct actor a = { .uid = USER, .caps = LOAD };
	const char *life = in_dir(t, "life"), *library = in_dir(t, "libpre.so");
	struct spawn target = { .argv = { life, "late", library }, .uid = USER };
	struct spawn s = { .argv = { own_copy(t), "-p", NULL, "--json", "--prefix", "pre_" }, .become = become, .become_arg = &a };
	char *paranoid = read_all("/proc/sys/kernel/perf_event_paranoid", NULL);
	bool late;
	struct fx f;
	struct mt m;
	json_t *root;

	if (!has_multi(t))
		skip(t, "without uprobe_multi only root can trace");
	copy_file(t, fixture("life"), life);
	copy_file(t, fixture("libpre.so"), library);
	fx__start_as(t, &f, &target);
	s.argv[2] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);		/* it is loaded, and not used yet */
	child__wait_err(t, &m.c, "malloctrace: ", "libpre.so", patience_s(60));
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_STACKS | LED_TEMP | LED_REALLOC);
	if (strstr(m.c.errs.s, "a second late"))
		want(t, paranoid && atoi(paranoid) > 2 && strstr(m.c.errs.s, "sysctl kernel.perf_event_paranoid=2"),
		     "stderr, wanted a reason that holds, got: %.400s", m.c.errs.s);
	fx__quit(t, &f);
	late = strstr(m.c.errs.s, "a second late") != NULL;
	s.argv[1] = "doctor";
	s.argv[2] = "-v";
	s.argv[3] = NULL;
	mt__start_v(t, &m, &s);
	want_eq(t, "doctor: exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.outs.s, late ? "sysctl kernel.perf_event_paranoid=2" : "new code                       ok ") != NULL,
	     "doctor's row on new code, wanted %s, got: %.900s", late ? "what to do" : "ok", m.c.outs.s);
	free(paranoid);
	json_decref(root);
}

/* CMD is seen from its first allocation, and has none of the capabilities. */
static void command(struct test *t, const char *bin, const struct actor *a)
{
	const char *ledger = in_dir(t, "ledger"), *program = in_dir(t, "program");
	struct spawn s = { .argv = { bin, "--json", "--", program, "--auto", ledger, "uid" }, .become = become, .become_arg = a };
	bool multi = has_multi(t);
	struct ledger l;
	struct mt m;
	json_t *root;
	char *text;

	copy_file(t, fixture("basic"), program);
	must(t, !chown(t->dir, USER, USER), "chown %s: %s", t->dir, strerror(errno));
	mt__start_v(t, &m, &s);
	if (!multi) {
		want_eq(t, "exit status", 125, (uint64_t)child__wait(t, &m.c));
		want(t, strstr(m.c.errs.s, "CAP_SYS_ADMIN is missing") != NULL, "stderr, wanted CAP_SYS_ADMIN, got: %.400s", m.c.errs.s);
		want(t, access(ledger, F_OK) != 0, "the program ran");
		return;
	}
	root = mt__stop_json(t, &m, 0, 0);
	text = read_all(ledger, NULL);
	must(t, text && ledger__parse(&l, text), "the program left no ledger; stderr: %.400s", m.c.errs.s);
	want_lossless(t, root);
	want_ledger(t, root, jget(root, "processes[0]"), &l, LED_ALL);
	want_eq(t, "the program's uid", USER, ledger__note(t, &l, "uid"));
	want_eq(t, "the program's capabilities", 0, ledger__note(t, &l, "caps"));
	free(text);
	json_decref(root);
}

TEST(caps_command) { command(t, own_copy(t), &(struct actor){ .uid = USER, .caps = LOAD }); }
TEST(caps_command_of_file) { command(t, copy_with_caps(t, LOAD), &(struct actor){ .uid = USER }); }
/* One that may look into everything must not hand that on either. */
TEST(caps_command_of_file_all) { command(t, copy_with_caps(t, OTHERS), &(struct actor){ .uid = USER }); }

/* ---- one too few */

static const struct {
	const char *missing, *without_multi;	/* doctor's words; on a kernel without uprobe_multi */
	const char *names;	/* of the capabilities for setcap */
	uint64_t caps;
	uid_t target;
	bool closed;
} few[] = {
	{ "CAP_BPF and CAP_PERFMON", "CAP_SYS_ADMIN", "cap_bpf,cap_perfmon", 0, USER, false },
	{ "CAP_PERFMON", "CAP_SYS_ADMIN", "cap_bpf,cap_perfmon", BIT(CAP_BPF), USER, false },
	{ "CAP_BPF", "CAP_SYS_ADMIN", "cap_bpf,cap_perfmon", BIT(CAP_PERFMON), USER, false },
	{ "CAP_SYS_PTRACE", "CAP_SYS_PTRACE and CAP_SYS_ADMIN", "cap_bpf,cap_perfmon,cap_sys_ptrace", LOAD, OTHER_USER, false },
	{ "CAP_DAC_READ_SEARCH", "CAP_DAC_READ_SEARCH and CAP_SYS_ADMIN", "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search",
	  LOAD | BIT(CAP_SYS_PTRACE), OTHER_USER, true },
};

static void too_few(struct test *t, bool of_file)
{
	bool multi = has_multi(t);

	for (unsigned int i = 0; i < sizeof(few) / sizeof(*few); i++) {
		const char *bin = of_file && few[i].caps ? copy_with_caps(t, few[i].caps) : own_copy(t);
		struct actor a = { .uid = USER, .caps = of_file ? 0 : few[i].caps };
		const char *names = multi ? few[i].missing : few[i].without_multi;
		char mend[4400], first[100];
		struct fx f;

		snprintf(first, sizeof(first), "%.*s", (int)strcspn(names, " "), names);
		snprintf(mend, sizeof(mend), "run with sudo, or: sudo setcap %s+ep %s", few[i].names, bin);
		start_fixture(t, &f, "basic.static", few[i].target, few[i].closed, "family");
		refuse_as(t, bin, &a, &f, names, first, multi ? mend : "run with sudo");
	}
}

TEST(caps_too_few) { too_few(t, false); }
TEST(caps_too_few_of_file) { too_few(t, true); }

/* Root in a container that was started without it. */
TEST(caps_not_in_bounds)
{
	struct actor a = { .not_in_bounds = BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN) };
	bool multi = has_multi(t);
	struct fx f;

	start_fixture(t, &f, "basic", USER, false, "family");
	refuse_as(t, own_copy(t), &a, &f, multi ? "CAP_PERFMON" : "CAP_SYS_ADMIN",
		  multi ? "CAP_PERFMON is missing" : "CAP_SYS_ADMIN is missing", multi ? "--cap-add=PERFMON" : "--cap-add=SYS_ADMIN");
}

/* Root of a user namespace has all capabilities; they mean nothing to BPF, nor to processes outside. */
TEST(caps_user_namespace)
{
	struct actor a = { .uid = USER, .user_ns = true };
	struct spawn s = { .argv = { fixture("basic"), "--no-such-thing" }, .become = become, .become_arg = &a };
	bool multi = has_multi(t);
	struct child c;
	struct fx f;

	child__start(t, &c, &s);
	if (child__wait(t, &c) == 124)
		skip(t, "this user may not make a user namespace");
	start_fixture(t, &f, "basic", USER, false, "family");
	refuse_as(t, own_copy(t), &a, &f, multi ? "CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE" : "CAP_SYS_PTRACE and CAP_SYS_ADMIN",
		  "CAP_SYS_PTRACE is missing", "a user namespace cannot give that");
}

/* The file has them, and the kernel was told not to heed that. */
TEST(caps_of_file_ignored)
{
	struct actor a = { .uid = USER, .no_new_privs = true };
	const char *bin = copy_with_caps(t, LOAD);
	struct fx f;

	if (!has_multi(t))
		skip(t, "without uprobe_multi capabilities of files are of no use");
	start_fixture(t, &f, "basic", USER, false, "family");
	refuse_as(t, bin, &a, &f, "CAP_BPF and CAP_PERFMON", "CAP_BPF and CAP_PERFMON are missing", "under no_new_privs");
}

/* A set-user-ID malloctrace would write files as root for everyone. */
TEST(caps_not_set_user_id)
{
	const char *bin = own_copy(t);
	struct actor a = { .uid = USER };
	struct spawn s = { .argv = { bin, "doctor" }, .become = become, .become_arg = &a };
	struct statvfs fs;
	struct mt m;

	if (!statvfs(bin, &fs) && fs.f_flag & ST_NOSUID)
		skip(t, "%s is mounted nosuid", t->dir);
	must(t, !chmod(bin, 04755), "chmod %s: %s", bin, strerror(errno));
	mt__start_v(t, &m, &s);
	want_refused(t, &m.c, child__wait(t, &m.c), "set-user-ID", "setcap");
}
