// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing. */
#include "process/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "process/maps.h"
#include "process/process.h"
#include "util/invoker.h"
#include "util/util.h"

/* "36 35 0:30 /root /point rw,... optional... - type source options" */
bool mount__parse(char *line, struct mount *ret)
{
	char *save = NULL, *word, *fields[6] = {}, *rest = strstr(line, " - ");

	if (!rest)
		return false;
	*rest = 0;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!fields[i])
			return false;
	}
	save = NULL;
	word = strtok_r(rest + 3, " ", &save);
	*ret = (struct mount){ fields[3], fields[4], word, NULL };
	if (!word || !strtok_r(NULL, " ", &save))
		return false;
	ret->options = strtok_r(NULL, " ", &save);
	return ret->options && (!strcmp(ret->type, "cgroup") || !strcmp(ret->type, "cgroup2"));
}

/* ---- file systems */

static const char *next_line(const char *line)
{
	const char *end = strchrnul(line, '\n');

	return *end ? end + 1 : end;
}

/*
 * point: PATH_MAX bytes, or NULL. What is read of the line is cut out first: sscanf() looks for the end of the whole text each time, and
 * a process may have a hundred thousand mounts.
 */
static bool read_line(const char *line, struct mount_line *ret, char *point)
{
	const char *end = strchrnul(line, '\n'), *rest = memmem(line, end - line, " - ", 3), *type, *root, *at;
	char numbers[64];
	size_t len;
	int n = 0;

	if (!rest)
		return false;
	snprintf(numbers, sizeof(numbers), "%.*s", (int)MIN((size_t)(rest - line), sizeof(numbers) - 1), line);
	if (sscanf(numbers, "%u %*u %u:%u %n", &ret->id, &ret->dev_major, &ret->dev_minor, &n) != 3 || !n)
		return false;
	type = rest + 3;
	root = line + n;
	at = memchr(root, ' ', rest - root);
	if (!at)
		return false;
	len = (const char *)(memchr(at + 1, ' ', rest - (at + 1)) ?: rest) - (at + 1);
	if (point)
		snprintf(point, PATH_MAX, "%.*s", (int)MIN(len, (size_t)PATH_MAX - 1), at + 1);
	len = strcspn(type, " \n");
	if (!len)
		return false;
	snprintf(ret->type, sizeof(ret->type), "%.*s", (int)MIN(len, sizeof(ret->type) - 1), type);
	/* whoever mounts FUSE chooses the source, which is no option */
	at = type + len + (type[len] == ' ');
	ret->options = at + strcspn(at, " \n");
	return true;
}

/* The first line that passes of those with this word in it, which alone are read. */
static bool find(const char *text, const char *word, bool (*passes)(const struct mount_line *m, const struct mount_line *want),
		 const struct mount_line *want, struct mount_line *ret)
{
	struct mount_line m;

	for (const char *at = text; (at = strstr(at, word)); at = next_line(at)) {
		const char *before = memrchr(text, '\n', (size_t)(at - text));

		if (read_line(before ? before + 1 : text, &m, NULL) && passes(&m, want)) {
			*ret = m;
			return true;
		}
	}
	return false;
}

static bool is_same_id(const struct mount_line *a, const struct mount_line *b)
{
	return a->id == b->id;
}

static bool is_same_dev(const struct mount_line *a, const struct mount_line *b)
{
	return a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

bool mounts__find_id(const char *text, unsigned int id, struct mount_line *ret)
{
	char word[16];

	snprintf(word, sizeof(word), "%u ", id);
	return find(text, word, is_same_id, &(struct mount_line){ .id = id }, ret);
}

bool mounts__find_dev(const char *text, unsigned int dev_major, unsigned int dev_minor, struct mount_line *ret)
{
	char word[32];

	snprintf(word, sizeof(word), " %u:%u ", dev_major, dev_minor);
	return find(text, word, is_same_dev, &(struct mount_line){ .dev_major = dev_major, .dev_minor = dev_minor }, ret);
}

bool path__is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/');
}

bool mounts__find_at(const char *text, const char *path, struct mount_line *ret)
{
	size_t longest = 0;
	bool found = false;

	for (const char *line = text; *line; line = next_line(line)) {
		char point[PATH_MAX];
		struct mount_line m;
		size_t len;

		if (!read_line(line, &m, point))
			continue;
		len = strcmp(point, "/") ? strlen(point) : 0;
		point[len] = 0;
		/* what is mounted later at the same place covers what was there */
		if (len >= longest && path__is_below(path, point)) {
			longest = len;
			*ret = m;
			found = true;
		}
	}
	return found;
}

