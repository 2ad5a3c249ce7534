// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of how container engines call their cgroups. To know another
 * engine is to add a row. Nothing here reads a file: a path is all there is.
 */
#include "process/containers.h"

#include <string.h>

#define UUID_LEN 36
#define CONFIG_HASH_LEN 32	/* what the kubelet calls a pod that it was given in a file */

struct part {
	const char *s;
	size_t len;
};

/* What stands where the container's name is. */
enum called {
	BY_ID,		/* 64 digits */
	BY_NAME,	/* anything */
	BY_ESCAPED,	/* a name as systemd writes it in units */
};

enum above { ABOVE_ANY, ABOVE_IS, ABOVE_FIRST, ABOVE_POD };

enum row_kind { CONTAINER, POD, NEITHER };

struct engine_row {
	const char *prefix, *suffix;
	enum called called;
	const char *engine;
	enum row_kind kind;	/* NEITHER: a process of the engine's own, or of another kind of machine */
	enum above place;	/* of the part above: any; `above`; that, as the path's first; a pod */
	const char *above;
};

#define ROW(before, behind, how, name, ...) { .prefix = before, .suffix = behind, .called = how, .engine = name, __VA_ARGS__ }

/* The first that fits counts. */
static const struct engine_row engine_rows[] = {
	/* who waits for the container's end, and passes its output on */
	ROW("libpod-conmon-", ".scope", BY_ID, NULL, .kind = NEITHER),
	ROW("crio-conmon-", ".scope", BY_ID, NULL, .kind = NEITHER),
	ROW("libpod-conmon-", "", BY_ID, NULL, .kind = NEITHER),
	ROW("crio-conmon-", "", BY_ID, NULL, .kind = NEITHER),
	/* names by systemd, which some have without systemd, too */
	ROW("docker-", ".scope", BY_ID, "docker"),
	ROW("cri-containerd-", ".scope", BY_ID, "containerd"),
	ROW("nerdctl-", ".scope", BY_ID, "containerd"),
	ROW("crio-", ".scope", BY_ID, "cri-o"),
	ROW("crio-", "", BY_ID, "cri-o"),
	ROW("libpod-", ".scope", BY_ID, "podman"),
	ROW("libpod-", "", BY_ID, "podman"),
	ROW("libpod-payload-", "", BY_ID, "podman"),
	ROW("machine-libpod_pod_", ".slice", BY_ID, "podman", .kind = POD),
	ROW("user-libpod_pod_", ".slice", BY_ID, "podman", .kind = POD),
	/* runc was given SLICE:PREFIX:ID for systemd, and made a path of it */
	ROW("docker:", "", BY_ID, "docker"),
	ROW("cri-containerd:", "", BY_ID, "containerd"),
	ROW("crio:", "", BY_ID, "cri-o"),
	ROW("libpod:", "", BY_ID, "podman"),
	/* an engine's own directories */
	ROW("", "", BY_ID, "docker", .place = ABOVE_IS, .above = "docker"),
	ROW("", "", BY_ID, "podman", .kind = POD, .place = ABOVE_IS, .above = "libpod_parent"),
	ROW("", "", BY_ID, "containerd", .place = ABOVE_IS, .above = "k8s.io"),
	ROW("", "", BY_ID, "kubernetes", .place = ABOVE_POD),
	/* containerd's namespace of who names none: there ctr calls them as its user says */
	ROW("", "", BY_NAME, "containerd", .place = ABOVE_FIRST, .above = "default"),
	ROW("lxc.payload.", "", BY_NAME, "lxc"),
	ROW("", "", BY_NAME, "lxc", .place = ABOVE_IS, .above = "lxc.payload"),
	ROW("", "", BY_NAME, "lxc", .place = ABOVE_IS, .above = "lxc"),
	ROW("systemd-nspawn@", ".service", BY_ESCAPED, "nspawn"),
	/* virtual machines of libvirt */
	ROW("machine-qemu\\x2d", ".scope", BY_ESCAPED, NULL, .kind = NEITHER),
	ROW("machine-", ".scope", BY_ESCAPED, "machined"),
	/* anybody's */
	ROW("", "", BY_ID, "unknown"),
	ROW("", ".scope", BY_ID, "unknown"),
};

