// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the choice of separate debug files and dwz supplements, and the paths where they may be.
 *
 * What an object names (links, build ids) is as hostile as itself. So libdw never searches by itself: a supplement is found here, or
 * the DWARF that needs it is not used. A path begins with the folder of debug files or with that of the object, and leads to no other
 * folder by ".."; what an object or its reader says is at most the last part of it. No process has mapped these files, so
 * malloctrace's capabilities do not open them, and root hands on those alone that whoever may read the object may read.
 */
#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include "elf/debugfile.h"
#include "elf/object.h"
#include "process/mounts.h"
#include "reader/reader.h"
#include "util/invoker.h"
#include "util/signals.h"
#include "util/util.h"

#define DEBUG_DIR "/usr/lib/debug"
#define LINK_PLACES 3

#define CRC_MAX (1ull << 30)	/* bytes of a file: with a build id, which all have, nothing is summed */

/* ---- of malloctrace */

static char *build_id_path(const char *debug_dir, const char *hex)
{
	if (strlen(hex) < 4 || strlen(hex) > 128 || strspn(hex, "0123456789abcdef") != strlen(hex))
		return NULL;
	return xasprintf("%s/.build-id/%.2s/%s.debug", debug_dir, hex, hex + 2);
}

/* Beside the object, in .debug/ beside it, and in the folder of debug files. */
static char *link_path(const char *debug_dir, const struct object *obj, const char *link, unsigned int nth)
{
	const char *slash = obj->path && obj->path[0] == '/' ? strrchr(obj->path, '/') : NULL;

	if (!*link || strlen(link) > NAME_MAX || strchr(link, '/') || !slash || nth >= LINK_PLACES)
		return NULL;
	return xasprintf("%s%.*s/%s%s", nth == 2 ? debug_dir : "", (int)MIN(slash - obj->path, (ptrdiff_t)PATH_MAX), obj->path,
			 nth == 1 ? ".debug/" : "", link);
}

static char *dwz_path(const char *debug_dir, const char *name)
{
	const char *in_dwz = strstr(name, "/.dwz/");

	if (!in_dwz || strstr(in_dwz, "/../") || strlen(in_dwz) > PATH_MAX)
		return NULL;
	return xasprintf("%s%s", debug_dir, in_dwz);
}

/* With the rights of the user: somebody else chose the name. */
static int open_named(const char *path, bool beside)
{
	struct invoker_rights own = invoker__begin();
	/* what lies beside a file of a target's may be another user's to serve, or a link to that */
	_cleanup_close_ int found = beside ? path_walk__own(path) : elffile__find(path);
	int fd = found < 0 ? found : elffile__open_found(found);

	invoker__end(&own);
	return fd;
}

static int find(const struct debug_wish *w, const struct object *obj, const char *debug_dir, struct debuginfod *d)
{
	bool beside = w->kind == WISH_LINK && w->nth < 2;
	_cleanup_free_ char *path = NULL;

	debug_dir = debug_dir ?: DEBUG_DIR;
	switch (w->kind) {
	case WISH_BUILD_ID:
		path = build_id_path(debug_dir, w->text);
		break;
	case WISH_LINK:
		/* a process may have mounted the file where anybody puts debug files beside it */
		if (!beside || object__is_here(obj))
			path = link_path(debug_dir, obj, w->text, w->nth);
		break;
	case WISH_DWZ:
		path = dwz_path(debug_dir, w->text);
		break;
	case WISH_DOWNLOAD:
		return d && obj->build_id ? debuginfod__get(d, obj->build_id, obj->path) : -ENOENT;
	}
	return path ? open_named(path, beside) : -ENOENT;
}

/* May whoever may read the object read this file? */
static bool is_as_open(int fd, const struct object *obj)
{
	struct stat its, mapped;

	if (fstat(fd, &its))
		return false;
	return its.st_mode & S_IROTH || (!object__stat(obj, &mapped) && its.st_uid == mapped.st_uid && its.st_gid == mapped.st_gid &&
					 !(mapped.st_mode & ~its.st_mode & 0444));
}

