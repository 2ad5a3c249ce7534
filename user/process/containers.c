// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how containers are looked for. What always holds: directories and containers are bounded, and a container is at one
 * place, in however many hierarchies: whoever may make cgroups could call one of theirs as another's container is called,
 * which makes two containers of it, not one.
 */
#include "process/containers.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "process/mounts.h"
#include "util/parse.h"
#include "util/sorted.h"

#define DEPTH_MAX 32
#define DIRS_MAX 500000
#define FOUND_MAX 100000
#define HOMES_MAX 4096
#define NAMES_MAX 16
#define PLACES_MAX 64	/* of one id: each of them gets each of its names */
#define ID_LEN_MIN 32

static void words__done(struct container_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->v[i]);
	vec_done(w);
}

/* Owned from now on. */
static void words__take(struct container_words *w, char *s)
{
	*vec_push(w) = s;
}

static void container__done(struct container *c)
{
	free(c->id);
	free(c->pod);
	free(c->path);
	words__done(&c->names);
	words__done(&c->dirs);
}

void containers__done(struct containers *c)
{
	for (size_t i = 0; i < c->n; i++)
		container__done(&c->v[i]);
	vec_done(c);
}

/* ---- cgroups */

struct walk {
	struct containers *found;
	enum container_kind kind;
	size_t n_dirs;
};

/* "/user.slice/user-1000.slice/..." → 1000 */
static uid_t user_of(const char *path)
{
	const char *at = strstr(path, "/user-");
	char number[16];
	uint64_t uid;
	size_t len;

	if (!at)
		return 0;
	at += strlen("/user-");
	len = strcspn(at, "./");
	if (len >= sizeof(number) || strncmp(at + len, ".slice", strlen(".slice")))
		return 0;
	memcpy(number, at, len);
	number[len] = 0;
	return parse_u64(number, 0, UINT32_MAX - 1, &uid) ? 0 : (uid_t)uid;
}

static void look_at(struct walk *w, const char *dir, const char *path)
{
	_cleanup_free_ char *clean = xstrdup(path);
	struct container *c;
	struct cgroup_place p;

	clean_name(clean);
	cgroup__recognise(clean, &p);
	if (!(w->kind == CONTAINER_POD ? p.is_pod : p.is_container) || w->found->n >= FOUND_MAX) {
		cgroup_place__done(&p);
		return;
	}
	c = vec_push(w->found);
	if (w->kind == CONTAINER_POD) {
		/* one of podman's has an id as containers have */
		c->engine = strlen(p.pod) == CONTAINER_ID_LEN ? "podman" : "kubernetes";
		c->id = p.pod;
		free(p.container);
	} else {
		c->engine = p.engine;
		c->id = p.container;
		c->pod = p.pod;
	}
	free(p.unit);
	c->user = user_of(clean);
	c->path = clean;
	clean = NULL;
	words__take(&c->dirs, xstrdup(dir));
}

/* fd is given away. */
static void walk_dir(struct walk *w, int fd, const char *dir, const char *path, size_t depth)
{
	DIR *stream = fdopendir(fd);
	struct dirent *d;

	if (!stream) {
		close(fd);
		return;
	}
	while (w->n_dirs < DIRS_MAX && (d = readdir(stream))) {
		_cleanup_free_ char *its_dir = NULL, *its_path = NULL;
		int below;

		if (d->d_type != DT_DIR || !strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
			continue;
		w->n_dirs++;
		its_dir = xasprintf("%s/%s", dir, d->d_name);
		its_path = xasprintf("%s/%s", path, d->d_name);
		look_at(w, its_dir, its_path);
		below = depth >= DEPTH_MAX ? -1 : openat(dirfd(stream), d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0)
			walk_dir(w, below, its_dir, its_path, depth + 1);
	}
	closedir(stream);
}

static void walk_mounts(struct walk *w, const char *mounts)
{
	_cleanup_free_ char *text = xstrdup(mounts);
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct mount m;
		int fd;

		if (!mount__parse(line, &m))
			continue;
		fd = open(m.point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0)
			walk_dir(w, fd, m.point, strcmp(m.root, "/") ? m.root : "", 0);
	}
}

/* ---- one of several hierarchies, and of several places */

COMPARATOR(by_id_and_path, struct container, strcmp(a->id, b->id) ?: strcmp(a->path, b->path))

/* Of a pod whose cgroup runc was not told as systemd wants it, each container has one, beside each other. */
static bool are_beside(const char *a, const char *b)
{
	size_t len = (size_t)(path_basename(a) - a);

	return len == (size_t)(path_basename(b) - b) && !memcmp(a, b, len);
}

