// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the paths of cgroups that the user named. Nothing here reads a process:
 * what is known of it is handed in.
 */
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "process/mounts.h"
#include "tracee/selection.h"
#include "util/invoker.h"

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

static void add_cgroup(struct selection *s, const char *arg, const char *mounts)
{
	/* a name that is a link to another one, such as cpu to cpu,cpuacct */
	_cleanup_free_ char *real = arg[0] == '/' ? invoker__real_path(arg) : NULL;

	selection__parse_cgroup(real ? real : arg, mounts, vec_push(&s->cgroups));
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
	if (cgroups->n && read_small_file("/proc/self/mountinfo", &mounts, NULL))
		mounts = NULL;
	for (size_t i = 0; i < cgroups->n; i++)
		add_cgroup(s, cgroups->v[i], mounts ? mounts : "");
}

int selection__check(const struct selection *s, struct err *e)
{
	_cleanup_free_ char *mounts = NULL;

	if (s->cgroups.n && read_small_file("/proc/self/mountinfo", &mounts, NULL))
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
	bool named = !s->comms->n, member = !s->cgroups.n;

	for (size_t i = 0; i < s->comms->n && !named; i++)
		named = is_named(s->comms->v[i], comm);
	for (size_t i = 0; i < s->cgroups.n && !member; i++)
		member = cgroups && is_member(&s->cgroups.v[i], cgroups);
	return named && member;
}
