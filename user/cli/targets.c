// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include "cli/commands.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "options/opts.h"
#include "process/containers.h"
#include "process/memory.h"
#include "process/mounts.h"
#include "process/process.h"
#include "util/invoker.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/util.h"

/* ---- containers and pods */

#define CONTAINERS_LISTED 10
#define ID_SHOWN 12	/* of a container's, as its own tools show it */

/* What differs between the two. */
static const struct kind_row {
	enum container_kind kind;
	const char *option, *one, *ways, *places;
} kinds[] = {
	{ CONTAINER_ITSELF, "--container", "container", "an id, the first 4 digits of one or more, or a name",
	  "/var/lib/docker, /var/lib/containers, /var/log/containers and /home" },
	{ CONTAINER_POD, "--pod", "pod", "a uid, the first 4 digits of one or more, NAME or NAMESPACE/NAME", "/var/log/pods" },
};

/* "  docker       4f3c2b1a0011  web" */
static void put_row(FILE *out, const struct kind_row *k, const struct container *c, bool with_path)
{
	bool is_long = k->kind == CONTAINER_ITSELF && strspn(c->id, CONTAINER_HEX) == CONTAINER_ID_LEN;
	_cleanup_free_ char *pod = c->pod ? pod_names__get(c->pod) : NULL;

	fprintf(out, "\n  %-11s %-12.*s", c->engine, is_long ? ID_SHOWN : (int)strlen(c->id), c->id);
	if (c->names.n)
		fprintf(out, "  %s", c->names.v[0]);
	if (pod)
		fprintf(out, "  in pod %s", pod);
	if (with_path)
		fprintf(out, "  %s", c->path);
}

static char *list_containers(const struct kind_row *k, const struct containers *c, const struct container_picks *picks)
{
	size_t n = picks ? picks->n : c->n, len = 0;
	char *text = NULL;
	FILE *out = text_stream__open(&text, &len);

	for (size_t i = 0; i < n && i < CONTAINERS_LISTED; i++)
		put_row(out, k, picks ? picks->v[i] : &c->v[i], picks);
	if (n > CONTAINERS_LISTED)
		fprintf(out, "\n  and %zu more", n - CONTAINERS_LISTED);
	text_stream__close(out);
	return text;
}

/*
 *	--container wbe: no such container: want an id, the first 4 digits of one or more, or a name; looked for in cgroups below
 *	/sys/fs/cgroup, names in /var/lib/docker, ...; there are 2:
 *	  docker       4f3c2b1a0011  web
 *	  kubernetes   0123456789ab  in pod shop/cart-0
 */
static int nothing(const struct kind_row *k, const struct containers *c, const char *what, struct err *e)
{
	_cleanup_free_ char *text = list_containers(k, c, NULL);
	const char *root = geteuid() ? "; root alone may read most names" : "";

	if (!c->n)
		return err_set(e, -ENOENT, "%s %s: no such %s: no cgroup below /sys/fs/cgroup is that of a %s", k->option, what, k->one, k->one);
	return err_set(e, -ENOENT, "%s %s: no such %s: want %s; looked for in cgroups below /sys/fs/cgroup, names in %s%s; there %s %zu:%s", k->option,
		       what, k->one, k->ways, k->places, root, c->n == 1 ? "is" : "are", c->n, text);
}

static void add_cgroups(struct opts *o, const struct kind_row *k, const struct container *c, const char *what)
{
	for (size_t i = 0; i < c->dirs.n; i++) {
		char *dir = xstrdup(c->dirs.v[i]);

		*vec_push(&o->found_cgroups) = dir;
		*vec_push(&o->cgroups) = dir;
	}
	say_verbose("%s %s: %s %s, cgroup %s", k->option, what, c->engine, c->id, c->path);
}