/* Those of one place become one. One that is below another is in it: systemd in a container of version 1 makes its path twice. */
static void fold(struct containers *c)
{
	size_t n = 0, n_places = 0;

	vec_sort(c, by_id_and_path);
	for (size_t i = 0; i < c->n; i++) {
		struct container *last = n ? &c->v[n - 1] : NULL, *one = &c->v[i];
		bool same = last && !strcmp(last->id, one->id);

		if (same && are_beside(last->path, one->path)) {
			for (size_t k = 0; k < one->dirs.n; k++)
				words__take(&last->dirs, one->dirs.v[k]);
			one->dirs.n = 0;
		} else if (!same || (!path__is_below(one->path, last->path) && n_places < PLACES_MAX)) {
			struct container moved = *one;

			n_places = same ? n_places + 1 : 1;
			c->v[i] = c->v[n];
			c->v[n++] = moved;
			continue;
		}
		container__done(one);
		*one = (struct container){};
	}
	c->n = n;
}

/* ---- names */

static bool has_name(const struct container *c, const char *name)
{
	for (size_t i = 0; i < c->names.n; i++)
		if (!strcmp(c->names.v[i], name))
			return true;
	return false;
}

/* A user's files say nothing of containers that are not that user's. */
static void add_name(const struct engine_named *n, void *arg)
{
	struct containers *c = arg;

	/* the first of this id: those of other places follow */
	for (size_t i = sorted__count(one, c->v, c->n, strcmp(one->id, n->id) < 0); i < c->n && !strcmp(c->v[i].id, n->id); i++) {
		struct container *to = &c->v[i];

		if (to->user != n->user || has_name(to, n->name) || to->names.n >= NAMES_MAX)
			continue;
		if (n->ns)
			words__take(&to->names, xasprintf("%s/%s", n->ns, n->name));
		words__take(&to->names, xstrdup(n->name));
	}
}

static bool has_user(const struct containers *c, uid_t user)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].user == user)
			return true;
	return false;
}

static void read_docker(const char *root, int home, uid_t user, struct containers *c)
{
	for (size_t i = 0; i < c->n; i++)
		/* becomes a part of a path: no name of another engine's */
		if (c->v[i].user == user && strlen(c->v[i].id) == CONTAINER_ID_LEN && strspn(c->v[i].id, CONTAINER_HEX) == CONTAINER_ID_LEN)
			engine_files__docker(root, home, user, c->v[i].id, add_name, c);
}

/* Engines that users have without root keep their files at home. What is on a file system that may be silent is left alone. */
static void read_homes(const char *root, struct containers *c)
{
	_cleanup_free_ char *homes = xasprintf("%s/home", root);
	_cleanup_close_ int at = path_walk__own(homes);
	int fd = at < 0 ? at : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;
	size_t n = 0;

	while (stream && n++ < HOMES_MAX && (d = readdir(stream))) {
		_cleanup_free_ char *home = xasprintf("%s/%s", homes, d->d_name);
		_cleanup_close_ int one = d->d_name[0] == '.' ? -1 : path_walk__own(home);
		struct stat st;

		if (one < 0 || fstat(one, &st) || !S_ISDIR(st.st_mode) || !st.st_uid || !has_user(c, st.st_uid))
			continue;
		engine_files__storage(root, one, st.st_uid, add_name, c);
		read_docker(root, one, st.st_uid, c);
	}
	if (stream)
		closedir(stream);
}

void containers__find(const char *mounts, const char *root, enum container_kind kind, struct containers *ret)
{
	struct walk w = { .found = ret, .kind = kind };

	walk_mounts(&w, mounts);
	fold(ret);
	if (!ret->n)
		return;
	if (kind == CONTAINER_POD) {
		engine_files__pods(root, add_name, ret);
		return;
	}
	/* what a pod calls it is shorter than what its engine does */
	engine_files__logs(root, add_name, ret);
	read_docker(root, -1, 0, ret);
	engine_files__storage(root, -1, 0, add_name, ret);
	read_homes(root, ret);
}

/* ---- which is meant */

/* An id as it is kept: uids of pods have dashes, and all have small letters. */
static char *as_id(const char *what)
{
	char *id = xstrdup(what);

	for (char *c = id; *c; c++)
		*c = *c == '_' ? '-' : *c >= 'A' && *c <= 'F' ? (char)(*c - 'A' + 'a') : *c;
	return id;
}

static bool is_id(const struct container *c, const char *what, const char *id)
{
	return !strcmp(c->id, id) || !strcmp(c->id, what);
}

static bool is_name(const struct container *c, const char *what, const char *id)
{
	(void)id;
	return has_name(c, what);
}

static bool is_prefix(const struct container *c, const char *what, const char *id)
{
	(void)what;
	/* a shorter one is a name */
	return strlen(id) >= CONTAINER_PREFIX_MIN && strlen(c->id) >= ID_LEN_MIN && strspn(c->id, CONTAINER_HEX "-") == strlen(c->id) &&
	       !strncmp(c->id, id, strlen(id));
}

void containers__pick(const struct containers *c, const char *what, struct container_picks *ret)
{
	static bool (*const ways[])(const struct container *c, const char *what, const char *id) = { is_id, is_name, is_prefix };
	_cleanup_free_ char *id = as_id(what);

	for (size_t k = 0; k < ARRAY_SIZE(ways) && !ret->n; k++)
		for (size_t i = 0; i < c->n; i++)
			if (ways[k](&c->v[i], what, id))
				*vec_push(ret) = &c->v[i];
}