static bool is_digits(const char *s, size_t len)
{
	return strspn(s, CONTAINER_HEX) == len;
}

static bool begins_with(struct part p, const char *s)
{
	size_t len = strlen(s);

	return p.len >= len && !memcmp(p.s, s, len);
}

static bool ends_with(struct part p, const char *s)
{
	size_t len = strlen(s);

	return p.len >= len && !memcmp(p.s + p.len - len, s, len);
}

static bool is(struct part p, const char *s)
{
	return p.len == strlen(s) && begins_with(p, s);
}

/* ---- pods of Kubernetes */

/*
 * kubepods-burstable-pod<uid>.slice with '_' for '-', pod<uid>, kubepods-pod<uid>.slice:cri-containerd:<id>; NULL: none.
 * Its letters are those of the path.
 */
static const char *find_uid(struct part p, size_t *ret_len)
{
	for (size_t at = 0; at + 3 + CONFIG_HASH_LEN <= p.len; at++) {
		const char *uid = p.s + at + 3, *end;
		size_t len, room = p.len - at - 3;

		if ((at && p.s[at - 1] != '-') || memcmp(p.s + at, "pod", 3))
			continue;
		len = strspn(uid, CONTAINER_HEX "-_");
		end = uid + len;
		if (len > room || (len != UUID_LEN && !(len == CONFIG_HASH_LEN && is_digits(uid, len))))
			continue;
		room -= len;
		if (!room || (room >= 6 && !memcmp(end, ".slice", 6) && (room == 6 || end[6] == ':'))) {
			*ret_len = len;
			return uid;
		}
	}
	return NULL;
}

/* A uuid has its dashes in certain places. */
static bool is_uuid(const char *s)
{
	static const unsigned char digits[] = { 8, 4, 4, 4, 12 };

	for (size_t i = 0; i < ARRAY_SIZE(digits); i++) {
		if (!is_digits(s, digits[i]))
			return false;
		s += digits[i] + (i + 1 < ARRAY_SIZE(digits));
	}
	return true;
}

static char *pod_of(struct part p)
{
	size_t len;
	const char *uid = find_uid(p, &len);
	char *copy = uid && (len == CONFIG_HASH_LEN || is_uuid(uid)) ? xstrndup(uid, len) : NULL;

	for (char *c = copy; c && *c; c++)
		if (*c == '_')
			*c = '-';
	return copy;
}

/* ---- names */

static int digit(char c)
{
	const char *at = c ? strchr(CONTAINER_HEX, c) : NULL;

	return at ? (int)(at - CONTAINER_HEX) : -1;
}

/* "web\x2d1" → "web-1"; no name ends in its midst or becomes a path, which systemd lets nobody have */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		bool escaped = s[0] == '\\' && s[1] == 'x' && digit(s[2]) >= 0 && digit(s[3]) >= 0;
		char c = escaped ? (char)(digit(s[2]) << 4 | digit(s[3])) : *s;

		if (escaped && (!c || c == '/')) {
			escaped = false;
			c = *s;
		}
		*to++ = c;
		s += escaped ? 4 : 1;
	}
	*to = 0;
}

static bool has_place(const struct engine_row *r, struct part above, bool above_is_first, bool above_is_pod)
{
	switch (r->place) {
	case ABOVE_IS:
		return is(above, r->above);
	case ABOVE_FIRST:
		return above_is_first && is(above, r->above);
	case ABOVE_POD:
		return above_is_pod;
	default:
		return true;
	}
}

