// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns where engines keep names. What always holds: a file is read only if it is a regular one, of the user whom the
 * engine belongs to, and no larger than its bound; a name that is told has no control characters, and is no longer than NAME_LEN_MAX.
 */
#include "process/containers.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "util/invoker.h"

#define NAME_LEN_MAX 255
#define NAMES_MAX 8		/* of one container */
#define ENTRIES_MAX 65536	/* of a directory, or a list */
#define CONFIG_MAX (1u << 20)
#define LIST_MAX (32u << 20)
/* letters of names in Kubernetes, which are names of DNS */
#define DNS "abcdefghijklmnopqrstuvwxyz0123456789.-"

const char *engine_files__root(void)
{
	const char *root = secure_getenv("MALLOCTRACE_ENGINES");

	return root ? root : "";
}

/* ---- directories of logs */

static bool is_dns(const char *s)
{
	return *s && strlen(s) <= NAME_LEN_MAX && !s[strspn(s, DNS)];
}

/* Three parts with '_' between them: no part has one in it. */
static bool cut(char *entry, char *part[static 3])
{
	char *first = strchr(entry, '_'), *second = first ? strchr(first + 1, '_') : NULL;

	if (!second || strchr(second + 1, '_'))
		return false;
	*first = *second = 0;
	part[0] = entry;
	part[1] = first + 1;
	part[2] = second + 1;
	return is_dns(part[0]) && is_dns(part[1]) && is_dns(part[2]);
}

bool pod_log__parse(char *entry, struct engine_named *ret)
{
	char *part[3];

	if (!cut(entry, part))
		return false;
	*ret = (struct engine_named){ .id = part[2], .name = part[1], .ns = part[0] };
	return !part[2][strspn(part[2], CONTAINER_HEX "-")];
}

bool container_log__parse(char *entry, struct engine_named *ret)
{
	size_t len = strlen(entry), end = strlen(".log");
	char *part[3], *dash;

	if (len <= end || strcmp(entry + len - end, ".log"))
		return false;
	entry[len - end] = 0;
	if (!cut(entry, part))
		return false;
	dash = strrchr(part[2], '-');
	if (!dash || dash == part[2] || strlen(dash + 1) != CONTAINER_ID_LEN || strspn(dash + 1, CONTAINER_HEX) != CONTAINER_ID_LEN)
		return false;
	*dash = 0;
	*ret = (struct engine_named){ .id = dash + 1, .name = part[2] };
	return true;
}

static void each_entry(const char *root, const char *path, bool (*parse)(char *, struct engine_named *), engine_named_fn *tell, void *arg)
{
	_cleanup_free_ char *dir = xasprintf("%s%s", root, path);
	DIR *stream = opendir(dir);
	struct dirent *d;
	size_t n = 0;

	while (stream && n++ < ENTRIES_MAX && (d = readdir(stream))) {
		struct engine_named named;

		if (parse(d->d_name, &named))
			tell(&named, arg);
	}
	if (stream)
		closedir(stream);
}

void engine_files__pods(const char *root, engine_named_fn *tell, void *arg)
{
	each_entry(root, "/var/log/pods", pod_log__parse, tell, arg);
}

void engine_files__logs(const char *root, engine_named_fn *tell, void *arg)
{
	each_entry(root, "/var/log/containers", container_log__parse, tell, arg);
}

/* ---- files of JSON */

/* What a user has mounted below a home, or a link leads to, may be a file system that never answers. */
static int find_below(int home, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };

	return (int)syscall(SYS_openat2, home, path, &how, sizeof(how));
}

