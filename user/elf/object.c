// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the open ELF files: a table by the (device, inode) that fstat reports of
 * the opened file, so one file is one object however often and under whatever
 * name it is mapped.
 *
 * What always holds: the table keeps a reference of its own; objects live until
 * it is freed. Files are opened by elffile.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "elf/code_book.h"
#include "elf/elffile.h"
#include "elf/object.h"
#include "process/mounts.h"
#include "reader/reader.h"
#include "util/hash.h"
#include "util/invoker.h"
#include "util/rights.h"
#include "util/util.h"

/*
 * Three ways to name a file by numbers, which can differ where one file system
 * lies above another: as fstat does, as /proc/PID/maps does, and as the kernel's
 * records of mappings do. An open file keeps its inode, so these stay true.
 */
enum naming { BY_STAT, BY_MAPS, BY_RECORD };

struct seen {
	enum naming naming;
	uint64_t dev, ino;
	struct object *object;	/* the table's reference is enough */
};

struct objects {
	struct vec(struct object *) all;
	struct hash seen;	/* of struct seen, which it owns */
	bool is_full;		/* files were not opened for lack of descriptors */
	bool unprobed;
};

/* Of objects that hold a descriptor, in all tables and in none: the process has one limit for them. */
static size_t n_open;

/* What malloctrace needs for itself is left; and the heap search, whose files get no probes, finds a share that the trace left. */
static bool has_room(const struct objects *o)
{
	uint64_t all = descriptors__for_targets();

	return __atomic_load_n(&n_open, __ATOMIC_RELAXED) < (o->unprobed ? all : all - all / 8);
}

struct object *object__make(struct object as)
{
	struct object *obj = xmalloc(sizeof(*obj));

	*obj = as;
	obj->refs = 1;
	__atomic_fetch_add(&n_open, as.fd >= 0, __ATOMIC_RELAXED);
	return obj;
}

struct objects *objects__new(void)
{
	return xcalloc(1, sizeof(struct objects));
}

void objects__without_probes(struct objects *o)
{
	o->unprobed = true;
}

void objects__free(struct objects *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->all.n; i++)
		object__put(o->all.v[i]);
	vec_done(&o->all);
	hash__free(&o->seen);
	free(o);
}

bool objects__is_full(const struct objects *o)
{
	return o->is_full;
}

void object__put(struct object *obj)
{
	if (!obj || __atomic_sub_fetch(&obj->refs, 1, __ATOMIC_ACQ_REL))
		return;
	__atomic_fetch_sub(&n_open, obj->fd >= 0, __ATOMIC_RELAXED);
	if (obj->fd >= 0)
		close(obj->fd);
	if (obj->file_fd > 0)
		close(obj->file_fd);
	trial_charge__set(&obj->charge, 0);
	jitmap__free(obj->jit);
	code_book__free(obj->script);
	free(obj->path);
	free(obj->fd_path);
	free(obj->build_id);
	vec_done(&obj->sections);
	free(obj->segments);
	free(obj);
}

/* ---- finding the file */

static uint64_t key_of(enum naming naming, uint64_t dev, uint64_t ino)
{
	return hash__mix(hash__mix(dev, naming), ino);
}

/* What was written to is another file to processes that map it now. */
static struct object *find(const struct objects *o, enum naming naming, uint64_t dev, uint64_t ino)
{
	const struct seen *s = hash__get(&o->seen, key_of(naming, dev, ino));

	return s && s->naming == naming && s->dev == dev && s->ino == ino && !object__look_for_change(s->object) ? s->object : NULL;
}

static void remember(struct objects *o, enum naming naming, uint64_t dev, uint64_t ino, struct object *obj)
{
	struct seen *s = hash__get(&o->seen, key_of(naming, dev, ino));

	if (!s) {
		s = xcalloc(1, sizeof(*s));
		hash__put(&o->seen, key_of(naming, dev, ino), s);
	}
	*s = (struct seen){ naming, dev, ino, obj };
}

bool object__is_here(const struct object *o)
{
	_cleanup_close_ int fd = o->ino && !o->remote ? path_walk__own(o->path) : -1;
	struct stat st;

	return fd >= 0 && !fstat(fd, &st) && st.st_dev == o->dev && st.st_ino == o->ino;
}

static uint64_t dev_of(const struct mapping *m)
{
	return makedev(m->dev_major, m->dev_minor);
}

