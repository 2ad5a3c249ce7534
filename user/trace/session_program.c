// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a session does with a program of its own (-- CMD): how it is made, what is done while it is held (spawn.h),
 * and what malloctrace ends with because of it.
 */
#include "model/runtimes.h"
#include "trace/session_parts.h"
#include "util/exit_status.h"
#include "util/log.h"

static void on_exec(pid_t pid, void *arg)
{
	struct session *s = arg;
	struct tracee *p;

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
	if (tracees__retry_python(&s->tracees, &s->failure))
		session__fail(s);
	if (p)
		p->held = false;
	if (!s->attached)
		session__say_attached(s);
}

/* Whether a command line says that its Python takes no notice of the environment. */
static bool is_isolated_python(char *const *cmd)
{
	const struct runtime *r = runtime__of_file(path_basename(cmd[0]));

	for (size_t i = 1; r == runtime__find("python") && cmd[i] && cmd[i][0] == '-' && cmd[i][1] && strcmp(cmd[i], "--"); i++) {
		const char *letter = cmd[i] + 1;

		/* the argument of the former ones comes next, or behind them; the latter end Python's own options */
		for (; *letter && !strchr("WXcm-", *letter); letter++)
			if (strchr("IE", *letter))
				return true;
		if (*letter && strchr("cm", *letter))
			return false;
		if (*letter && strchr("WX", *letter) && !letter[1] && !cmd[++i])
			return false;
	}
	return false;
}

int session__start_program(struct session *s, struct err *e)
{
	const struct opts *o = s->opts;
	struct spawn_opts how = {
		.argv = o->cmd,
		.as_root = o->as_root,
		.python_objects = o->python_objects,
		.stdout_to_stderr = s->output.to_stdout != export__find_by_name("text") || o->json,
	};
	struct spawn_calls calls = { on_exec, on_mapping, has_started, on_started, s };
	int err;

	if (!o->cmd)
		return 0;
	if (o->python_objects && is_isolated_python(o->cmd))
		say("--python-objects: Python takes no notice of PYTHONMALLOC with -I or -E: small objects share its arenas");
	err = cmd_output__open(&s->cmd_output, o, live__is_coming(s), e);
	if (err)
		return err;
	memcpy(how.fds, s->cmd_output.fds, sizeof(how.fds));
	/* also with a text report on -o -, and lines of --events: what CMD prints must not be mixed with it */
	how.stdout_to_stderr |= o->events;
	for (size_t i = 0; i < o->outputs.n; i++)
		how.stdout_to_stderr |= !strcmp(o->outputs.v[i], "-");
	err = spawn__new(&how, &calls, &s->spawn, e);
	if (!err)
		err = tracees__add_own(&s->tracees, spawn__pid(s->spawn), e);
	return err;
}

void session__report_most_rss(struct session *s)
{
	for (size_t i = 0; s->spawn && i < s->tracees.v.n; i++) {
		struct tracee *p = s->tracees.v.v[i];

		/* of the first program that it was; another one's would be the larger of both */
		if (!p->own || !p->ended || p->lives.n > 2)
			continue;
		spawn__wait(s->spawn);
		model__set_most_rss(s->model, tracee__life(p)->proc, spawn__most_rss_bytes(s->spawn));
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
