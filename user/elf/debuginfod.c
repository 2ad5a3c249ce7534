// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the client of libdebuginfod, which is loaded when it is requested: it
 * brings a whole HTTP library along, which nothing else needs. Files are kept
 * in its own cache ($DEBUGINFOD_CACHE_PATH, ~/.cache/debuginfod_client).
 *
 * What always holds: however slowly and however much a server sends, the bytes of a file and the time for all files are bounded,
 * and a signal that asks for the end ends a download, so that the report comes.
 *
 * The functions used are part of its ABI since 0.179 (2020).
 */
#include "elf/debugfile.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/invoker.h"
#include "util/signals.h"
#include "util/util.h"

#define LIBRARY "libdebuginfod.so.1"
#define PATIENCE_NS (20 * SECOND_NS)	/* before a server has to be fast */
#define LOWEST_RATE (16u << 10)		/* bytes a second, on average from the request on */
#define STALL_NS (30 * SECOND_NS)
#define WHOLE_NS (600 * SECOND_NS)	/* for all files */
#define AFTER_SIGNAL_NS (5 * SECOND_NS)	/* the same, once a signal has ended the trace */
#define BYTES_MAX (1l << 30)		/* of a file */
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
	uint64_t left_ns;	/* for all files that are to come */
	/* of the download under way */
	const char *path;
	uint64_t begin_ns, moved_ns, told_ns;
	long done;
	int why;		/* it was ended: a negative errno; 0: it was not */
};

/* libdebuginfod's callback has no argument of its own in 0.179; one download runs at a time. */
static struct debuginfod *busy;

/* Why it has to end; 0: it goes on. libdebuginfod tells how often it has waited, as long as it knows of no bytes. */
static int reason_to_end(const struct debuginfod *d, long total, uint64_t now)
{
	uint64_t took = now - d->begin_ns;

	/* one that had ended the trace before has shortened left_ns */
	if (signal_asks_for_end() || signals__end_ns() > d->begin_ns)
		return -EINTR;
	if (d->done > BYTES_MAX || total > BYTES_MAX)
		return -EFBIG;
	if (took > d->left_ns || now - d->moved_ns > STALL_NS || (took > PATIENCE_NS && (uint64_t)d->done < took / SECOND_NS * LOWEST_RATE))
		return -ETIMEDOUT;
	return 0;
}

/* Non-zero ends the download. */
static int on_progress(struct client *c, long done, long total)
{
	struct debuginfod *d = busy;
	uint64_t now = now_ns();

	if (!d)
		return 1;
	if (done > d->done) {
		d->done = done;
		d->moved_ns = now;
	}
	d->why = reason_to_end(d, total, now);
	if (d->why)
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
	d = xcalloc(1, sizeof(*d));
	if (calls)
		d->calls = *calls;
	d->left_ns = WHOLE_NS;
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
		d->client = d->begin() ?: (xmalloc__end(), NULL);
		d->set_progress(d->client, on_progress);
	}
	d->path = path;
	d->begin_ns = d->moved_ns = now_ns();
	d->told_ns = 0;
	d->done = 0;
	d->why = 0;
	if (signals__end_ns())
		d->left_ns = MIN(d->left_ns, AFTER_SIGNAL_NS);
	busy = d;
	/* a length of 0 says that the id is hex digits */
	fd = d->find(d->client, (const unsigned char *)build_id, 0, &file);
	busy = NULL;
	free(file);
	d->left_ns -= MIN(d->left_ns, now_ns() - d->begin_ns);
	if (fd < 0 && d->why)
		fd = d->why;
	d->dead = fd < 0 && fd != -ENOENT && fd != -EFBIG;
	if (d->calls.done)
		d->calls.done(path, fd < 0 ? fd : 0, d->calls.arg);
	return fd;
}
