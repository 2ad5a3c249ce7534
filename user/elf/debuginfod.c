// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the client of libdebuginfod, which is loaded when it is requested: it
 * brings a whole HTTP library along, which nothing else needs. Files are kept
 * in its own cache ($DEBUGINFOD_CACHE_PATH, ~/.cache/debuginfod_client).
 *
 * The functions used are part of its ABI since 0.179 (2020).
 */
#include "elf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "util/environment.h"
#include "util/util.h"

#define LIBRARY "libdebuginfod.so.1"
#define FIRST_BYTE_NS (20 * SECOND_NS)	/* a server that says nothing for so long is not there */
#define STALL_NS (30 * SECOND_NS)
#define WHOLE_NS (600 * SECOND_NS)		/* for one file */
#define PROGRESS_NS (200 * MS_NS)

struct client;			/* libdebuginfod's own */
typedef int progress_fn(struct client *c, long done, long total);

struct debuginfod {
	void *lib;
	struct client *(*begin)(void);
	void (*end)(struct client *c);
	int (*find)(struct client *c, const unsigned char *build_id, int len, char **path);
	void (*set_progress)(struct client *c, progress_fn *fn);
	struct client *client;
	struct debuginfod_calls calls;
	bool dead;		/* a server could not be reached: more requests would cost its timeout per file */
	/* of the download under way */
	const char *path;
	uint64_t begin_ns, moved_ns, told_ns;
	long done;
	bool timed_out;
};

/* libdebuginfod's callback has no argument of its own in 0.179; one download runs at a time. */
static struct debuginfod *busy;

static bool is_interrupted(void)
{
	sigset_t pending;

	return !sigpending(&pending) && (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM));
}

/* Non-zero ends the download. */
static int on_progress(struct client *c, long done, long total)
{
	struct debuginfod *d = busy;
	uint64_t now = now_ns();

	if (!d)
		return 1;
	if (done > d->done && total > 0) {
		d->done = done;
		d->moved_ns = now;
	}
	if (now - d->moved_ns > (d->done ? STALL_NS : FIRST_BYTE_NS) || now - d->begin_ns > WHOLE_NS) {
		d->timed_out = true;
		return 1;
	}
	if (is_interrupted())
		return 1;
	if (d->calls.progress && now - d->told_ns > PROGRESS_NS) {
		d->told_ns = now;
		d->calls.progress(d->path, d->done, total > 0 ? total : 0, d->calls.arg);
	}
	return 0;
}

int debuginfod__new(const struct debuginfod_calls *calls, struct debuginfod **ret, struct err *e)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod *d;
	int err;

	/* its library writes to the user's cache, and reads what the user names: with the rights of our file */
	if (environment__is_of_another())
		return err_set(e, -EPERM, "--debuginfod: not with capabilities that malloctrace's file has: run with sudo");
	if (!urls || !urls[strspn(urls, " \t")]) {
		err = err_set(e, -ENOENT, "--debuginfod: no server is named in DEBUGINFOD_URLS");
		err_hint(e, "sudo drops it: sudo DEBUGINFOD_URLS=https://... malloctrace --debuginfod ...");
		return err;
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		return err_set(e, -ENOMEM, "out of memory");
	if (calls)
		d->calls = *calls;
	d->lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (d->lib) {
		d->begin = dlsym(d->lib, "debuginfod_begin");
		d->end = dlsym(d->lib, "debuginfod_end");
		d->find = dlsym(d->lib, "debuginfod_find_debuginfo");
		d->set_progress = dlsym(d->lib, "debuginfod_set_progressfn");
	}
	if (!d->lib || !d->begin || !d->end || !d->find || !d->set_progress) {
		err = err_set(e, -ENOENT, "--debuginfod: " LIBRARY " cannot be loaded");
		err_hint(e,
			 "install libdebuginfod1 (Debian), elfutils-debuginfod-client (Fedora) or debuginfod (Arch)");
		debuginfod__free(d);
		return err;
	}
	*ret = d;
	return 0;
}

void debuginfod__free(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	/* the library stays loaded: libcurl does not survive being unloaded */
	free(d);
}

int debuginfod__get(struct debuginfod *d, const char *build_id, const char *path)
{
	char *file = NULL;
	int fd;

	if (d->dead)
		return -ENOENT;
	if (!d->client) {
		d->client = d->begin();
		if (!d->client)
			return -ENOMEM;
		d->set_progress(d->client, on_progress);
	}
	d->path = path;
	d->begin_ns = d->moved_ns = now_ns();
	d->told_ns = 0;
	d->done = 0;
	d->timed_out = false;
	busy = d;
	/* a length of 0 says that the id is hex digits */
	fd = d->find(d->client, (const unsigned char *)build_id, 0, &file);
	busy = NULL;
	free(file);
	if (fd < 0 && d->timed_out)
		fd = -ETIMEDOUT;
	d->dead = fd < 0 && fd != -ENOENT;
	if (d->calls.done)
		d->calls.done(path, fd < 0 ? fd : 0, d->calls.arg);
	return fd;
}
