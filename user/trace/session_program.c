// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a session does with a program of its own (-- CMD): how it is made, what is done while it is held (spawn.h),
 * and what malloctrace ends with because of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "reader/lockdown.h"
#include "trace/session.h"
#include "util/err.h"
#include "util/invoker.h"
#include "util/log.h"
#include "util/rights.h"
#include "util/util.h"

/* ---- what CMD reads and prints */

/*
 * Owns what CMD reads from and prints to while there is a live view.
 *
 * What always holds: a terminal that shows the live view gets nothing from CMD, and no key that is
 * meant for the live view is read by it.
 */

/* Beyond those that have a meaning, should one of these be closed. */
static int out_of_the_way(int fd)
{
	int other = fd >= 0 && fd <= STDERR_FILENO ? fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : fd;

	if (other != fd) {
		int err = errno;

		close(fd);
		errno = err;
	}
	return other;
}

static int take(struct cmd_output *c, int fd, int from, int to, struct err *e)
{
	fd = out_of_the_way(fd);
	if (fd < 0)
		return err_set(e, -errno, "no descriptor for what the command prints: %s", strerror(errno));
	for (int i = from; i <= to; i++)
		c->fds[i] = fd;
	return 0;
}

/* CMD's files are opened by the rights of the user that it runs as. */
static struct invoker_rights begin_as_cmd(bool as_root)
{
	return as_root ? invoker__begin() : invoker__begin_below_sudo();
}

/* A descriptor beside the one that the file ends with, or a negative errno. */
static int open_named(struct cmd_output *c, const char *path, struct err *e)
{
	struct invoker_rights own = begin_as_cmd(c->as_root);
	int fd, err = outfile__open(&c->named, path, e);

	invoker__end(&own);
	if (err)
		return err;
	fd = fcntl(fileno(c->named.f), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	/* CMD's processes may open it again, as /dev/stderr: none of them writes over another; a descriptor that we were given stays as it is */
	if (fd < 0 || (c->named.tmp && fcntl(fd, F_SETFL, O_APPEND)))
		return err_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
	return fd;
}

/* live: there will be a live view. */
static int cmd_output__open(struct cmd_output *c, const struct opts *o, bool live, struct err *e)
{
	int fd, err = 0;

	*c = (struct cmd_output){ .as_root = o->as_root };
	if (o->cmd_output) {
		fd = open_named(c, o->cmd_output, e);
		if (fd < 0)
			return fd;
		err = take(c, fd, STDOUT_FILENO, STDERR_FILENO, e);
	}
	if (!err && live) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return err_set(e, -errno, "/dev/null: %s", strerror(errno));
		err = take(c, fd, STDIN_FILENO, STDIN_FILENO, e);
	}
	return err;
}

/* CMD's program was executed: its file replaces the one of that name, not before. It may be called again. */
static void cmd_output__begin(struct cmd_output *c)
{
	_cleanup_err_ struct err e = {};
	struct invoker_rights own;

	if (!c->named.f)
		return;
	own = begin_as_cmd(c->as_root);
	if (outfile__commit(&c->named, &e))
		say("what the command prints is lost: %s", err_msg(&e));
	invoker__end(&own);
}

/* malloctrace may have let CMD go before its exec: then what it printed says that there was one. */
static void end_named(struct cmd_output *c)
{
	struct invoker_rights own;
	struct stat st;

	if (c->named.f && !fstat(fileno(c->named.f), &st) && st.st_size)
		cmd_output__begin(c);
	if (!c->named.f)
		return;
	own = begin_as_cmd(c->as_root);
	outfile__abort(&c->named);
	invoker__end(&own);
}

void cmd_output__close(struct cmd_output *c)
{
	end_named(c);
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (c->fds[i] && (i != STDERR_FILENO || c->fds[i] != c->fds[STDOUT_FILENO]))
			close(c->fds[i]);
	*c = (struct cmd_output){};
}

/* ---- its program */

static void on_exec(pid_t pid, void *arg)
{
	struct session *s = arg;
	struct tracee *p;

	cmd_output__begin(&s->cmd_output);
	kernel__reset_started(s->kernel);
	session__read_events(s);		/* the new life, and what it maps already */
	p = tracees__find(&s->tracees, pid);
	if (p)
		p->held = true;
	/* the kernel's record may not have shown yet what is there */
	if (p)
		tracee__look_again(&s->tracees, p);
	if (p && tracee__probe_entry(&s->tracees, p, NULL))
		say_verbose("%s: no entry point to wait for", p->process.comm);
}

static void on_mapping(pid_t pid, void *arg)
{
	struct session *s = arg;
	struct tracee *p = tracees__find(&s->tracees, pid);

	if (p)
		tracee__look_again(&s->tracees, p);
}

static bool has_started(pid_t pid, void *arg)
{
	struct session *s = arg;

	return kernel__started(s->kernel);
}