struct object *objects__known(struct objects *o, const struct mapping *m)
{
	struct object *obj = m->ino ? find(o, m->recorded ? BY_RECORD : BY_MAPS, dev_of(m), m->ino) : NULL;

	if (obj)
		object__hold(obj);
	return obj;
}

int object__stat(const struct object *obj, struct stat *ret)
{
	struct statx x;

	if (!obj->remote)
		return fstat(obj->fd, ret) ? -errno : 0;
	if (statx(object__file(obj), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &x))
		return -errno;
	*ret = (struct stat){
		.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
		.st_ino = x.stx_ino,
		.st_mode = x.stx_mode,
		.st_nlink = x.stx_nlink,
		.st_uid = x.stx_uid,
		.st_gid = x.stx_gid,
		.st_size = (off_t)x.stx_size,
		.st_mtim = { x.stx_mtime.tv_sec, x.stx_mtime.tv_nsec },
		.st_ctim = { x.stx_ctime.tv_sec, x.stx_ctime.tv_nsec },
	};
	return 0;
}

bool object__may_be_probed(const struct object *obj)
{
	if (!obj->fd_path)
		readers__lose_file(obj->path, obj->dev, obj->ino, "another user serves its file system, and could stop malloctrace at a probe in it", true);
	return obj->fd_path;
}

void object__note_another(const struct object *obj)
{
	readers__lose_file(obj->path, obj->dev, obj->ino,
			   "a process has another build of it in its memory", !obj->unprobed);
}

static int64_t mtime_ns(const struct stat *st)
{
	return timespec_ns(st->st_mtim);
}

/* Two ticks of the slowest clock that kernels have. */
#define MTIME_STEP_NS (20 * MS_NS)

/* One that lies ahead was set by hand, or the clock was: it proves nothing. */
static bool is_fresh(int64_t mtime_ns, int64_t now)
{
	return mtime_ns <= now && mtime_ns + MTIME_STEP_NS > now;
}

enum object_version object__version_at(struct object *obj, uint64_t t_ns)
{
	int64_t now = wall_ns(), then = (int64_t)t_ns + (now - (int64_t)now_ns());
	struct stat st;

	if (obj->fd < 0 || object__stat(obj, &st))
		return VERSION_SAME;
	if (mtime_ns(&st) > now)
		return object__look_for_change(obj) ? VERSION_OTHER : VERSION_SAME;
	if (mtime_ns(&st) > then)
		return VERSION_OTHER;
	/* another file that was moved there has another time of change, and perhaps the number of one that is gone */
	return MAX(mtime_ns(&st), timespec_ns(st.st_ctim)) + MTIME_STEP_NS > then ? VERSION_MAYBE : VERSION_SAME;
}

/* It is mapped, and what is in it is not known. */
static void note_unopened(struct objects *o, const char *name, uint64_t dev, uint64_t ino, int err)
{
	bool is_full = err == -EMFILE || err == -ENFILE;

	o->is_full |= is_full;
	/* a user who may not read it is told so, and too many have one sentence for all */
	if (err == -EACCES || o->unprobed)
		return;
	if (is_full)
		readers__count_unread(dev, ino);
	else
		readers__lose_file(name, dev, ino, err == -EAGAIN ? "a process holds a lease on it (F_SETLEASE)" : strerror(-err), true);
}

/* Makes an object of what it is to have: its descriptors and its path at least, which it takes, also on failure. Puts it into the table. */
static int keep(struct objects *o, struct object as, struct object **ret, struct err *e)
{
	struct object *obj = object__make(as);
	struct stat st;
	int r;

	if (!obj->remote && fstat(obj->fd, &st)) {
		r = err_set(e, -errno, "%s: %s", obj->path, strerror(errno));
		if (obj->ino)
			note_unopened(o, obj->path, obj->dev, obj->ino, r);
		object__put(obj);
		return r;
	}
	if (!obj->remote) {
		obj->size_bytes = st.st_size;
		obj->mtime_ns = mtime_ns(&st);
	}
	obj->fresh = is_fresh(obj->mtime_ns, wall_ns());
	obj->unprobed = o->unprobed;
	if (object__file(obj) >= 0)
		obj->fd_path = xasprintf("/proc/self/fd/%d", object__file(obj));
	r = object__read_headers(obj);
	if (r) {
		err_set(e, r, "%s was not read before the end", obj->path);
		object__put(obj);
		return r;
	}
	*vec_push(&o->all) = obj;
	if (obj->ino)
		remember(o, BY_STAT, obj->dev, obj->ino, obj);
	object__hold(obj);
	*ret = obj;
	return 0;
}