static const struct wire_field wish_fields[] = {
	WIRE_UPTO(struct debug_wish, kind, WISH_DOWNLOAD),
	WIRE_UPTO(struct debug_wish, nth, LINK_PLACES),
	WIRE_NAME(struct debug_wish, text, PATH_MAX),
};

static const struct wire_type wish_type = WIRE_TYPE(struct debug_wish, wish_fields);

int debugfile__grant(struct wire_in *wish, const struct object *obj, const char *debug_dir, struct debuginfod *d)
{
	struct debug_wish w;
	char magic[SELFMAG];
	int fd, err;

	fd = !wire_in__get(wish, &wish_type, &w) || !wire_in__is_over(wish) || !w.text ? -EINVAL : find(&w, obj, debug_dir, d);
	/* a reader that somebody has taken over reads no other files by this */
	err = fd < 0 ? fd : elffile__read_at(fd, 0, magic, sizeof(magic));
	if (fd >= 0 && (err || memcmp(magic, ELFMAG, SELFMAG) || (w.kind != WISH_DOWNLOAD && !is_as_open(fd, obj)))) {
		close(fd);
		return err_is_want(err) ? err : -ENOENT;
	}
	return fd;
}

/* ---- of whoever reads the object */

static bool has_build_id(Elf *elf, const char *hex)
{
	const void *id;
	ssize_t len = dwelf_elf_gnu_build_id(elf, &id);
	_cleanup_free_ char *have = len > 0 && len <= OBJECT_MAX_BUILD_ID_BYTES ? build_id__hex(id, (size_t)len) : NULL;

	return have && !strcmp(have, hex);
}

static int crc_of(int fd, uint32_t *ret)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	unsigned char buf[64 * 1024];
	uLong crc = crc32(0, NULL, 0);
	struct stat st;
	off_t off = 0;
	ssize_t got;

	if (fstat(fd, &st))
		return -errno;
	if ((uint64_t)st.st_size > CRC_MAX)
		return -EFBIG;
	while ((got = pread(fd, buf, sizeof(buf), off)) > 0) {
		crc = crc32(crc, buf, got);
		off += got;
		if (stint__is_over())
			return -ETIME;
	}
	if (got < 0)
		return -errno;
	*ret = crc;
	return 0;
}

/* The debug file wanted: of this build id (if not NULL) and this CRC (if not NULL). Takes fd. */
static int take_fd(struct elffile *f, int fd, const char *build_id, const GElf_Word *crc)
{
	struct elffile got;
	uint32_t have = 0;
	int err;

	err = elffile__open_fd(&got, fd);
	if (err) {
		close(fd);
		return err;
	}
	got.own_fd = true;
	if ((build_id && !has_build_id(got.elf, build_id)) || (crc && (crc_of(fd, &have) || have != *crc))) {
		elffile__close(&got);
		return -ENOENT;
	}
	*f = got;
	return 0;
}

/* The same of a file that is yet to be found. */
static int try(struct elffile *f, const struct debug_wish *w, const struct object *obj, const char *debug_dir, struct debuginfod *d,
	       const char *build_id, const GElf_Word *crc)
{
	wire_cleanup struct wire wish = {};
	int fd;

	if (reader_child__is()) {
		wire__put(&wish, &wish_type, w);
		fd = reader_child__wish(&wish);
	} else {
		fd = find(w, obj, debug_dir, d);
	}
	return fd < 0 ? fd : take_fd(f, fd, build_id, crc);
}