/* A device or a FIFO in its place would be used, or waited for: it is looked at before it is opened. */
static char *read_owned(int home, const char *path, uid_t user, size_t max)
{
	_cleanup_close_ int named = home >= 0 ? find_below(home, path) : open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1;
	char again[64], *text;
	struct stat st;

	if (named < 0 || fstat(named, &st) || !S_ISREG(st.st_mode) || st.st_uid != user || st.st_size < 0 || (uint64_t)st.st_size > max)
		return NULL;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", named);
	/* nor is a lease on it waited for, which its owner may hold */
	fd = open(again, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 || read_fd_upto(fd, max, &text, NULL) ? NULL : text;
}

static void tell_name(const char *id, const char *name, uid_t user, engine_named_fn *tell, void *arg)
{
	_cleanup_free_ char *clean = NULL;

	if (!id || !name || !*name || strlen(name) > NAME_LEN_MAX)
		return;
	clean = xstrdup(name);
	clean_name(clean);
	tell(&(struct engine_named){ .id = id, .name = clean, .user = user }, arg);
}

/* {"ID": "...", "Name": "/web", ...} */
void docker_config__parse(const char *text, const char *id, uid_t user, engine_named_fn *tell, void *arg)
{
	json_t *root = json_loads(text, 0, NULL);
	const char *name = json_string_value(json_object_get(root, "Name"));

	tell_name(id, name && name[0] == '/' ? name + 1 : name, user, tell, arg);
	json_decref(root);
}

/* [{"id": "...", "names": ["web"], ...}, ...] */
void storage_list__parse(const char *text, uid_t user, engine_named_fn *tell, void *arg)
{
	json_t *root = json_loads(text, 0, NULL);
	size_t n = MIN(json_array_size(root), (size_t)ENTRIES_MAX);

	for (size_t i = 0; i < n; i++) {
		json_t *one = json_array_get(root, i), *names = json_object_get(one, "names");
		const char *id = json_string_value(json_object_get(one, "id"));

		for (size_t k = 0; k < MIN(json_array_size(names), (size_t)NAMES_MAX); k++)
			tell_name(id, json_string_value(json_array_get(names, k)), user, tell, arg);
	}
	json_decref(root);
}

void engine_files__docker(const char *root, int home, uid_t user, const char *id, engine_named_fn *tell, void *arg)
{
	static const char *const systems[] = { "/var/lib/docker", "/var/snap/docker/common/var-lib-docker" }, *const users[] = { ".local/share/docker" };
	const char *const *dirs = home >= 0 ? users : systems;
	size_t n = home >= 0 ? ARRAY_SIZE(users) : ARRAY_SIZE(systems);

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *text = NULL, *path =
			xasprintf("%s%s/containers/%s/config.v2.json", home >= 0 ? "" : root, dirs[i], id);

		text = read_owned(home, path, user, CONFIG_MAX);
		if (text)
			docker_config__parse(text, id, user, tell, arg);
	}
}

void engine_files__storage(const char *root, int home, uid_t user, engine_named_fn *tell, void *arg)
{
	/* by how layers are stored; those that go with their end (--rm) are in a list of their own */
	static const char *const drivers[] = { "overlay", "vfs", "btrfs", "zfs" }, *const lists[] = { "containers", "volatile-containers" };

	for (size_t i = 0; i < ARRAY_SIZE(drivers) * ARRAY_SIZE(lists); i++) {
		_cleanup_free_ char *text = NULL, *path =
			xasprintf("%s%s/containers/storage/%s-containers/%s.json", home >= 0 ? "" : root, home >= 0 ? ".local/share" : "/var/lib",
				  drivers[i / ARRAY_SIZE(lists)], lists[i % ARRAY_SIZE(lists)]);

		text = read_owned(home, path, user, LIST_MAX);
		if (text)
			storage_list__parse(text, user, tell, arg);
	}
}

/* ---- names of pods */

/*
 * Owns the names of pods that were read: thousands of processes may be in a few pods. A uid has one name for good, so what
 * is known is not read again; one that is not known is looked for once a second at most. Where there is no room for more, all are
 * forgotten and read again: pods come and go.
 */

#define KNOWN_MAX 4096
#define PAUSE_NS SECOND_NS

struct known {
	char *uid, *name;
};

static struct {
	pthread_mutex_t lock;
	struct vec(struct known) v;
	uint64_t read_ns;	/* when it was; 0: never */
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const char *find(const char *uid)
{
	for (size_t i = 0; i < known.v.n; i++)
		if (!strcmp(known.v.v[i].uid, uid))
			return known.v.v[i].name;
	return NULL;
}

static void forget_all(void)
{
	for (size_t i = 0; i < known.v.n; i++) {
		free(known.v.v[i].uid);
		free(known.v.v[i].name);
	}
	vec_done(&known.v);
}

static void add(const struct engine_named *n, void *arg)
{
	(void)arg;
	if (known.v.n < KNOWN_MAX && !find(n->id))
		*vec_push(&known.v) = (struct known){ xstrdup(n->id), xasprintf("%s/%s", n->ns, n->name) };
}

char *pod_names__get(const char *uid)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const char *name;
	char *copy;

	pthread_mutex_lock(&known.lock);
	name = find(uid);
	if (!name && (!known.read_ns || now - known.read_ns >= PAUSE_NS)) {
		/* with the user's own rights: root lets all see the names of its pods, or root alone */
		struct invoker_rights before = invoker__begin();

		if (known.v.n >= KNOWN_MAX)
			forget_all();
		engine_files__pods(engine_files__root(), add, NULL);
		invoker__end(&before);
		known.read_ns = now;
		name = find(uid);
	}
	copy = xstrdup(name ? name : uid);
	pthread_mutex_unlock(&known.lock);
	return copy;
}