static int find_one(struct opts *o, const struct kind_row *k, const struct containers *c, const char *what, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	struct container_picks picks = {};
	int err = 0;

	containers__pick(c, what, &picks);
	if (!picks.n) {
		err = nothing(k, c, what, e);
	} else if (picks.n > 1) {
		text = list_containers(k, c, &picks);
		err = err_set(e, -EINVAL, "%s %s: %zu %ss match; give more digits of the id, or the cgroup with --cgroup:%s", k->option,
			      what, picks.n, k->one, text);
	} else {
		add_cgroups(o, k, picks.v[0], what);
	}
	vec_done(&picks);
	return err;
}

static int find_kind(struct opts *o, const struct kind_row *k, const struct strings *wanted, struct err *e)
{
	_cleanup_free_ char *mounts = NULL;
	struct containers c = {};
	struct invoker_rights before;
	int err;

	if (!wanted->n)
		return 0;
	err = mounts__own(&mounts);
	if (err)
		return err_set(e, err, "%s %s: cannot read /proc/self/mountinfo: %s", k->option, wanted->v[0], strerror(-err));
	/* what a user may not read does not show in a message */
	before = invoker__begin();
	containers__find(mounts, engine_files__root(), k->kind, &c);
	invoker__end(&before);
	for (size_t i = 0; i < wanted->n && !err; i++)
		err = find_one(o, k, &c, wanted->v[i], e);
	containers__done(&c);
	return err;
}

/*
 * The cgroups of o->containers and o->pods, into o->cgroups. -ENOENT: there is none, and the message lists what there is; -EINVAL: several
 * are meant, and it lists these.
 */
/* ---- processes by name */

struct named {
	pid_t pid;
	bool by_comm;		/* this is its own name, not only its program's */
	uint64_t age_ns, rss_bytes;	/* 0: not known */
	char comm[32];
};

struct nameds vec(struct named);

#define COMM_MAX 15	/* letters of a name that the kernel keeps */
#define COMMAND_MAX 256ull

/* A longer name cannot be told from another one by what the kernel keeps of it, where the program is known. */
static bool is_called(const char *comm, const char *exe, const char *name)
{
	bool may_be_cut = strlen(name) > COMM_MAX && strlen(comm) == COMM_MAX && !*exe;

	return !strcmp(comm, name) || (may_be_cut && !strncmp(comm, name, COMM_MAX)) || !strcmp(path_basename(exe), name);
}

struct arguments {
	unsigned long long start, end, env_start, env_end;
};

static bool find_arguments(pid_t pid, struct arguments *ret)
{
	_cleanup_free_ char *text = NULL;
	const char *at = process__file(pid, "stat", &text) ? NULL : strrchr(text, ')');

	for (int field = 2; at && field < 48 - 1; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %*u %llu %llu %llu %llu", &ret->start, &ret->end, &ret->env_start,
			    &ret->env_end) == 4 && ret->start < ret->end;
}

/*
 * Its arguments with spaces between them, or the title that it has written over them
 * (setproctitle), as far as they are in memory; else its name. A read of /proc/PID/cmdline would
 * bring in pages that are not there. A process may call all of its memory its arguments
 * (PR_SET_MM_MAP).
 */