static bool find_opened(const struct objects *o, const struct stat *st, struct object **ret)
{
	struct object *obj = find(o, BY_STAT, st->st_dev, st->st_ino);

	if (!obj)
		return false;
	object__hold(obj);
	*ret = obj;
	return true;
}

/*
 * The object of the file that an O_PATH descriptor is; name is what messages and reports call it.
 * m: where it is mapped, -ESTALE if another file is; NULL: nowhere.
 */
static int get_opened(struct objects *o, int path_fd, const char *name, const struct mapping *m, struct object **ret, struct err *e)
{
	_cleanup_free_ char *clean = xstrdup(name);
	bool verified = !m || mapping__is_file(m, path_fd);
	struct stat st;
	int r, fd;

	clean_name(clean);
	if (fstat(path_fd, &st) < 0) {
		r = err_set(e, -errno, "%s: %s", clean, strerror(errno));
		if (m)
			note_unopened(o, clean, dev_of(m), m->ino, r);
		return r;
	}
	if (!S_ISREG(st.st_mode))
		return err_set(e, -EINVAL, "%s is not a regular file", clean);
	if (verified && find_opened(o, &st, ret))
		return 0;
	/* a process may map as many as it likes */
	fd = has_room(o) ? elffile__open_found(path_fd) : -EMFILE;
	if (fd < 0) {
		r = fd;
		/* one that no process has mapped is told where it was asked for */
		if (m || r == -EMFILE || r == -ENFILE)
			note_unopened(o, clean, st.st_dev, st.st_ino, r);
		if (r == -EACCES)
			return rights__refused(e, r, RIGHT_BIT(RIGHT_DAC_READ_SEARCH),
					       "this user may not read %s", clean);
		return err_set(e, r, "%s: %s", clean, strerror(-r));
	}
	r = verified ? 0 : mapping__verify(m, fd);
	if (r && r != -ESTALE) {
		note_unopened(o, clean, dev_of(m), m->ino, r);
		err_set(e, r, "%s: whether that file is mapped cannot be verified: %s", clean,
			strerror(-r));
	}
	if (r || (!verified && find_opened(o, &st, ret))) {
		close(fd);
		return r;
	}
	return keep(o, (struct object){ .fd = fd, .dev = st.st_dev, .ino = st.st_ino, .path = xstrdup(clean) }, ret, e);
}

/* The descriptor of the path under the process's root, if that is still the file that is mapped. */
static int open_in_root(pid_t pid, const struct mapping *m, const char *suffix)
{
	_cleanup_free_ char *path = xasprintf("%s%s", m->path, suffix);
	int fd = path_walk__file_of(pid, m, path);

	/* others may have put a link, or a mount, on the way since */
	return fd == -ELOOP || fd == -EXDEV ? -ENOENT : fd;
}

/* Since 6.13 a user with CAP_PERFMON may read the maps of any process, but not go where they point. */
static bool may_enter_root(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	return readlink(path, (char[2]){}, 1) >= 0 || errno != EACCES;
}

/* Memory with a file's number: no path leads there, and a compiler may map a new one each millisecond. */
static bool is_memfd(const struct mapping *m)
{
	return m->deleted && !strncmp(m->path, "/memfd:", strlen("/memfd:"));
}

/*
 * mapped: the file that is mapped there now (struct trial), or -errno; in_own_root: its path may be
 * looked up below malloctrace's own root.
 */