int debugfile__open(struct elffile *f, const struct object *obj, Elf *main, const char *debug_dir)
{
	const char *link;
	GElf_Word crc;

	if (obj->build_id && !try(f, &(struct debug_wish){ WISH_BUILD_ID, 0, obj->build_id }, obj, debug_dir, NULL, obj->build_id, NULL))
		return 0;
	link = dwelf_elf_gnu_debuglink(main, &crc);
	for (unsigned int i = 0; link && i < LINK_PLACES; i++)
		if (!try(f, &(struct debug_wish){ WISH_LINK, i, link }, obj, debug_dir, NULL, obj->build_id, &crc))
			return 0;
	return -ENOENT;
}

int debugfile__download(struct elffile *f, const struct object *obj, struct debuginfod *d)
{
	return obj->build_id ? try(f, &(struct debug_wish){ WISH_DOWNLOAD, 0, "" }, obj, NULL, d, obj->build_id, NULL) : -ENOENT;
}

/*
 * dwz moves what several files share into one: <debug_dir>/.dwz/..., named and with its build id in
 * .gnu_debugaltlink.
 */
static int open_alt(struct elffile *f, const struct object *obj, const char *debug_dir)
{
	const void *id = NULL;
	const char *name = NULL;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(f->dwarf, &name, &id);
	_cleanup_free_ char *hex = len >= 2 && len <= OBJECT_MAX_BUILD_ID_BYTES ? build_id__hex(id, (size_t)len) : NULL;
	struct elffile alt;

	if (len == 0)
		return 0;
	if (!hex)
		return -ENOENT;
	if (try(&alt, &(struct debug_wish){ WISH_BUILD_ID, 0, hex }, obj, debug_dir, NULL, hex, NULL) &&
	    try(&alt, &(struct debug_wish){ WISH_DWZ, 0, name }, obj, debug_dir, NULL, hex, NULL))
		return -ENOENT;
	/* A supplement has none of its own. Were it to name one, libdw would go and look for it. */
	alt.dwarf = elffile__begin_dwarf(&alt);
	if (!alt.dwarf || dwelf_dwarf_gnu_debugaltlink(alt.dwarf, &name, &id) != 0) {
		elffile__close(&alt);
		return -ENOENT;
	}
	f->alt = xmalloc(sizeof(alt));
	*f->alt = alt;
	dwarf_setalt(f->dwarf, alt.dwarf);
	return 0;
}

int debugfile__open_dwarf(struct elffile *f, const struct object *obj, const char *debug_dir)
{
	int err;

	f->dwarf = elffile__begin_dwarf(f);
	if (!f->dwarf)
		return -ENOENT;
	err = open_alt(f, obj, debug_dir);
	if (err) {
		dwarf_end(f->dwarf);
		f->dwarf = NULL;
	}
	return err;
}

struct elffile *debugfile__with_dwarf(struct elffile *file, struct elffile *debug, const struct object *obj, const char *debug_dir)
{
	if (elffile__open_fd(file, obj->fd))
		return NULL;
	if (!debugfile__open_dwarf(file, obj, debug_dir))
		return file;
	if (!debugfile__open(debug, obj, file->elf, debug_dir) && !debugfile__open_dwarf(debug, obj, debug_dir))
		return debug;
	return NULL;
}

/* ---- .gnu_debugdata */

/*
 * libelf and libdw read it only within libdwfl, which would look for files by itself, so liblzma is called here. A few kilobytes
 * of xz can hold gigabytes: what goes in, what comes out and what the decoder may hold are bounded, and with them the time.
 */
#define PACKED_MAX (32u << 20)
#define IMAGE_MAX (64u << 20)
#define DECODER_MAX (128ull << 20)	/* a dictionary of xz -9 takes 65 MiB */

static const Elf_Data *find_section(Elf *elf)
{
	struct elf_section s = {};

	while (elffile__next_section(elf, &s))
		if (!strcmp(s.name, ".gnu_debugdata") && s.shdr.sh_type == SHT_PROGBITS &&
		    !(s.shdr.sh_flags & SHF_COMPRESSED))
			return s.shdr.sh_size <= PACKED_MAX ? elf_section__bytes(&s) : NULL;
	return NULL;
}