static char *command_of(pid_t pid, const char *comm)
{
	_cleanup_memory_ struct memory m = {};
	char text[COMMAND_MAX + 1] = {};
	struct arguments a;
	size_t len, own, most;
	char last;

	if (!find_arguments(pid, &a) || memory__open(&m, pid))
		return xstrdup(comm);
	own = MIN(a.end - a.start, COMMAND_MAX);
	most = a.env_start == a.end ? MIN(MAX(a.env_end, a.end) - a.start, COMMAND_MAX) : own;
	len = memory__read(&m, a.start, text, most);
	/* as the kernel tells a title */
	if (memory__read(&m, a.end - 1, &last, 1) == 1 && last)
		len = strlen(text);
	else
		len = MIN(len, own);
	while (len && !text[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		if (!text[i])
			text[i] = ' ';
	text[len] = 0;
	clean_name(text);
	return xstrdup(*text ? text : comm);
}

/* One that this user may not inspect has its own name, but no program that can be read. */
static void add_if_called(struct nameds *v, pid_t pid, const char *name)
{
	struct process p = {};
	bool readable = !process__look(pid, &p, NULL);
	struct named *one;
	char comm[32];

	process__thread_comm(pid, pid, comm);
	if (!is_called(comm, readable ? p.exe : "", name)) {
		if (readable)
			process__done(&p);
		return;
	}
	one = vec_push(v);
	*one = (struct named){ .pid = pid, .by_comm = !strcmp(comm, name), .age_ns = p.age_ns,
			       .rss_bytes = process__rss_bytes(pid) };
	strcpy(one->comm, comm);
	if (readable)
		process__done(&p);
}

COMPARATOR(by_pid, struct named, ORDER(a->pid, b->pid))

/*
 * Those that are called so, or run a program of that name; neither this process nor threads of the kernel. In the order of
 * their numbers.
 */
static int nameds__find(const char *name, struct nameds *ret)
{
	_cleanup_pids_ struct pids all = pids__of_all();
	pid_t pid;

	while ((pid = pids__next_other(&all)))
		add_if_called(ret, pid, name);
	vec_sort(ret, by_pid);
	return all.dir ? 0 : all.err;
}

/* ---- which of them are meant */

#define LISTED 20	/* so that a name of hundreds does not flood the terminal */

/*
 *	-p nginx: 3 processes match; give a pid, or --comm 'nginx' for all of them:
 *	   1432  3d04h    9.1 MiB  nginx: master process /usr/sbin/nginx
 */
static int list(const char *name, const struct nameds *v, bool takes_comm, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	bool all_by_comm = true;
	size_t len = 0;
	FILE *out = text_stream__open(&text, &len);

	for (size_t i = 0; i < v->n && i < LISTED; i++) {
		_cleanup_free_ char *command = command_of(v->v[i].pid, v->v[i].comm);
		char age[FMT_MAX], rss[FMT_MAX];

		all_by_comm &= v->v[i].by_comm;
		fprintf(out, "\n  %7d  %6s  %9s  %.100s", (int)v->v[i].pid, v->v[i].age_ns ? fmt_duration(age, v->v[i].age_ns) : "-",
			v->v[i].rss_bytes ? fmt_bytes(rss, v->v[i].rss_bytes) : "-", command);
	}
	if (v->n > LISTED)
		fprintf(out, "\n  and %zu more", v->n - LISTED);
	text_stream__close(out);
	if (!takes_comm || !all_by_comm || strpbrk(name, "*?[\\'"))
		return err_set(e, -EINVAL, "-p %s: %zu processes match; give pids:%s", name, v->n, text);
	return err_set(e, -EINVAL, "-p %s: %zu processes match; give a pid, or --comm '%s' for all of them:%s",
		       name, v->n, name, text);
}

static int find(struct opts *o, const char *name, struct err *e)
{
	/* a look is at what is there: it waits for nobody */
	bool takes_comm = o->command != CMD_HEAP;
	struct nameds v = {};
	int err = nameds__find(name, &v);

	if (err)
		err = err_set(e, err, "-p %s: cannot search /proc: %s", name, strerror(-err));
	else if (!v.n)
		err = takes_comm ? err_set(e, -ESRCH, "no process is called '%s'; malloctrace --comm '%s' waits for one to start", name, name) :
				   err_set(e, -ESRCH, "no process is called '%s'", name);
	else if (v.n > 1)
		err = list(name, &v, takes_comm, e);
	else
		opts__add_pid(o, v.v[0].pid);
	vec_done(&v);
	return err;
}

int targets__find(struct opts *o, struct err *e)
{
	int err = 0;

	for (size_t i = 0; i < o->names.n && !err; i++)
		err = find(o, o->names.v[i], e);
	return err ?: find_kind(o, &kinds[0], &o->containers, e) ?: find_kind(o, &kinds[1], &o->pods, e);
}
