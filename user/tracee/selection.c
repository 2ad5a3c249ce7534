// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Which processes are selected, and, of those with --overhead, which are watched by turns. Owns the paths of cgroups that the user
 * named. To select, no process is read: what is known of it is handed in.
 */
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "process/mounts.h"
#include "tracee/tracee.h"
#include "tracee/tracee_parts.h"
#include "util/hash.h"
#include "util/invoker.h"
#include "util/log.h"
#include "util/parse.h"

#define COMM_MAX 15	/* letters of a name that the kernel keeps */

/* ---- cgroups */

/* As the kernel writes paths: no slash twice, none at the end, no part that is "." */
static void trim(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		size_t len = strcspn(from, "/"), slashes = strspn(from + len, "/");

		if (len == 1 && *from == '.') {
			from += len + slashes;
			continue;
		}
		memmove(to, from, len);
		to += len;
		if (slashes)
			*to++ = '/';
		from += len + slashes;
	}
	while (to > path && to[-1] == '/')
		to--;
	*to = 0;
}

/*
 * The hierarchy as /proc/PID/cgroup names it: what is left of a mount's options without those that
 * are no controllers.
 */
static char *hierarchy_of(const struct mount *m)
{
	static const char *const no_controllers[] = { "rw", "ro", "xattr", "noprefix", "clone_children", "release_agent", "relatime" };
	char *list = xcalloc(1, strlen(m->options) + 1), *options, *save = NULL;

	if (!strcmp(m->type, "cgroup2"))
		return list;
	options = xstrdup(m->options);
	for (char *o = strtok_r(options, ",", &save); o; o = strtok_r(NULL, ",", &save)) {
		bool is_controller = true;

		for (size_t i = 0; i < ARRAY_SIZE(no_controllers) && is_controller; i++)
			is_controller = strcspn(o, "=") != strlen(no_controllers[i]) ||
					strncmp(o, no_controllers[i], strlen(no_controllers[i]));
		if (is_controller) {
			if (*list)
				strcat(list, ",");
			strcat(list, o);
		}
	}
	free(options);
	return list;
}

void selection__parse_cgroup(const char *arg, const char *mounts, struct selection_cgroup *ret)
{
	_cleanup_free_ char *text = xstrdup(mounts), *path = xstrdup(arg);
	struct selection_cgroup found = {};
	size_t best = 0;
	char *save = NULL;

	trim(path);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct mount m;

		if (!mount__parse(line, &m) || !path__is_below(path, m.point) || strlen(m.point) <= best)
			continue;
		best = strlen(m.point);
		free(found.hierarchy);
		free(found.path);
		found.hierarchy = hierarchy_of(&m);
		found.path = xasprintf("%s%s", strcmp(m.root, "/") ? m.root : "", path + best);
	}
	/* as a line of /proc/PID/cgroup has it, of any hierarchy */
	if (!found.path)
		found.path = xasprintf("%s%s", *path && path[0] != '/' ? "/" : "", path);
	trim(found.path);
	*ret = found;
}

/*
 * A name that is mistyped would select no process, for ever and in silence. Where no hierarchy can
 * be seen, this is not known.
 */
static bool may_exist(const struct selection_cgroup *c, const char *mounts)
{
	_cleanup_free_ char *text = xstrdup(mounts);
	bool seen = false, found = false;
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line && !found; line = strtok_r(NULL, "\n", &save)) {
		_cleanup_free_ char *hierarchy = NULL, *dir = NULL;
		const char *below;
		struct mount m;

		if (!mount__parse(line, &m))
			continue;
		below = mount__below(&m, c->path);
		hierarchy = hierarchy_of(&m);
		if ((c->hierarchy && strcmp(c->hierarchy, hierarchy)) || !below)
			continue;
		dir = xasprintf("%s%s", m.point, below);
		seen = true;
		found = !access(dir, F_OK);
	}
	return found || !seen;
}

static bool is_member(const struct selection_cgroup *want, const char *text)
{
	for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
		size_t len, end = strcspn(line, "\n");

		if (!path || path >= line + end)
			continue;
		controllers++;
		if (want->hierarchy && (strlen(want->hierarchy) != (size_t)(path - controllers) ||
					memcmp(want->hierarchy, controllers, path - controllers)))
			continue;
		path++;
		len = strlen(want->path);
		if ((size_t)(line + end - path) >= len && !memcmp(path, want->path, len) &&
		    (path[len] == '/' || path[len] == '\n' || !path[len]))
			return true;
	}
	return false;
}

/* ---- all of it */