#define OVERLAYS_MAX 8	/* one above the other */

/* What is asked of each layer; m: NULL: it is not known what the layer is on. */
struct layer_test {
	bool (*passes)(const struct mount_line *m, const char *own, unsigned int depth, const struct layer_test *t);
	bool (*is_trusted)(uid_t server);
};

/* "/a:/b:/c" up to end. A path that is relative, or has a character that had to be escaped, is not known. */
static bool do_layers_pass(const char *paths, const char *end, const char *own, unsigned int depth, const struct layer_test *t)
{
	while (paths < end) {
		const char *colon = memchr(paths, ':', end - paths);
		size_t len = (size_t)((colon ? colon : end) - paths);
		char path[PATH_MAX];
		struct mount_line m;
		bool known;

		if (!len) {	/* "::": what follows has data only */
			paths++;
			continue;
		}
		known = paths[0] == '/' && len < sizeof(path) && !memchr(paths, '\\', len);
		if (known) {
			memcpy(path, paths, len);
			path[len] = 0;
			known = mounts__find_at(own, path, &m);
		}
		if (!t->passes(known ? &m : NULL, own, depth + 1, t))
			return false;
		paths += len + !!colon;
	}
	return true;
}

/* An overlay without any layer does not. */
static bool does_overlay_pass(const struct mount_line *m, const char *own, unsigned int depth, const struct layer_test *t)
{
	static const char *const layers[] = { "lowerdir=", "upperdir=", "lowerdir+=", "datadir+=" };
	const char *end = strchrnul(m->options, '\n');
	bool found = false;

	for (const char *o = m->options, *stop; o < end; o = stop + 1) {
		stop = o + strcspn(o, ", \n");
		for (size_t i = 0; i < ARRAY_SIZE(layers); i++) {
			size_t len = strlen(layers[i]);

			if ((size_t)(stop - o) <= len || strncmp(o, layers[i], len))
				continue;
			found = true;
			if (!do_layers_pass(o + len, stop, own, depth, t))
				return false;
		}
	}
	return found;
}

/* Are its layers paths of malloctrace's own? Not if it is mounted elsewhere alone; in a container all may be the host's. */
static bool has_own_layers(const struct mount_line *m, const char *own, const struct mount_line *root)
{
	struct mount_line same;

	return strcmp(root->type, "overlay") && mounts__find_dev(own, m->dev_major, m->dev_minor, &same);
}

static bool is_local(const struct mount_line *m, const char *own, unsigned int depth, const struct layer_test *t)
{
	static const char *const types[] = {
		"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "rootfs", "devtmpfs", "hugetlbfs", "squashfs", "erofs", "f2fs", "zfs", "bcachefs",
		"vfat", "msdos", "exfat", "ntfs3", "iso9660", "udf", "jfs", "reiserfs", "nilfs2", "minix", "hfs", "hfsplus", "ubifs", "jffs2", "cramfs",
		"romfs", "proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs", "bpf", "securityfs", "configfs", "pstore",
	};
	struct mount_line root;

	if (!m)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(m->type, types[i]))
			return true;
	/* malloctrace itself would not run if its root did not answer */
	return mounts__find_at(own, "/", &root) && (is_same_dev(m, &root) || (!strcmp(m->type, "overlay") && depth < OVERLAYS_MAX &&
									      has_own_layers(m, own, &root) && does_overlay_pass(m, own, depth, t)));
}

bool mount__is_local(const struct mount_line *m, const char *own)
{
	return is_local(m, own, 0, &(struct layer_test){ .passes = is_local });
}

uid_t mount__server(const struct mount_line *m)
{
	const char *end = strchrnul(m->options, '\n'), *id = memmem(m->options, end - m->options, ",user_id=", 9);
	unsigned int uid = 0;

	if (strncmp(m->type, "fuse", 4))
		return 0;
	return id && sscanf(id, ",user_id=%u", &uid) == 1 ? uid : (uid_t)-1;
}

