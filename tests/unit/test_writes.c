// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/attach.h"
#include "util/util.h"

static bool is_null(int fd)
{
	struct stat st, null;

	return !fstat(fd, &st) && !stat("/dev/null", &null) && st.st_rdev == null.st_rdev && S_ISCHR(st.st_mode);
}

static void await(struct writes *w)
{
	struct pollfd p = { writes__fd(w), POLLIN, 0 };

	cr_assert_eq(poll(&p, 1, 10000), 1);
}

struct made {
	char path[32];
	int fd;
	struct objects *objects;
	struct object *object;
	struct writes *writes;
};

static struct made make(void)
{
	struct made m = { .path = "/tmp/mt-writes-XXXXXX" };

	m.fd = mkstemp(m.path);
	cr_assert_geq(m.fd, 0);
	cr_assert_eq(write(m.fd, "old", 3), 3);
	m.objects = objects__new();
	cr_assert_eq(objects__get_path(m.objects, m.path, &m.object, NULL), 0);
	m.writes = writes__new();
	cr_assert_not_null(m.writes);
	return m;
}

static void done(struct made *m)
{
	writes__free(m->writes);
	object__put(m->object);
	objects__free(m->objects);
	close(m->fd);
	unlink(m->path);
}

Test(writes, takes_links_out, .timeout = 30)
{
	struct made m = make();
	int link = dup(m.fd), anchor = dup(m.fd), later = dup(m.fd);

	cr_assert_eq(writes__watch(m.writes, m.object), 0);
	cr_assert_eq(writes__watch(m.writes, m.object), 0);
	writes__add_link(m.writes, m.object, anchor, true);
	writes__add_link(m.writes, m.object, link, false);
	cr_assert_null(writes__next(m.writes));
	cr_assert_eq(write(m.fd, "new", 3), 3);
	await(m.writes);
	cr_assert(writes__next(m.writes) == m.object);
	cr_assert_null(writes__next(m.writes));
	cr_assert(is_null(link) && is_null(anchor));
	/* a link that was being made meanwhile */
	writes__add_link(m.writes, m.object, later, false);
	cr_assert(is_null(later));
	close(link);
	close(anchor);
	close(later);
	done(&m);
}

/* A file that changed between plan and probe: each step of an attachment asks. */
Test(writes, tells_a_change_once, .timeout = 30)
{
	struct made m = make();

	cr_assert_eq(write(m.fd, "longer", 6), 6);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(writes__watch(m.writes, m.object), -ESTALE);
	await(m.writes);
	cr_assert(writes__next(m.writes) == m.object);
	cr_assert_null(writes__next(m.writes));
	/* nothing is watched any more */
	cr_assert_eq(write(m.fd, "again", 5), 5);
	cr_assert_eq(poll(&(struct pollfd){ writes__fd(m.writes), POLLIN, 0 }, 1, 0), 0);
	done(&m);
}

Test(writes, without_a_watch)
{
	cr_assert_eq(writes__watch(NULL, NULL), 0);
	writes__add_link(NULL, NULL, -1, false);
	writes__drop_link(NULL, -1);
	cr_assert_eq(writes__fd(NULL), -1);
	cr_assert_null(writes__next(NULL));
	writes__free(NULL);
}