/* The part between the row's prefix and suffix, if it is what the row wants. */
static bool fits(const struct engine_row *r, struct part p, struct part *ret)
{
	struct part name;

	if (!begins_with(p, r->prefix) || !ends_with(p, r->suffix) || p.len <= strlen(r->prefix) + strlen(r->suffix))
		return false;
	name = (struct part){ p.s + strlen(r->prefix), p.len - strlen(r->prefix) - strlen(r->suffix) };
	if (r->called == BY_ID && (name.len != CONTAINER_ID_LEN || !is_digits(name.s, CONTAINER_ID_LEN)))
		return false;
	*ret = name;
	return true;
}

/* Where a name may begin: at the part's beginning, behind a colon, and, of those that nobody knows, behind a dash. */
static const struct engine_row *row_for(struct part p, struct part above, bool above_is_first, bool above_is_pod, struct part *ret)
{
	const char *colon = memrchr(p.s, ':', p.len), *slice = colon ? memrchr(p.s, ':', (size_t)(colon - p.s)) : NULL;
	struct part behind = slice ? (struct part){ slice + 1, p.len - (size_t)(slice + 1 - p.s) } : p;
	/* what an id with ".scope" or without it would be */
	size_t end = p.len - (ends_with(p, ".scope") ? strlen(".scope") : 0);
	struct part tail = p;

	if (end > CONTAINER_ID_LEN && strchr("-:", p.s[end - CONTAINER_ID_LEN - 1]))
		tail = (struct part){ p.s + end - CONTAINER_ID_LEN, p.len - (end - CONTAINER_ID_LEN) };
	for (size_t i = 0; i < ARRAY_SIZE(engine_rows); i++) {
		const struct engine_row *r = &engine_rows[i];
		bool anywhere = r->place == ABOVE_ANY && !*r->prefix;

		if (has_place(r, above, above_is_first, above_is_pod) && fits(r, anywhere ? tail : behind, ret))
			return r;
	}
	return NULL;
}

/* ---- paths */

static void take(char **to, char *s)
{
	if (!s)
		return;
	free(*to);
	*to = s;
}

static void take_container(struct cgroup_place *to, const struct engine_row *r, struct part name)
{
	char *copy = xstrndup(name.s, name.len);

	if (r->called == BY_ESCAPED)
		unescape(copy);
	clean_name(copy);
	to->engine = r->engine;
	take(&to->container, copy);
}

void cgroup__recognise(const char *path, struct cgroup_place *ret)
{
	struct part above = { path, 0 };
	bool above_is_pod = false;
	size_t depth = 0;

	*ret = (struct cgroup_place){};
	for (const char *s = path; *s;) {
		struct part p = { s, strcspn(s, "/") }, name;
		const struct engine_row *r;
		char *pod;

		s += p.len + strspn(s + p.len, "/");
		if (!p.len)
			continue;
		pod = pod_of(p);
		r = row_for(p, above, depth == 1, above_is_pod, &name);
		ret->is_container = r && r->kind == CONTAINER;
		if (ret->is_container)
			take_container(ret, r, name);
		else if (r && r->kind == POD)
			take(&pod, xstrndup(name.s, name.len));
		ret->is_pod = pod;
		take(&ret->pod, pod);
		if (p.len > strlen(".service") && ends_with(p, ".service"))
			take(&ret->unit, xstrndup(p.s, p.len));
		above = p;
		above_is_pod = ret->is_pod;
		depth++;
	}
}

void cgroup_place__done(struct cgroup_place *p)
{
	free(p->container);
	free(p->pod);
	free(p->unit);
	*p = (struct cgroup_place){};
}

void cgroup__from_above(char *path)
{
	size_t up = 0;

	while (!strncmp(path + up, "/..", 3) && (path[up + 3] == '/' || !path[up + 3]))
		up += 3;
	if (up)
		memmove(path, path[up] ? path + up : "/", strlen(path[up] ? path + up : "/") + 1);
}