static bool has_trusted_servers(const struct mount_line *m, const char *own, unsigned int depth, const struct layer_test *t)
{
	struct mount_line root;

	if (!m)
		return true;
	if (strcmp(m->type, "overlay"))
		return t->is_trusted(mount__server(m));
	return !mounts__find_at(own, "/", &root) || !has_own_layers(m, own, &root) || is_same_dev(m, &root) ||
	       (depth < OVERLAYS_MAX && does_overlay_pass(m, own, depth, t));
}

bool mount__has_trusted_servers(const struct mount_line *m, const char *own, bool (*is_trusted)(uid_t server))
{
	return has_trusted_servers(m, own, 0, &(struct layer_test){ has_trusted_servers, is_trusted });
}

int mounts__own(char **ret)
{
	return read_small_file("/proc/self/mountinfo", ret, NULL);
}

#define THEIRS_MAX ((size_t)4 << 20)
#define READINGS_MAX 16		/* of one that changes all the time */

static __thread struct {
	pid_t pid;		/* 0: of none */
	int fd;			/* as long as it is open the process's mounts stay */
	char *text;		/* owned; NULL: it cannot be read */
	unsigned int n_readings;
} kept;

void mounts__let_go(void)
{
	if (kept.pid)
		close(kept.fd);
	free(kept.text);
	memset(&kept, 0, sizeof(kept));
}

void mounts__keep(pid_t pid)
{
	mounts__let_go();
	kept.fd = process__open(pid, "mountinfo", 0);
	kept.pid = kept.fd < 0 ? 0 : pid;
}

bool mounts__have_changed(int fd)
{
	return poll(&(struct pollfd){ .fd = fd, .events = POLLPRI }, 1, 0) > 0;
}

static char *copy_kept(void)
{
	if (!kept.n_readings || mounts__have_changed(kept.fd)) {
		free(kept.text);
		kept.text = NULL;
		if (kept.n_readings++ < READINGS_MAX && !lseek(kept.fd, 0, SEEK_SET))
			read_fd_upto(kept.fd, THEIRS_MAX, &kept.text, NULL);
	}
	return kept.text ? xstrdup(kept.text) : NULL;
}

char *mounts__of(pid_t pid)
{
	_cleanup_close_ int fd = kept.pid == pid ? -1 : process__open(pid, "mountinfo", 0);
	char *text;

	if (kept.pid == pid)
		return copy_kept();
	return fd < 0 || read_fd_upto(fd, THEIRS_MAX, &text, NULL) ? NULL : text;
}

bool mounts__id_of(int fd, unsigned int *ret)
{
	_cleanup_free_ char *text = NULL;
	const char *line;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	line = read_small_file(path, &text, NULL) ? NULL : strstr(text, "mnt_id:");
	return line && sscanf(line, "mnt_id: %u", ret) == 1;
}

bool mounts__fd_is_memory(int fd)
{
	_cleanup_close_ int own = memfd_create("malloctrace", MFD_CLOEXEC);
	unsigned int id, own_id;

	return own >= 0 && mounts__id_of(own, &own_id) && mounts__id_of(fd, &id) && id == own_id;
}

/* *ret_own: malloctrace's own table, the caller's; *ret is in it, or in *ret_theirs. */
static bool find_mount_of(pid_t pid, int fd, char **ret_own, char **ret_theirs, struct mount_line *ret)
{
	unsigned int id;

	return mounts__id_of(fd, &id) && !mounts__own(ret_own) &&
	       (mounts__find_id(*ret_own, id, ret) || ((*ret_theirs = mounts__of(pid)) && mounts__find_id(*ret_theirs, id, ret)));
}

bool mounts__fd_is_local(pid_t pid, int fd)
{
	_cleanup_free_ char *own = NULL, *theirs = NULL;
	struct mount_line m;

	return find_mount_of(pid, fd, &own, &theirs, &m) && mount__is_local(&m, own);
}

bool mounts__is_trusted_server(uid_t uid)
{
	uid_t invoker;
	gid_t gid;

	return !uid || uid == geteuid() || (invoker__find(&invoker, &gid) && uid == invoker);
}

bool mounts__fd_is_served_by_trusted(pid_t pid, int fd)
{
	_cleanup_free_ char *own = NULL, *theirs = NULL;
	struct mount_line m;

	return find_mount_of(pid, fd, &own, &theirs, &m) &&
	       (mount__is_local(&m, own) || mount__has_trusted_servers(&m, own, mounts__is_trusted_server));
}