int minidebug__open(struct elffile *f, Elf *file)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	const Elf_Data *packed = find_section(file);
	lzma_stream xz = LZMA_STREAM_INIT;
	unsigned char *image;
	lzma_ret r;

	if (!packed)
		return -ENOENT;
	r = lzma_stream_decoder(&xz, DECODER_MAX, 0);
	/* of which pages that nothing is written to take no memory */
	image = xmalloc(IMAGE_MAX);
	xz.next_in = packed->d_buf;
	xz.avail_in = packed->d_size;
	xz.next_out = image;
	xz.avail_out = IMAGE_MAX;
	while (r == LZMA_OK && !stint__is_over())
		r = lzma_code(&xz, LZMA_FINISH);
	lzma_end(&xz);
	if (r != LZMA_STREAM_END) {
		free(image);
		return xz.avail_out ? -EBADMSG : -EFBIG;
	}
	return elffile__take_image(f, xrealloc(image, IMAGE_MAX - xz.avail_out), IMAGE_MAX - xz.avail_out);
}

/*
 * ---- servers
 *
 * libdebuginfod is loaded when it is requested: it brings a whole HTTP library along, which nothing
 * else needs. Files are kept in its own cache ($DEBUGINFOD_CACHE_PATH, ~/.cache/debuginfod_client).
 * However slowly and however much a server sends, the bytes of a file and the time for all files
 * are bounded, and a signal that asks for the end ends a download, so that the report comes. The
 * library reports the bytes that arrive, not those that it unpacks (Content-Encoding: gzip): so the
 * kernel bounds what it writes. Other threads are under that limit as well, for that time: none of
 * them writes a file that may be so large (output.c has names looked up by nobody else meanwhile).
 *
 * The functions used are part of its ABI since 0.179 (2020).
 */

#define LIBRARY "libdebuginfod.so.1"
#define PATIENCE_NS (20 * SECOND_NS)	/* before a server has to be fast */
#define LOWEST_RATE (16u << 10)		/* bytes a second, on average from the request on */
#define STALL_NS (30 * SECOND_NS)
#define WHOLE_NS (600 * SECOND_NS)	/* for all files */
#define AFTER_SIGNAL_NS (5 * SECOND_NS)	/* the same, once a signal has ended the trace */
#define BYTES_MAX (1l << 30)		/* of a file, unless debuginfod_calls says otherwise */
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
	if (d->done > d->calls.most_bytes || total > d->calls.most_bytes)
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
	d->calls.most_bytes = d->calls.most_bytes ?: BYTES_MAX;
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

/* As the library's function. SIGXFSZ is ignored (signals__begin()): a write beyond the limit fails. */
static int find_bounded(struct debuginfod *d, const char *build_id, char **path)
{
	struct rlimit was, bound;
	int fd;

	if (getrlimit(RLIMIT_FSIZE, &was))
		return -errno;
	bound = was;
	bound.rlim_cur = MIN(was.rlim_cur, (rlim_t)d->calls.most_bytes);
	if (setrlimit(RLIMIT_FSIZE, &bound))
		return -errno;
	/* a length of 0 says that the id is hex digits */
	fd = d->find(d->client, (const unsigned char *)build_id, 0, path);
	setrlimit(RLIMIT_FSIZE, &was);
	return fd;
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
	fd = find_bounded(d, build_id, &file);
	busy = NULL;
	free(file);
	d->left_ns -= MIN(d->left_ns, now_ns() - d->begin_ns);
	if (fd < 0 && d->why)
		fd = d->why;
	/* libdebuginfod's error for a write that failed */
	if (fd == -EIO)
		fd = -EFBIG;
	d->dead = fd < 0 && fd != -ENOENT && fd != -EFBIG;
	if (d->calls.done)
		d->calls.done(path, fd < 0 ? fd : 0, d->calls.arg);
	return fd;
}
