// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the functions of one JIT's list, in the order of their addresses, the
 * newest first where several begin: code is thrown away and its place used
 * again, and only the list's order shows which.
 *
 * The list is whatever the process wrote: a line that makes no sense is left
 * out, and so is everything beyond the bounds. It is read, never mapped.
 */
#include "elf/jitmap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf/apart.h"
#include "elf/elffile.h"
#include "elf/object.h"
#include "process/mounts.h"
#include "util/sorted.h"
#include "util/stint.h"
#include "util/util.h"

#define LIST_MAX (256ull << 20)		/* bytes read over its life */
#define FUNCTIONS_MAX (1u << 20)
#define NAMES_MAX (128u << 20)		/* bytes */
#define CHUNK_BYTES (256 * 1024)
#define BACK_MAX 64			/* older functions tried, where newer ones have taken part of their place */

struct function {
	uint64_t start, end;
	size_t name;		/* in names */
	uint32_t order;
};

struct jitmap {
	struct vec(struct function) functions;
	struct vec(char) names;
	uint64_t read_bytes;	/* of the file, whole lines */
	uint64_t all_bytes;	/* the same over its life: it may be begun anew again and again */
	uint32_t n_added;
	bool sorted;
};

static int by_start(const void *pa, const void *pb)
{
	const struct function *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static bool take_hex(const char **p, const char *end, uint64_t *ret)
{
	const char *s = *p;
	uint64_t n = 0;

	if (end - s > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	for (*p = s; s < end; s++) {
		unsigned int digit = *s >= '0' && *s <= '9' ? *s - '0' :
				     *s >= 'a' && *s <= 'f' ? *s - 'a' + 10 :
				     *s >= 'A' && *s <= 'F' ? *s - 'A' + 10 : 16;

		if (digit > 15)
			break;
		if (n >> 60)
			return false;
		n = n << 4 | digit;
	}
	if (s == *p)
		return false;
	*p = s;
	*ret = n;
	return true;
}

static bool skip_blanks(const char **p, const char *end)
{
	const char *from = *p;

	while (*p < end && (**p == ' ' || **p == '\t'))
		(*p)++;
	return *p > from;
}

static void add_name(struct jitmap *j, const char *name, size_t len)
{
	if (j->names.n + len + 1 > j->names.room) {
		size_t room = MAX(j->names.room * 2, j->names.n + len + 4096);
		char *v = realloc(j->names.v, room);

		if (!v)
			return;
		j->names.v = v;
		j->names.room = room;
	}
	memcpy(j->names.v + j->names.n, name, len);
	j->names.v[j->names.n + len] = '\0';
	clean_name(j->names.v + j->names.n);
	j->names.n += len + 1;
}

static void add_function(struct jitmap *j, uint64_t start, uint64_t end, const char *name, size_t len)
{
	size_t at = j->names.n;
	struct function *f;

	if (j->functions.n >= FUNCTIONS_MAX || j->names.n >= NAMES_MAX)
		return;
	add_name(j, name, len);
	if (j->names.n == at)
		return;
	f = vec_push(&j->functions);
	if (!f)
		return;
	*f = (struct function){ .start = start, .end = end, .name = at, .order = j->n_added++ };
	j->sorted = false;
}

/* "START SIZE name with spaces" */
static void parse_line(struct jitmap *j, const char *p, const char *end)
{
	uint64_t start, size, last;

	skip_blanks(&p, end);
	if (!take_hex(&p, end, &start) || !skip_blanks(&p, end) || !take_hex(&p, end, &size) || !skip_blanks(&p, end))
		return;
	while (end > p && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	end = MIN(end, p + JITMAP_NAME_MAX);
	if (p == end || memchr(p, '\0', end - p) || !size || __builtin_add_overflow(start, size, &last))
		return;
	add_function(j, start, last, p, end - p);
}

size_t jitmap__parse(struct jitmap *j, const char *text, size_t len)
{
	size_t at = 0;
	const char *nl;

	while (at < len && (nl = memchr(text + at, '\n', len - at))) {
		parse_line(j, text + at, nl);
		at = nl - text + 1;
	}
	return at;
}

static void sort(struct jitmap *j)
{
	size_t out = 0;

	if (j->sorted)
		return;
	j->sorted = true;
	if (!j->functions.n)
		return;
	qsort(j->functions.v, j->functions.n, sizeof(*j->functions.v), by_start);
	/* of those that begin at one place only the newest is still there */
	for (size_t i = 0; i < j->functions.n; i++) {
		if (i + 1 < j->functions.n && j->functions.v[i + 1].start == j->functions.v[i].start)
			continue;
		j->functions.v[out++] = j->functions.v[i];
	}
	j->functions.n = out;
}

static void take_function(uint64_t start, uint64_t end, const char *name, void *arg)
{
	add_function(arg, start, end, name, strlen(name));
}

static void read_lines(struct object *obj)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct jitmap *j = obj->jit;
	_cleanup_free_ char *buf = malloc(CHUNK_BYTES);

	while (buf && j->all_bytes < LIST_MAX && !stint__is_over()) {
		ssize_t got = pread(obj->fd, buf, CHUNK_BYTES, j->read_bytes);
		size_t taken = got > 0 ? jitmap__parse(j, buf, got) : 0;

		/* a line as long as the chunk is no line */
		if (got == CHUNK_BYTES && !taken)
			taken = got;
		if (!taken)
			break;
		j->read_bytes += taken;
		j->all_bytes += taken;
	}
}

void jitmap__refresh(struct object *obj)
{
	struct jitmap *j = obj->jit;
	struct stat st;

	if (fstat(obj->fd, &st))
		return;
	/* begun anew: another run of the same pid, or a list that is rewritten whole */
	if ((uint64_t)st.st_size < j->read_bytes) {
		j->functions.n = j->names.n = 0;
		j->read_bytes = j->n_added = 0;
	}
	if ((uint64_t)st.st_size == j->read_bytes)
		return;
	if (readers__are_apart()) {
		uint64_t upto = j->all_bytes < LIST_MAX ? jitmap_apart__read(obj->fd, obj->path, j->read_bytes, take_function, j) : 0;

		if (upto) {
			j->all_bytes += upto - j->read_bytes;
			j->read_bytes = upto;
		}
	} else {
		read_lines(obj);
	}
	sort(j);
}

void jitmap__skip(struct jitmap *j, uint64_t bytes)
{
	j->read_bytes = bytes;
}

uint64_t jitmap__read_bytes(const struct jitmap *j)
{
	return j->read_bytes;
}

static int by_order(const void *pa, const void *pb)
{
	const struct function *a = pa, *b = pb;

	return a->order < b->order ? -1 : a->order > b->order;
}

void jitmap__each(struct jitmap *j, void (*fn)(uint64_t start, uint64_t end, const char *name, void *arg), void *arg)
{
	if (j->functions.n)
		qsort(j->functions.v, j->functions.n, sizeof(*j->functions.v), by_order);
	j->sorted = false;
	for (size_t i = 0; i < j->functions.n; i++)
		fn(j->functions.v[i].start, j->functions.v[i].end, j->names.v + j->functions.v[i].name, arg);
}

const char *jitmap__find(const struct jitmap *j, uint64_t addr)
{
	size_t i = sorted__count(f, j->functions.v, j->functions.n, f->start <= addr);
	const struct function *found = NULL;

	for (size_t steps = 0; i > 0 && steps < BACK_MAX; i--, steps++) {
		const struct function *f = &j->functions.v[i - 1];

		if (f->end > addr && (!found || f->order > found->order))
			found = f;
	}
	return found ? j->names.v + found->name : NULL;
}

void jitmap__free(struct jitmap *j)
{
	if (!j)
		return;
	vec_done(&j->functions);
	vec_done(&j->names);
	free(j);
}

int jitmap__over(int fd, const char *path, struct object **ret)
{
	struct object *obj = calloc(1, sizeof(*obj));

	if (!obj) {
		close(fd);
		return -ENOMEM;
	}
	obj->refs = 1;
	obj->fd = fd;
	obj->path = strdup(path);
	obj->jit = calloc(1, sizeof(*obj->jit));
	if (!obj->path || !obj->jit) {
		object__put(obj);
		return -ENOMEM;
	}
	clean_name(obj->path);
	*ret = obj;
	return 0;
}

/* The effective user of a process, and its pid as it sees it itself. */
static int read_ids(pid_t pid, uid_t *uid, int *own_pid)
{
	_cleanup_free_ char *text = NULL;
	char path[64], *line, *last;
	unsigned int real, effective;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	err = read_small_file(path, &text, NULL);
	if (err)
		return err;
	line = strstr(text, "\nUid:");
	if (!line || sscanf(line + 5, "%u %u", &real, &effective) != 2)
		return -EBADMSG;
	*uid = effective;
	*own_pid = pid;
	line = strstr(text, "\nNSpid:");
	if (line) {
		line += strlen("\nNSpid:");
		line[strcspn(line, "\n")] = '\0';
		last = strrchr(line, '\t');
		if (last && sscanf(last, "%d", own_pid) != 1)
			*own_pid = pid;
	}
	return 0;
}

int jitmap__open(pid_t pid, struct object **ret)
{
	/* Links on the way stay within the process's root; the list itself may be none. Found first: it may be a device. */
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_close_ int root = -1, found = -1;
	char path[64];
	struct stat st;
	int own_pid, fd, err;
	uid_t uid;

	err = read_ids(pid, &uid, &own_pid);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", own_pid);
	if (mounts__path_may_hang(pid, path))
		return -EREMOTEIO;
	found = syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (found < 0)
		return -errno;
	if (fstat(found, &st))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	/* A second name would let one user pass another's file for his own. */
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || (st.st_uid != uid && st.st_uid != 0))
		return -EPERM;
	fd = elffile__open_found(found);
	return fd < 0 ? fd : jitmap__over(fd, path, ret);
}