bool mounts__are_trusted(pid_t pid)
{
	_cleanup_close_ int mounts = process__open(pid, "ns/mnt", 0), owner = -1;
	struct stat ours, theirs;

	if (mounts < 0 || fstat(mounts, &theirs))
		return false;
	if (!stat("/proc/self/ns/mnt", &ours) && ours.st_ino == theirs.st_ino)
		return true;
	owner = ioctl(mounts, NS_GET_USERNS);
	return owner >= 0 && !fstat(owner, &theirs) && !stat("/proc/self/ns/user", &ours) && ours.st_ino == theirs.st_ino;
}

const char *mount__below(const struct mount *m, const char *path)
{
	const char *root = strcmp(m->root, "/") ? m->root : "";

	return path__is_below(path, root) ? path + strlen(root) : NULL;
}

/* ---- paths that a target or a profile names */

/* Owns nothing beyond a call. */

#define LINKS_MAX 40	/* as in the kernel */
#define MOUNTS_MAX 64	/* from one onto another, and back: each time tables of mounts are read, which may be long */

struct walk {
	pid_t pid;
	int root;		/* not owned */
	bool follows, served;	/* links; onto file systems of trusted servers */
	unsigned int mount;	/* the last one that may be asked; 0: none yet */
	unsigned int n_mounts;
};

/* To be called before anything else is done with the descriptor. */
static int check_mount(struct walk *w, int fd)
{
	unsigned int id;

	if (!mounts__id_of(fd, &id))
		return -EXDEV;
	if (id == w->mount)
		return 0;
	if (w->n_mounts++ == MOUNTS_MAX)
		return -ELOOP;
	if (!(w->served ? mounts__fd_is_served_by_trusted(w->pid, fd) : mounts__fd_is_local(w->pid, fd)))
		return -EXDEV;
	w->mount = id;
	return 0;
}

/* Where the walk goes on from a link: a descriptor, or -errno. */
static int follow(const struct walk *w, int dir, int link, char **rest)
{
	int err = link__put_target_before(link, rest), fd;

	if (err)
		return err;
	fd = fcntl(**rest == '/' ? w->root : dir, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

static int walk(struct walk *w, const char *path)
{
	_cleanup_close_ int fd = openat(w->follows && *path != '/' ? AT_FDCWD : w->root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *rest = xstrdup(path);
	unsigned int n_links = 0;
	int err = fd < 0 ? -errno : strlen(path) >= PATH_MAX ? -ENAMETOOLONG : check_mount(w, fd), ret;

	while (!err) {
		size_t begin = strspn(rest, "/"), len = strcspn(rest + begin, "/");
		_cleanup_free_ char *name = xstrndup(rest + begin, len);
		_cleanup_close_ int next = -1;
		struct stat st;

		if (!len)
			break;
		memmove(rest, rest + begin + len, strlen(rest + begin + len) + 1);
		next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		err = next < 0 ? -errno : check_mount(w, next) ?: fstat(next, &st) ? -errno : 0;
		if (!err && S_ISLNK(st.st_mode)) {
			int after = w->follows && n_links++ < LINKS_MAX ? follow(w, fd, next, &rest) : -ELOOP;

			close(next);
			next = after;
			err = MIN(after, 0) ?: check_mount(w, next);
		}
		if (!err) {
			close(fd);
			fd = next;
			next = -1;
		}
	}
	ret = fd;
	if (!err)
		fd = -1;
	return err ? err : ret;
}

int path_walk__root_of(pid_t pid)
{
	return process__open(pid, "root", O_PATH | O_DIRECTORY);
}

int path_walk__mapped(pid_t pid, int root, const char *path)
{
	return walk(&(struct walk){ .pid = pid, .root = root }, path);
}

int path_walk__file_of(pid_t pid, const struct mapping *m, const char *path)
{
	_cleanup_close_ int root = path_walk__root_of(pid);
	int fd = root < 0 ? root : path_walk__mapped(pid, root, path);

	if (fd < 0 || mapping__is_file(m, fd))
		return fd;
	close(fd);
	return -ESTALE;
}

static int walk_own(const char *path, bool served)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : walk(&(struct walk){ .pid = getpid(), .root = root, .follows = true, .served = served }, path);
}

int path_walk__own(const char *path)
{
	return walk_own(path, false);
}

int path_walk__served(const char *path)
{
	return walk_own(path, true);
}