static void on_started(pid_t pid, void *arg)
{
	struct session *s = arg;
	struct tracee *p = tracees__find(&s->tracees, pid);

	session__follow_uses(s);
	tracees__retry_python(&s->tracees);
	if (p)
		p->held = false;
	if (!s->attached)
		session__say_attached(s);
}

int session__start_program(struct session *s, struct err *e)
{
	const struct opts *o = s->opts;
	struct spawn_opts how = {
		.argv = o->cmd,
		.as_root = o->as_root,
		.stdout_to_stderr = s->output.to_stdout != export__find_by_name("text") || o->json,
	};
	struct spawn_calls calls = { on_exec, on_mapping, has_started, on_started, s };
	int err;

	if (!o->cmd)
		return 0;
	err = cmd_output__open(&s->cmd_output, o, live__is_coming(s), e);
	if (err)
		return err;
	memcpy(how.fds, s->cmd_output.fds, sizeof(how.fds));
	/* also with a text report on -o -, and lines of --events: what CMD prints must not be mixed with it */
	how.stdout_to_stderr |= o->events || opts__has_output(o, "-");
	err = spawn__new(&how, &calls, &s->spawn, e) ?:
	      tracees__add_own(&s->tracees, spawn__pid(s->spawn), e);
	return err;
}

void session__report_usage(struct session *s)
{
	/* the kernel's figures would be those of its children, too */
	if (kernel__n_forked(s->kernel))
		return;
	for (size_t i = 0; s->spawn && i < s->tracees.v.n; i++) {
		struct tracee *p = s->tracees.v.v[i];

		if (!p->own || !p->ended)
			continue;
		spawn__wait(s->spawn);
		p->cpu_ns = MAX(p->cpu_ns, spawn__cpu_ns(s->spawn));
		/* of the first program that it was; another one's would be the larger of both */
		if (p->lives.n > 2)
			continue;
		model__process(s->model, tracee__life(p)->proc)->most_rss_bytes = spawn__most_rss_bytes(s->spawn);
	}
}

int session__program_status(struct session *s, int err)
{
	int exec_errno = spawn__exec_errno(s->spawn);
	int status = spawn__wait(s->spawn);

	if (exec_errno)
		return exit_status__of_exec(exec_errno);
	return err ? EXIT_CMD_UNTRACED : status;
}

/* ---- what a trace has no use for */

/*
 * Owns the list of system calls that a trace has no use for. It is a list of what is refused, not of what is allowed: the next C
 * library makes calls that this one does not, and a trace of a production machine must not end on that.
 */

#define CALL(name) { .number = __NR_##name }
#define PTRACE(what) { .number = __NR_ptrace, .request = PTRACE_##what }

static const struct lockdown_refusal refused[] = {
	/* another program: readers and checks are this one again, by execveat() */
	CALL(execve),
	/* what a target has in memory and in its registers is read, never written */
	CALL(process_vm_writev), PTRACE(POKETEXT), PTRACE(POKEDATA), PTRACE(POKEUSER), PTRACE(SETREGSET), PTRACE(SETSIGINFO),
#ifdef __x86_64__
	PTRACE(SETREGS), PTRACE(SETFPREGS),
#endif
	/* the kernel's code */
	CALL(init_module), CALL(finit_module), CALL(delete_module), CALL(kexec_load), CALL(kexec_file_load), CALL(reboot),
	/* the machine: its files, its clock, its names, its log */
	CALL(mount), CALL(umount2), CALL(move_mount), CALL(open_tree), CALL(fsopen), CALL(fsconfig), CALL(fsmount), CALL(fspick), CALL(mount_setattr),
	CALL(pivot_root), CALL(chroot), CALL(swapon), CALL(swapoff), CALL(quotactl), CALL(acct),
	CALL(settimeofday), CALL(clock_settime), CALL(adjtimex), CALL(clock_adjtime),
	CALL(sethostname), CALL(setdomainname), CALL(syslog), CALL(vhangup),
	/* other namespaces, other keys, files without their names */
	CALL(setns), CALL(unshare), CALL(add_key), CALL(request_key), CALL(keyctl), CALL(open_by_handle_at),
	/* where flaws of the kernel are looked for first */
	CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register), CALL(userfaultfd), CALL(personality), CALL(fanotify_init),
#ifdef __x86_64__
	CALL(iopl), CALL(ioperm), CALL(modify_ldt),
#endif
};

int settle__process(struct err *e)
{
	int err = rights__settle(e);

	if (err)
		return err;
	err = lockdown__refuse(refused, ARRAY_SIZE(refused));
	/* a kernel without seccomp filters refuses nothing, and traces */
	return err && err != -EINVAL && err != -ENOSYS ? err_set(e, err, "system calls cannot be given up: %s", strerror(-err)) : 0;
}