void selection__init(struct selection *s, bool all, bool follow, const struct strings *comms, const struct strings *cgroups)
{
	_cleanup_free_ char *mounts = NULL;

	*s = (struct selection){ .follow = follow, .comms = comms };
	s->adopt = all || comms->n || cgroups->n ? MT_ADOPT_ALL : follow ? MT_ADOPT_CHILDREN : MT_ADOPT_NONE;
	if (cgroups->n && mounts__own(&mounts))
		mounts = NULL;
	for (size_t i = 0; i < cgroups->n; i++) {
		/* a name that is a link to another one, such as cpu to cpu,cpuacct */
		_cleanup_free_ char *real = cgroups->v[i][0] == '/' ? invoker__real_path(cgroups->v[i]) : NULL;

		selection__parse_cgroup(real ? real : cgroups->v[i], mounts ? mounts : "", vec_push(&s->cgroups));
	}
}

int selection__check(const struct selection *s, struct err *e)
{
	_cleanup_free_ char *mounts = NULL;

	if (s->cgroups.n && mounts__own(&mounts))
		return 0;
	for (size_t i = 0; i < s->cgroups.n; i++)
		if (!may_exist(&s->cgroups.v[i], mounts))
			return err_set(e, -ENOENT,
				       "--cgroup %s: there is no such cgroup (see /proc/PID/cgroup)",
				       s->cgroups.v[i].path);
	return 0;
}

void selection__done(struct selection *s)
{
	for (size_t i = 0; i < s->cgroups.n; i++) {
		free(s->cgroups.v[i].hierarchy);
		free(s->cgroups.v[i].path);
	}
	vec_done(&s->cgroups);
}

bool selection__selects(const struct selection *s)
{
	return s->adopt == MT_ADOPT_ALL && (s->comms->n || s->cgroups.n);
}

/* The kernel keeps the beginning of a long name: so much of it is compared. */
static bool is_named(const char *glob, const char *comm)
{
	if (strlen(glob) > COMM_MAX && !strpbrk(glob, "*?[\\"))
		return strlen(comm) == COMM_MAX && !strncmp(glob, comm, COMM_MAX);
	return !fnmatch(glob, comm, 0);
}

bool selection__wants(const struct selection *s, const char *comm, const char *cgroups)
{
	return (!s->comms->n || vec_first(glob, s->comms, is_named(*glob, comm))) &&
	       (!s->cgroups.n || (cgroups && vec_first(c, &s->cgroups, is_member(c, cgroups))));
}

/* ---- who is watched by turns */

/*
 * Owns what is known of processes that are not watched, and decides who is. What always holds: at most MANY are
 * watched at a time, none that translates code, and malloctrace never watches itself.
 */

#define MANY 64			/* watched at a time; each has a dozen links when its turn comes */
#define A_SECOND 4		/* that begin to be watched in a second: each has to be read first */
#define AT_FIRST 4
#define SPARING 8		/* seconds, in which one begins to be watched while malloctrace itself takes more than its share */
#define LEAST 0.002		/* attention, that makes a process worth it */
#define READ_A_SECOND 512	/* processes; where there are more, each is read less often */
#define SMOOTH_NS (8.0 * SECOND_NS)	/* "lately" */
#define YOUNG_NS (2 * SECOND_NS)	/* younger ones may be gone before they are read */

struct scout_reading {		/* of a process */
	uint64_t t_ns;
	uint64_t cpu_ns, rss_bytes;
};

struct scout_pulse {		/* what is known of it */
	struct scout_reading last;
	double cpus;		/* CPU time per time, lately */
	double grows_per_s;	/* bytes, lately; never below 0 */
};

struct seen_process {
	pid_t pid, ppid;
	uint64_t start_ticks;
	struct scout_pulse pulse;
	bool selected;
	bool refused;		/* it cannot be watched, however much room there is */
	uint64_t round;		/* when it was last there */
	double attention;
};

struct scout {
	struct tracees *t;	/* not owned */
	const struct selection *selection;	/* not owned */
	struct probing probing;	/* that of processes of their own, but for what is here */
	struct hash by_pid;	/* struct seen_process, owned */
	uint64_t round, ram_bytes;
	uint64_t cpu_before_ns;	/* that the machine had used when the trace began */
	double own_share;	/* of the CPUs, that malloctrace itself may take */
	struct scout_pulse own;
	size_t n_selected, n_counted, n_ever;	/* n_counted: in the rounds under way */
	bool said_full;
	bool said_no_more;	/* since one began to be watched */
};

/* ---- plain arithmetic */

