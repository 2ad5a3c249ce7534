// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the functions of one JIT's list, in the order of their addresses, the
 * newest first where several begin: code is thrown away and its place used
 * again, and only the list's order shows which.
 *
 * The list is whatever the process wrote: a line that makes no sense is left
 * out, and so is everything beyond the bounds. It is read, never mapped.
 */
#include "elf/code_book.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "elf/apart.h"
#include "elf/elffile.h"
#include "process/process.h"
#include "util/parse.h"
#include "util/sorted.h"

#define JITMAP_NAME_MAX 4096	/* bytes; the rest of a longer name is left out */
#define LIST_MAX (256ull << 20)		/* bytes read over its life */
#define COPY_MAX (32ull << 20)		/* of a list whose file system may not answer */
#define FUNCTIONS_MAX (1u << 20)
#define NAMES_MAX (128u << 20)		/* bytes */
#define CHUNK_BYTES (256 * 1024)
#define BACK_MAX 64			/* older functions tried, where newer ones have taken part of their place */

struct function {
	uint64_t start, end;
	size_t name;		/* in names */
	uint32_t order;
};

struct functions vec(struct function);
struct names vec(char);

struct jitmap {
	struct functions functions;
	struct names names;
	uint64_t read_bytes;	/* of the file, whole lines */
	uint64_t all_bytes;	/* the same over its life: it may be begun anew again and again */
	uint32_t n_added;
	bool sorted;
	struct trial_list list;	/* root is owned; where it is copied from, of an object that is remote */
};

COMPARATOR(by_start, struct function, ORDER(a->start, b->start) ?: ORDER(a->order, b->order))

static bool take_hex(const char **p, const char *end, uint64_t *ret)
{
	if (end - *p > 2 && (*p)[0] == '0' && ((*p)[1] == 'x' || (*p)[1] == 'X'))
		*p += 2;
	return scan_number(p, end, 16, ret);
}

static bool skip_blanks(const char **p, const char *end)
{
	const char *from = *p;

	while (*p < end && (**p == ' ' || **p == '\t'))
		(*p)++;
	return *p > from;
}

static void add_function(struct jitmap *j, uint64_t start, uint64_t end, const char *name, size_t len)
{
	size_t at = j->names.n;

	if (j->functions.n >= FUNCTIONS_MAX || at >= NAMES_MAX)
		return;
	*vec_push(&j->functions) = (struct function){ .start = start, .end = end, .name = at, .order = j->n_added++ };
	vec_append(&j->names, name, len);
	vec_append(&j->names, "", 1);
	clean_name(j->names.v + at);
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

/* The list's lines in text, which need not end in a newline: what is incomplete is left. Returns the bytes taken. */
static size_t parse(struct jitmap *j, const char *text, size_t len)
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
	vec_sort(&j->functions, by_start);
	/* of those that begin at one place only the newest is still there */
	for (size_t i = 0; i < j->functions.n; i++) {
		if (i + 1 < j->functions.n && j->functions.v[i + 1].start == j->functions.v[i].start)
			continue;
		j->functions.v[out++] = j->functions.v[i];
	}
	j->functions.n = out;
}

static void read_lines(struct object *obj)
{
	_cleanup_stint_ struct stint stint = stint__begin();
	struct jitmap *j = obj->jit;
	_cleanup_free_ char *buf = xmalloc(CHUNK_BYTES);

	while (j->all_bytes < LIST_MAX && !stint__is_over()) {
		ssize_t got = pread(obj->fd, buf, CHUNK_BYTES, j->read_bytes);
		size_t taken = got > 0 ? parse(j, buf, got) : 0;

		/* a line as long as the chunk is no line */
		if (got == CHUNK_BYTES && !taken)
			taken = got;
		if (!taken)
			break;
		j->read_bytes += taken;
		j->all_bytes += taken;
	}
}

/* ---- asked of the sandbox */

struct answer {
	uint64_t upto;		/* how far the list was read */
	struct functions functions;
	struct names names;
};

static const struct wire_field request_fields[] = { { .kind = WIRE_NUMBER, .size = sizeof(uint64_t), .most = UINT64_MAX } };
static const struct wire_type request_type = WIRE_TYPE(uint64_t, request_fields);	/* from where on */

static const struct wire_field answer_fields[] = {
	WIRE_ANY(struct answer, upto),
	WIRE_PLAIN_VEC(struct answer, functions),
	WIRE_PLAIN_VEC(struct answer, names),
};

