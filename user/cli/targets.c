// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include "cli/targets.h"

#include <errno.h>
#include <string.h>

#include "cli/container_targets.h"
#include "process/named.h"
#include "util/parse.h"

#define LISTED 20	/* so that a name of hundreds does not flood the terminal */

/*
 *	nginx: 3 processes are called so; name one, or all of them with --comm 'nginx':
 *	   1432  3d04h    9.1 MiB  nginx: master process /usr/sbin/nginx
 */
static int list(const char *name, const struct nameds *v, bool takes_comm, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	bool all_by_comm = true;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t i = 0; i < v->n && i < LISTED; i++) {
		char age[FMT_MAX], rss[FMT_MAX];

		all_by_comm &= v->v[i].by_comm;
		fprintf(out, "\n  %7d  %6s  %9s  %.100s", (int)v->v[i].pid, v->v[i].age_ns ? fmt_duration(age, v->v[i].age_ns) : "-",
			v->v[i].rss_bytes ? fmt_bytes(rss, v->v[i].rss_bytes) : "-", v->v[i].command);
	}
	if (v->n > LISTED)
		fprintf(out, "\n  and %zu more", v->n - LISTED);
	if (fclose(out))
		return err_set(e, -ENOMEM, "out of memory");
	if (!takes_comm || !all_by_comm || strpbrk(name, "*?[\\'"))
		return err_set(e, -EINVAL, "-p %s: %zu processes are called so; name those that are meant by their pids:%s", name, v->n, text);
	return err_set(e, -EINVAL, "-p %s: %zu processes are called so; name one by its pid, or all of them with --comm '%s':%s",
		       name, v->n, name, text);
}

static int add(struct opts *o, pid_t pid, struct err *e)
{
	pid_t *slot;

	for (size_t i = 0; i < o->pids.n; i++)
		if (o->pids.v[i] == pid)
			return 0;
	slot = vec_push(&o->pids);
	if (!slot)
		return err_set(e, -ENOMEM, "out of memory");
	*slot = pid;
	return 0;
}

static int nobody(const char *name, bool takes_comm, struct err *e)
{
	_cleanup_free_ char *near = nameds__near(name);

	if (near)
		return err_set(e, -ESRCH, "no process is called '%s'; did you mean %s?", name, near);
	if (!takes_comm)
		return err_set(e, -ESRCH, "no process is called '%s'", name);
	return err_set(e, -ESRCH, "no process is called '%s'; malloctrace --comm '%s' waits for one to start", name, name);
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
		err = nobody(name, takes_comm, e);
	else
		err = v.n > 1 ? list(name, &v, takes_comm, e) : add(o, v.v[0].pid, e);
	nameds__done(&v);
	return err;
}

int targets__find(struct opts *o, struct err *e)
{
	int err = 0;

	for (size_t i = 0; i < o->names.n && !err; i++)
		err = find(o, o->names.v[i], e);
	return err ?: container_targets__find(o, e);
}
