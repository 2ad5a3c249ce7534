// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include "cli/container_targets.h"

#include <errno.h>
#include <string.h>

#include "process/cgroup_path.h"
#include "process/containers.h"
#include "process/engine_files.h"
#include "process/pod_names.h"
#include "util/invoker.h"
#include "util/log.h"
#include "util/util.h"

#define LISTED 10
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

static char *list(const struct kind_row *k, const struct containers *c, const struct container_picks *picks)
{
	size_t n = picks ? picks->n : c->n, len = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	for (size_t i = 0; i < n && i < LISTED; i++)
		put_row(out, k, picks ? picks->v[i] : &c->v[i], picks);
	if (n > LISTED)
		fprintf(out, "\n  and %zu more", n - LISTED);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

/*
 *	--container wbe: no such container: want an id, the first 4 digits of one or more, or a name; looked for in cgroups below
 *	/sys/fs/cgroup, names in /var/lib/docker, ...; there are 2:
 *	  docker       4f3c2b1a0011  web
 *	  kubernetes   0123456789ab  in pod shop/cart-0
 */
static int nothing(const struct kind_row *k, const struct containers *c, const char *what, struct err *e)
{
	_cleanup_free_ char *text = list(k, c, NULL);
	const char *root = geteuid() ? "; root alone may read most names" : "";

	if (!text)
		return err_set(e, -ENOMEM, "out of memory");
	if (!c->n)
		return err_set(e, -ENOENT, "%s %s: no such %s: no cgroup below /sys/fs/cgroup is called as one of a %s", k->option, what, k->one, k->one);
	return err_set(e, -ENOENT, "%s %s: no such %s: want %s; looked for in cgroups below /sys/fs/cgroup, names in %s%s; there %s %zu:%s", k->option,
		       what, k->one, k->ways, k->places, root, c->n == 1 ? "is" : "are", c->n, text);
}

static int several(const struct kind_row *k, const struct containers *c, const struct container_picks *picks, const char *what, struct err *e)
{
	_cleanup_free_ char *text = list(k, c, picks);

	if (!text)
		return err_set(e, -ENOMEM, "out of memory");
	return err_set(e, -EINVAL, "%s %s: %zu %ss are called so; name one by more digits of its id, or by its cgroup with --cgroup:%s", k->option, what,
		       picks->n, k->one, text);
}

static int add(struct opts *o, const struct kind_row *k, const struct container *c, const char *what, struct err *e)
{
	for (size_t i = 0; i < c->dirs.n; i++) {
		char *dir = strdup(c->dirs.v[i]), **owned = dir ? vec_push(&o->found_cgroups) : NULL;
		const char **slot;

		if (!owned) {
			free(dir);
			return err_set(e, -ENOMEM, "out of memory");
		}
		*owned = dir;
		slot = vec_push(&o->cgroups);
		if (!slot)
			return err_set(e, -ENOMEM, "out of memory");
		*slot = dir;
	}
	say_verbose("%s %s: %s %s, cgroup %s", k->option, what, c->engine, c->id, c->path);
	return 0;
}

static int find_one(struct opts *o, const struct kind_row *k, const struct containers *c, const char *what, struct err *e)
{
	struct container_picks picks = {};
	int err = containers__pick(c, what, &picks);

	if (err)
		err_set(e, err, "out of memory");
	else if (!picks.n)
		err = nothing(k, c, what, e);
	else
		err = picks.n > 1 ? several(k, c, &picks, what, e) : add(o, k, picks.v[0], what, e);
	vec_done(&picks);
	return err;
}

static int find(struct opts *o, const struct kind_row *k, const struct opt_strings *wanted, struct err *e)
{
	_cleanup_free_ char *mounts = NULL;
	struct containers c = {};
	struct invoker_rights before;
	int err;

	if (!wanted->n)
		return 0;
	err = read_small_file("/proc/self/mountinfo", &mounts, NULL);
	if (err)
		return err_set(e, err, "%s %s: cannot read /proc/self/mountinfo: %s", k->option, wanted->v[0], strerror(-err));
	/* what a user may not read does not show in a message */
	before = invoker__begin();
	err = containers__find(mounts, engine_files__root(), k->kind, &c);
	invoker__end(&before);
	if (err)
		err_set(e, err, "out of memory");
	for (size_t i = 0; i < wanted->n && !err; i++)
		err = find_one(o, k, &c, wanted->v[i], e);
	containers__done(&c);
	return err;
}

int container_targets__find(struct opts *o, struct err *e)
{
	return find(o, &kinds[0], &o->containers, e) ?: find(o, &kinds[1], &o->pods, e);
}