static int get_mapped(struct objects *o, pid_t pid, const struct mapping *m, int mapped,
		      const char *clean, bool in_own_root, struct object **ret, struct err *e)
{
	bool has_path = m->path[0] == '/' && !is_memfd(m);
	_cleanup_close_ int fd = -1;
	int r = MIN(mapped, 0);

	if (!m->ino)
		return err_set(e, -EINVAL, "the memory at %#llx of process %d is not mapped from a file",
			       (unsigned long long)m->start, (int)pid);
	/* -ESTALE: it has been unmapped, and another file lies in its place */
	r = r ?: get_opened(o, mapped, m->path, m, ret, e);
	if (mapped >= 0 && r != -ESTALE)
		return r;
	/* what looks deleted may also be a file whose name ends like that */
	fd = has_path ? open_in_root(pid, m, m->deleted ? " (deleted)" : "") : -ENOENT;
	/* it has ended already; most programs have the same root as we */
	if (fd == -ENOENT && in_own_root && has_path)
		fd = open_in_root(getpid(), m, "");
	if (fd >= 0)
		return get_opened(o, fd, m->path, m, ret, e);
	/* its name may lead nowhere; that it was not reached is a loss only if something was wanting */
	if (err_is_want(fd) || err_is_want(r))
		note_unopened(o, clean, dev_of(m), m->ino, err_is_want(fd) ? fd : r);
	if (m->deleted)
		return r == -EPERM ? rights__refused(e, r, RIGHT_BIT(RIGHT_CHECKPOINT_RESTORE),
						     "%s is deleted, and this user may not reach it through /proc/%d/map_files",
						     clean, (int)pid) :
				     err_set(e, r == -ENOENT ? -ESTALE : r, "%s is deleted, and /proc/%d/map_files does not reach it: %s",
					     clean, (int)pid, strerror(-r));
	if (fd == -ESTALE && r == -EPERM)
		return rights__refused(e, r, RIGHT_BIT(RIGHT_CHECKPOINT_RESTORE),
				       "%s was replaced after process %d mapped it, and this user may not reach the mapped file through /proc/PID/map_files",
				       clean, (int)pid);
	if (fd == -ESTALE)
		return err_set(e, -ESTALE, "%s is no longer the file that process %d has mapped", clean, (int)pid);
	if (fd == -ENOENT || fd == -ESRCH)
		return err_set(e, fd, "process %d has mapped %s, but it cannot be found under its root",
			       (int)pid, clean);
	if (fd == -EACCES)
		return rights__refused(e, fd, RIGHT_BIT(may_enter_root(pid) ? RIGHT_DAC_READ_SEARCH : RIGHT_SYS_PTRACE),
				       "this user may not read %s", clean);
	return err_set(e, fd, "%s of process %d: %s", clean, (int)pid, strerror(-fd));
}

/* Why the file was not copied. What was unmapped meanwhile is no loss. */
static int refuse(const struct objects *o, const struct trial *t, const struct mapping *m, const char *clean, struct err *e)
{
	static const char *const words[] = {
		[TRIAL_SILENT] = "its file system (%s) does not answer",
		[TRIAL_CALLED_OFF] = "its file system (%s) had not answered by the end",
		[TRIAL_NOT_TRIED] = "whether its file system (%s) answers could not be tried",
		[TRIAL_TOO_LARGE] = "it is too large to be copied from its file system (%s), which may not answer",
		[TRIAL_NO_ROOM] = "copies of files whose file systems may not answer (%s) have 256 MiB for one user, 1 GiB for all, which are used up",
		[TRIAL_FAILED] = "its file system (%s) reports an error",
	};
	char why[160 + MOUNT_TYPE_MAX];

	if (t->verdict == TRIAL_FAILED && (t->err == -ENOENT || t->err == -ESRCH || t->err == -ESTALE))
		return err_set(e, t->err, "%s is no longer mapped, and could not be found by its path", clean);
	snprintf(why, sizeof(why), words[t->verdict], t->type);
	clean_name(why);
	readers__lose_file(clean, dev_of(m), m->ino, why, !o->unprobed);
	return err_set(e, -EREMOTEIO, "%s: %s", clean, why);
}

/* Of a copy; takes its descriptors. */
static int get_copied(struct objects *o, struct trial *t, char *clean, struct object **ret, struct err *e)
{
	struct object copied = {
		.dev = t->st.st_dev,
		.ino = t->st.st_ino,
		.fd = t->copy,
		.file_fd = t->file,
		.charge = t->charge,
		.remote = true,
		.size_bytes = t->st.st_size,
		.mtime_ns = mtime_ns(&t->st),
	};

	if (find_opened(o, &t->st, ret)) {
		close(t->copy);
		trial_charge__set(&t->charge, 0);
		if (t->file >= 0)
			close(t->file);
		return 0;
	}
	copied.path = xstrdup(clean);
	return keep(o, copied, ret, e);
}