static bool is_answer(const void *record)
{
	const struct answer *a = record;
	bool is = !a->functions.n || (a->names.n && !a->names.v[a->names.n - 1]);

	for (size_t i = 0; i < a->functions.n && is; i++) {
		const struct function *f = &a->functions.v[i];
		size_t len = f->name < a->names.n ? strnlen(a->names.v + f->name, JITMAP_NAME_MAX + 1) : 0;

		is = f->start < f->end && len && len <= JITMAP_NAME_MAX;
	}
	return is;
}

static const struct wire_type answer_type = WIRE_TYPE(struct answer, answer_fields, is_answer);

static int serve(struct reader_request *q, const void *args, void *ret)
{
	struct answer *to = ret;
	struct object *obj = jitmap__over(q->fd, "");

	q->fd = -1;
	/* one that was begun anew meanwhile has nothing there: it will be asked for from its beginning */
	obj->jit->read_bytes = *(const uint64_t *)args;
	read_lines(obj);
	*to = (struct answer){ obj->jit->read_bytes, obj->jit->functions, obj->jit->names };
	obj->jit->functions = (struct functions){};
	obj->jit->names = (struct names){};
	object__put(obj);
	return 0;
}

const struct reader_question jitmap_question = { READ_JIT_LIST, &request_type, &answer_type, serve };

static void ask_lines(struct object *obj)
{
	apart_cleanup struct apart a = { .about = &jitmap_question, .fd = obj->fd, .path = obj->path };
	struct jitmap *j = obj->jit;
	struct answer got = {};

	if (j->all_bytes >= LIST_MAX || apart__ask(&a, &j->read_bytes, &got, NULL))
		return;
	if (got.upto < j->read_bytes) {
		apart__distrust(&a, &got);
		return;
	}
	for (size_t i = 0; i < got.functions.n; i++) {
		const char *name = got.names.v + got.functions.v[i].name;

		add_function(j, got.functions.v[i].start, got.functions.v[i].end, name, strlen(name));
	}
	j->all_bytes += got.upto - j->read_bytes;
	j->read_bytes = got.upto;
	wire_type__done(&answer_type, &got);
}

void jitmap__refresh(struct object *obj)
{
	struct jitmap *j = obj->jit;
	struct stat st;

	if (obj->remote)
		trial__copy_list(&j->list, obj->fd);
	if (fstat(obj->fd, &st))
		return;
	/* begun anew: another run of the same pid, or a list that is rewritten whole */
	if ((uint64_t)st.st_size < j->read_bytes) {
		j->functions.n = j->names.n = 0;
		j->read_bytes = j->n_added = 0;
	}
	if ((uint64_t)st.st_size == j->read_bytes)
		return;
	if (readers__are_apart())
		ask_lines(obj);
	else
		read_lines(obj);
	sort(j);
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
	trial_charge__set(&j->list.charge, 0);
	if (j->list.root > 0)
		close(j->list.root);
	free(j);
}

struct object *jitmap__over(int fd, const char *path)
{
	struct object *obj = object__make((struct object){ .fd = fd, .path = xstrdup(path), .jit = xcalloc(1, sizeof(struct jitmap)) });

	clean_name(obj->path);
	return obj;
}

int jitmap__open(pid_t pid, struct object **ret)
{
	struct trial_list list = { .pid = pid, .max = COPY_MAX };
	_cleanup_close_ int root = -1, found = -1;
	char path[64];
	pid_t own_pid;
	int fd, err = process__ids(pid, &list.user, &own_pid);

	if (err)
		return err;
	root = path_walk__root_of(pid);
	if (root < 0)
		return root;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", own_pid);
	list.root = root;
	list.path = path;
	if (trial__find_list(&list, &found)) {
		fd = found < 0 ? found : elffile__open_found(found);
		if (fd < 0)
			return fd;
		*ret = jitmap__over(fd, path);
		return 0;
	}
	fd = memfd_create("malloctrace-list", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = trial__copy_list(&list, fd);
	if (err) {
		trial_charge__set(&list.charge, 0);
		close(fd);
		return err;
	}
	*ret = jitmap__over(fd, path);
	(*ret)->remote = true;
	(*ret)->jit->list = list;
	(*ret)->jit->list.path = (*ret)->path;
	(*ret)->jit->list.root = root;
	root = -1;
	return 0;
}