static void scout_pulse__read(struct scout_pulse *p, const struct scout_reading *r)
{
	double ns = p->last.t_ns && r->t_ns > p->last.t_ns ? r->t_ns - p->last.t_ns : 0, part = ns / (ns + SMOOTH_NS);
	double cpus, grows;

	if (ns > 0) {
		cpus = r->cpu_ns > p->last.cpu_ns ? (r->cpu_ns - p->last.cpu_ns) / ns : 0;
		grows = r->rss_bytes > p->last.rss_bytes ? (r->rss_bytes - p->last.rss_bytes) * (SECOND_NS / ns) : 0;
		p->cpus += (cpus - p->cpus) * part;
		p->grows_per_s += (grows - p->grows_per_s) * part;
	}
	p->last = *r;
}

/* How much it deserves to be looked at: 0 for one that rests, about 1 for one that grows by a MiB a second, or that has a CPU for itself. */
static double scout_pulse__attention(const struct scout_pulse *p, uint64_t ram_bytes)
{
	double grows = p->grows_per_s / (1 << 20), holds = ram_bytes ? (double)p->last.rss_bytes / ram_bytes : 0;

	return MIN(p->cpus, 1) + MIN(grows, 1) * (1 + holds) + (p->cpus > 0 || grows > 0 ? holds / 4 : 0);
}

/* ---- who is there */

static bool is_selected(const struct scout *s, const struct seen_process *p)
{
	const struct seen_process *parent = hash__get(&s->by_pid, (uint64_t)p->ppid);

	if (process__is_own(p->pid) || p->ppid == getpid())
		return false;
	/* -f: of those that were named, or of their children */
	if (s->selection->follow && (tracees__find(s->t, p->ppid) || (parent && parent->selected)))
		return true;
	return s->selection->adopt == MT_ADOPT_ALL && (!selection__selects(s->selection) || machine__wants(s->selection, p->pid));
}

static struct seen_process *seen_of(struct scout *s, pid_t pid, const struct process_pulse *now)
{
	struct seen_process *p = hash__get(&s->by_pid, (uint64_t)pid);

	/* the pid came again */
	if (p && p->start_ticks != now->start_ticks)
		*p = (struct seen_process){ .pid = pid };
	if (!p) {
		p = xcalloc(1, sizeof(*p));
		hash__put(&s->by_pid, (uint64_t)pid, p);
	}
	p->pid = pid;
	p->ppid = now->ppid;
	p->start_ticks = now->start_ticks;
	return p;
}

static void read_one(struct scout *s, pid_t pid)
{
	struct process_pulse now;
	struct seen_process *p;
	struct tracee *watched;

	if (process__pulse(pid, &now) || !now.rss_bytes)
		return;
	p = seen_of(s, pid, &now);
	p->round = s->round;
	/* the first time: over its whole life */
	if (!p->pulse.last.t_ns && now.age_ns > YOUNG_NS)
		p->pulse.cpus = (double)now.cpu_ns / now.age_ns;
	scout_pulse__read(&p->pulse, &(struct scout_reading){ now_ns(), now.cpu_ns, now.rss_bytes });
	p->attention = scout_pulse__attention(&p->pulse, s->ram_bytes);
	p->selected = now.age_ns > YOUNG_NS && is_selected(s, p);
	s->n_counted += p->selected;
	watched = tracees__find(s->t, pid);
	if (watched)
		watched->attention = p->attention;
}

static void forget_gone(struct scout *s, uint64_t rounds)
{
	for (size_t i = 0; i < s->by_pid.room; i++) {
		struct seen_process *p = s->by_pid.slots[i].value;

		if (p && p->round + rounds < s->round) {
			free(hash__remove(&s->by_pid, s->by_pid.slots[i].key));
			/* another one may have taken its place in the table */
			i--;
		}
	}
}

static void read_all(struct scout *s)
{
	_cleanup_pids_ struct pids all = pids__of_all();
	uint64_t every = s->by_pid.n / READ_A_SECOND + 1;
	size_t n = 0;
	pid_t pid;

	s->round++;
	if (s->round % every == 0) {
		s->n_selected = s->n_counted;
		s->n_counted = 0;
	}
	while ((pid = pids__next(&all)))
		if (n++ % every == s->round % every)
			read_one(s, pid);
	forget_gone(s, every * 2);
}

/* ---- who is watched */

COMPARATOR(by_attention, struct seen_process *const, ORDER((*b)->attention, (*a)->attention))