int objects__get(struct objects *o, pid_t pid, const struct mapping *m, struct object **ret, struct err *e)
{
	_cleanup_free_ char *link = xasprintf("/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)m->start, (unsigned long long)m->end);
	_cleanup_free_ char *clean = xstrdup(m->path);
	struct object *known = objects__known(o, m);
	struct trial trial = { .file = -ESTALE };
	int err;

	if (known) {
		*ret = known;
		return 0;
	}
	clean_name(clean);
	if (m->ino)
		trial__of(pid, m, link, &trial);
	if (trial.verdict == TRIAL_NOT_NEEDED || trial.verdict == TRIAL_LOCAL)
		err = get_mapped(o, pid, m, trial.file, clean, m->recorded && trial.is_ours, ret,
				 e);
	else if (trial.verdict == TRIAL_COPIED)
		err = get_copied(o, &trial, clean, ret, e);
	else
		err = refuse(o, &trial, m, clean, e);
	if (trial.verdict == TRIAL_NOT_NEEDED || trial.verdict == TRIAL_LOCAL)
		cleanup_close(&trial.file);
	/* by its name it is taken for what this process maps, and for nothing else */
	if (!err && !trial.by_name)
		remember(o, m->recorded ? BY_RECORD : BY_MAPS, dev_of(m), m->ino, *ret);
	return err;
}

void objects__note_unlisted(struct objects *o, const struct mapping *m)
{
	if (m->ino && !find(o, BY_MAPS, dev_of(m), m->ino) && !o->unprobed)
		readers__count_unread(dev_of(m), m->ino);
}

int objects__get_path(struct objects *o, const char *path, struct object **ret, struct err *e)
{
	struct invoker_rights own = invoker__begin();
	_cleanup_close_ int fd = elffile__find(path);
	_cleanup_free_ char *whole = fd < 0 ? NULL : realpath(path, NULL);
	int err = fd < 0 ? fd : get_opened(o, fd, whole ? whole : path, NULL, ret, e);

	invoker__end(&own);
	/* no capability of malloctrace's would change that */
	if (fd < 0 || err == -EACCES)
		err_set(e, err, "%s: %s", path, strerror(-err));
	return err;
}

struct object *object__over(int fd, const char *path)
{
	struct object *obj = object__make((struct object){ .fd = fd, .path = xstrdup(path) });
	struct stat st;

	if (!fstat(fd, &st)) {
		obj->size_bytes = st.st_size;
		obj->mtime_ns = mtime_ns(&st);
	}
	object__read_headers(obj);
	return obj;
}

/* ---- images */

static bool is_image(const struct object *obj, const char *name, const void *image, size_t len)
{
	_cleanup_free_ void *have = NULL;

	if (obj->ino || obj->size_bytes != len || strcmp(obj->path, name))
		return false;
	have = xmalloc(len);
	return !object__read_at(obj, 0, have, len) && !memcmp(have, image, len);
}

int objects__get_image(struct objects *o, const char *name, const void *image, size_t len, struct object **ret,
		       struct err *e)
{
	int fd;

	for (size_t i = 0; i < o->all.n; i++)
		if (is_image(o->all.v[i], name, image, len)) {
			*ret = o->all.v[i];
			object__hold(*ret);
			return 0;
		}
	fd = elffile__open_image(image, len);
	if (fd < 0)
		return err_set(e, fd, "%s: %s", name, strerror(-fd));
	return keep(o, (struct object){ .fd = fd, .path = xstrdup(name) }, ret, e);
}

bool object__look_for_change(struct object *obj)
{
	unsigned char id[OBJECT_MAX_BUILD_ID_BYTES];
	size_t len = obj->build_id ? strlen(obj->build_id) / 2 : 0;
	_cleanup_free_ char *now_id = NULL;
	int64_t now = wall_ns();
	struct stat st;
	bool touched, unsure;

	if (obj->changed || obj->fd < 0 || object__stat(obj, &st))
		return obj->changed;
	/* ctime is no sign: a package upgrade changes it by unlinking the file */
	touched = (uint64_t)st.st_size != obj->size_bytes || mtime_ns(&st) != obj->mtime_ns;
	unsure = obj->fresh || obj->mtime_ns > now;
	if (!touched && (!unsure || !len))
		return false;
	obj->fresh = is_fresh(obj->mtime_ns, now);
	/* nobody is asked who may not answer */
	if (!touched && obj->remote)
		return false;
	if (len && !obj->remote && !object__read_at(obj, obj->build_id_off, id, len))
		now_id = build_id__hex(id, len);
	obj->changed = !now_id || strcmp(now_id, obj->build_id);
	return obj->changed;
}

const char *object__file_name(const struct object *obj)
{
	return path_basename(obj->path);
}