static int watch(struct scout *s, struct seen_process *p, struct err *e)
{
	struct tracee *tracee;
	bool full = false;
	int err = tracees__add(s->t, p->pid, e);

	tracee = tracees__find(s->t, p->pid);
	if (!err) {
		err = tracee__begin(s->t, tracee, true, e);
		full = err == -ENOSPC;
	}
	if (!err) {
		tracee->attention = p->attention;
		s->n_ever++;
		s->said_no_more = false;
		say_verbose("watching %s (%d): %s/s more memory, %.2f CPUs", tracee->process.comm, (int)p->pid,
			    fmt_bytes((char[FMT_MAX]){}, (uint64_t)p->pulse.grows_per_s), p->pulse.cpus);
		return 0;
	}
	p->refused = !full;
	if (full && !s->said_no_more) {
		s->said_no_more = true;
		say("no other process can be watched until one of those that are has ended: %s", err_msg(e));
	}
	say_verbose("%d is not watched: %s", (int)p->pid, err_msg(e));
	if (tracee) {
		kernel__ignore(s->t->kernel, p->pid, 0);
		tracees__drop(s->t, tracee);
	}
	return err == -ENOMEM ? err : 0;
}

static int choose(struct scout *s, size_t at_once, struct err *e)
{
	struct seen_process **v = xcalloc(s->by_pid.n + 1, sizeof(*v));
	size_t n = 0;
	int err = 0;

	for (size_t i = 0; i < s->by_pid.room; i++) {
		struct seen_process *p = s->by_pid.slots[i].value;

		if (p && p->selected && !p->refused && p->round == s->round && p->attention >= LEAST && !tracees__find(s->t, p->pid))
			v[n++] = p;
	}
	if (n > 1)
		qsort(v, n, sizeof(*v), by_attention);
	/* once there was no room, one attempt a second shows whether there is again */
	for (size_t i = 0; i < MIN(n, s->said_no_more ? 1 : at_once) && !err && s->t->n_live < MANY; i++) {
		_cleanup_err_ struct err why = {};

		err = watch(s, v[i], &why);
		if (err)
			err_set(e, err, "%s", err_msg(&why));
	}
	if (n && s->t->n_live >= MANY && !s->said_full) {
		s->said_full = true;
		say("%d processes are watched, which is as many as can be: others that grow are only watched when one of these has ended", MANY);
	}
	free(v);
	return err;
}

/* ---- as probing */

static int attach(struct tracees *t, struct err *e)
{
	struct scout *s = t->scout;
	/* of -f -p, and of -- CMD */
	int err = tracees__attach_all(t, e);

	if (err)
		return err;
	/* those that were named are watched all the same */
	for (size_t i = 0; i < t->v.n; i++)
		t->v.v[i]->attention = 1;
	s->n_ever = t->v.n;
	say_step("Reading the processes that run.");
	s->cpu_before_ns = machine__cpu_ns();
	read_all(s);
	return choose(s, AT_FIRST, e);
}

static void say_attached(const struct tracees *t)
{
	struct scouted n = scout__sums(t);

	say("attached: %zu of %zu processes are watched by turns, those that grow or run; others when they do", n.watched, n.selected);
}

/* To read a process that begins to be watched, and to give its probes back, is most of what malloctrace itself does. */
static bool is_sparing(struct scout *s)
{
	struct timespec used = {};

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	scout_pulse__read(&s->own, &(struct scout_reading){ now_ns(), (uint64_t)used.tv_sec * SECOND_NS + (uint64_t)used.tv_nsec, 0 });
	return s->own.cpus > s->own_share * get_nprocs() && s->round % SPARING;
}

static int on_second(struct tracees *t, bool watched, struct err *e)
{
	struct scout *s = t->scout;
	int err = probing_own.on_second(t, watched, e);

	if (err)
		return err;
	read_all(s);
	if (is_sparing(s))
		return 0;
	return choose(s, s->own.cpus > s->own_share * get_nprocs() ? 1 : A_SECOND, e);
}

void tracees__scout(struct tracees *t, const struct selection *selection, double own_share)
{
	struct scout *s = xcalloc(1, sizeof(*s));
	struct sysinfo mem;

	s->t = t;
	s->selection = selection;
	s->own_share = own_share;
	s->ram_bytes = sysinfo(&mem) ? 0 : (uint64_t)mem.totalram * mem.mem_unit;
	s->probing = probing_own;
	s->probing.attach = attach;
	s->probing.say_attached = say_attached;
	s->probing.on_second = on_second;
	t->scout = s;
	t->probing = &s->probing;
}

void scout__free(struct scout *s)
{
	if (!s)
		return;
	hash__free(&s->by_pid);
	free(s);
}

struct scouted scout__sums(const struct tracees *t)
{
	const struct scout *s = t->scout;

	uint64_t cpu_ns = machine__cpu_ns();

	return (struct scouted){ MAX(MAX(s->n_selected, s->n_counted), t->n_live), t->n_live, s->n_ever,
				 cpu_ns && s->cpu_before_ns ? cpu_ns - s->cpu_before_ns : 0 };
}
