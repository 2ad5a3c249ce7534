// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing beyond a call. What always holds: a file is read only if its name is that of a source, the invoking user may
 * open it, and everybody may read it, or that user owns it; no more of it is held than SOURCE_MAX_BYTES; text is clean and has no tabs.
 */
#include "names/source.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "elf/elffile.h"
#include "process/mounts.h"
#include "util/invoker.h"
#include "util/util.h"

#define SOURCE_MAX_BYTES (8u << 20)
#define SOURCE_MAX_FILES 4096
#define EMBED_MAX_BYTES (64u << 20)
#define LINE_MAX_COLS 240
#define TAB_COLS 4

struct want {
	const char *dir, *file, *module;	/* dir NULL: file is absolute */
	uint32_t line;
};

struct wants vec(struct want);

COMPARATOR(by_file_and_line, struct want,
	   strcmp(a->file, b->file) ?: strcmp(a->dir ?: "", b->dir ?: "") ?: ORDER(a->line, b->line))

static bool same_file(const struct want *a, const struct want *b)
{
	return !strcmp(a->file, b->file) && !strcmp(a->dir ?: "", b->dir ?: "");
}

static bool is_there(const struct snapshot *s, const struct line *l)
{
	for (size_t i = 0; i < s->n_sources; i++)
		if (snap_source__is_of(&s->sources[i], l) && l->line >= s->sources[i].from &&
		    l->line - s->sources[i].from < s->sources[i].n)
			return true;
	return false;
}

static void collect(struct wants *w, const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_places; i++) {
		const struct place *p = &s->places[i];

		for (size_t k = 0; p->resolved && k < p->n_lines; k++) {
			const struct line *l = &p->lines[k];

			if (!l->file || !l->line || is_there(s, l))
				continue;
			*vec_push(w) = (struct want){ l->dir, l->file, p->module >= 0 ? s->modules[p->module].path : NULL,
						      l->line };
		}
	}
	vec_sort(w, by_file_and_line);
}

/* ---- files */

/* A target's debug information, and a profile that somebody sent, may name every file: keys and passwords are no sources. */
static bool is_source(const char *path)
{
	static const char *const suffixes[] = {
		"c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "c++", "h++", "inl", "inc", "ipp", "tpp", "tcc", "def", "cu", "m", "mm", "s", "S", "asm",
		"rs", "go", "d", "zig", "nim", "swift", "f", "f90", "f95", "f03", "F", "F90", "for", "adb", "ads", "pas", "pp", "y", "l", "yy", "ll", "rl",
		"py", "pyx", "rb", "java", "kt", "scala", "cs", "fs", "ml", "mli", "hs", "js", "ts", "php", "erl", "ex", "lua", "pl", "tcl", "vala", "cr",
	};
	const char *name = path_basename(path), *dot = strrchr(name, '.');

	/* those of the C++ library have none: <vector> */
	if (!dot)
		return !strncmp(path, "/usr/include/", strlen("/usr/include/"));
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (!strcmp(dot + 1, suffixes[i]))
			return true;
	return false;
}

/* Root may read everything. */
static bool may_show(const struct stat *st)
{
	uid_t uid = geteuid();
	gid_t gid;

	if (st->st_mode & S_IROTH)
		return true;
	return (uid || invoker__find(&uid, &gid)) && st->st_uid == uid;
}

static bool is_newer(const struct stat *source, const char *module)
{
	_cleanup_close_ int fd = module && module[0] == '/' ? path_walk__served(module) : -1;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return false;
	return source->st_mtim.tv_sec > st.st_mtim.tv_sec;
}

struct text {
	char *bytes;		/* owned */
	size_t len;
	bool newer;
};

/* Below sudo as the user who called it; a regular file. */
static int open_source(const char *path)
{
	struct invoker_rights r = invoker__begin_below_sudo();
	_cleanup_close_ int found = path_walk__served(path);
	int fd = found < 0 ? found : elffile__open_found(found);

	invoker__end(&r);
	return fd;
}

static const char *read_file(const char *path, const char *module, struct text *ret)
{
	_cleanup_close_ int fd = is_source(path) ? open_source(path) : -ENOEXEC;
	struct stat st;
	ssize_t n;

	if (fd == -ENOEXEC)
		return "no source file by its name";
	if (fd == -EXDEV)
		return "it is on a file system that may not answer";
	if (fd < 0 || fstat(fd, &st))
		return strerrordesc_np(fd < 0 ? -fd : errno);
	if (!may_show(&st))
		return "not everybody may read it";
	if (st.st_size <= 0 || st.st_size > SOURCE_MAX_BYTES)
		return "no source file by its size";
	ret->bytes = xmalloc((size_t)st.st_size);
	while (ret->len < (size_t)st.st_size && (n = read(fd, ret->bytes + ret->len, (size_t)st.st_size - ret->len)) > 0)
		ret->len += (size_t)n;
	ret->newer = is_newer(&st, module);
	return NULL;
}

/* As a screen shows it: tabs are spaces, what is no text is gone, and a long line is cut. */
static void show_line(char buf[static LINE_MAX_COLS + TAB_COLS + 1], const char *at, size_t len)
{
	size_t cols = 0;

	for (size_t i = 0; i < len && cols < LINE_MAX_COLS; i++) {
		if (at[i] == '\t') {
			do
				buf[cols++] = ' ';
			while (cols % TAB_COLS && cols < LINE_MAX_COLS);
		} else if (at[i] && at[i] != '\r') {
			buf[cols++] = at[i];
		}
	}
	while (cols && buf[cols - 1] == ' ')
		cols--;
	buf[cols] = '\0';
	clean_name(buf);
}

/* Where its lines begin. */
struct begins vec(size_t);

static void find_lines(struct begins *b, const struct text *t)
{
	for (size_t at = 0; at < t->len;) {
		const char *end = memchr(t->bytes + at, '\n', t->len - at);

		*vec_push(b) = at;
		at = end ? (size_t)(end - t->bytes) + 1 : t->len;
	}
}

/* Line number, from 1 on. */
static void line_at(const struct begins *b, const struct text *t, size_t number, char buf[static LINE_MAX_COLS + TAB_COLS + 1])
{
	size_t begin = b->v[number - 1], end = number < b->n ? b->v[number] : t->len;

	if (t->bytes[end - 1] == '\n')
		end--;
	show_line(buf, t->bytes + begin, end - begin);
}

/* ---- ranges */

struct ranges {
	struct vec(struct snap_source) v;
	size_t bytes;		/* of text */
};

static void add_none(struct ranges *r, struct snapshot *s, const struct want *v, const char *why)
{
	*vec_push(&r->v) = (struct snap_source){ .dir = v->dir, .file = v->file, .why = snapshot__strdup(s, why) };
}

/* The wanted lines of one file, and those around them: one range where they touch. */
static void add_ranges(struct ranges *r, struct snapshot *s, const struct want *v, size_t n, const struct text *t, uint32_t around)
{
	struct begins begins = {};
	bool short_of = false;

	find_lines(&begins, t);
	for (size_t i = 0; i < n;) {
		uint32_t from = v[i].line > around ? v[i].line - around : 1, to = v[i].line;
		const char **text;

		for (; i < n && (v[i].line <= to || v[i].line - to <= 2 * around + 1); i++)
			to = v[i].line;
		/* another file than the one that was compiled */
		short_of |= to > begins.n;
		if (from > begins.n)
			continue;
		to = (uint32_t)MIN((size_t)to + around, begins.n);
		text = snapshot__alloc(s, to - from + 2, sizeof(*text));
		for (uint32_t k = from; k <= to; k++) {
			char buf[LINE_MAX_COLS + TAB_COLS + 1];

			line_at(&begins, t, k, buf);
			text[k - from] = snapshot__strdup(s, buf);
			r->bytes += strlen(text[k - from]);
		}
		*vec_push(&r->v) = (struct snap_source){ .dir = v->dir, .file = v->file, .newer = t->newer, .from = from,
							 .n = to - from + 1, .text = text };
	}
	vec_done(&begins);
	if (short_of)
		add_none(r, s, v, "it has fewer lines than the program was built from");
}

/* In the folder that the compiler had; else in the one that malloctrace was started in. */
static const char *read_named(const char *dir, const char *file, const char *module, struct text *ret, char path[static SOURCE_PATH_MAX])
{
	bool within = file[0] != '/' && dir;

	const char *why;

	if (snprintf(path, SOURCE_PATH_MAX, "%s%s%s", within ? dir : "", within ? "/" : "", file) >= SOURCE_PATH_MAX)
		return "its name is too long";
	why = read_file(path, module, ret);
	return why && within && !read_file(file, module, ret) ? NULL : why;
}

static void add_file(struct ranges *r, struct snapshot *s, const struct want *v, size_t n, uint32_t around, struct sources_read *ret)
{
	char path[SOURCE_PATH_MAX];
	struct text t = {};
	const char *why = read_named(v->dir, v->file, v->module, &t, path);

	ret->n_files++;
	if (!why)
		add_ranges(r, s, v, n, &t, around);
	else
		add_none(r, s, v, why);
	if (why && !ret->n_missing++) {
		snprintf(ret->path, sizeof(ret->path), "%s", path);
		ret->why = why;
	}
	free(t.bytes);
}

static bool is_of_this_machine(const struct snapshot *s)
{
	struct utsname here;

	return !s->host || uname(&here) || !strcmp(s->host, here.nodename);
}

void sources__read(struct snapshot *s, uint32_t around, struct sources_read *ret)
{
	struct ranges r = {};
	struct wants w = {};

	collect(&w, s);
	*ret = (struct sources_read){ .elsewhere = !is_of_this_machine(s) };
	/* a file of that name is another one here */
	for (size_t i = 0; i < w.n && ret->elsewhere; i++)
		if (!i || !same_file(&w.v[i - 1], &w.v[i]))
			add_none(&r, s, &w.v[i], "it was recorded on another machine: record with --embed-source");
	if (ret->elsewhere)
		w.n = 0;
	for (size_t i = 0, n; i < w.n; i += n) {
		for (n = 1; i + n < w.n && same_file(&w.v[i], &w.v[i + n]); n++)
			;
		if (ret->n_files == SOURCE_MAX_FILES || r.bytes > EMBED_MAX_BYTES) {
			ret->cut = true;
			break;
		}
		add_file(&r, s, &w.v[i], n, around, ret);
	}
	if (r.v.n) {
		struct snap_source *all = snapshot__alloc(s, s->n_sources + r.v.n, sizeof(*all));

		if (s->n_sources)
			memcpy(all, s->sources, s->n_sources * sizeof(*all));
		memcpy(all + s->n_sources, r.v.v, r.v.n * sizeof(*all));
		s->sources = all;
		s->n_sources += r.v.n;
	}
	vec_done(&r.v);
	vec_done(&w);
}

struct source_file *source_file__read(const struct line *l, const char *module)
{
	struct source_file *f = xcalloc(1, sizeof(*f));
	struct begins begins = {};
	struct text t = {};
	const char **text;

	f->why = read_named(l->dir, l->file, module, &t, f->path);
	f->file = xstrdup(l->file);
	f->dir = l->dir ? xstrdup(l->dir) : NULL;
	if (!f->why)
		find_lines(&begins, &t);
	text = xcalloc(begins.n + 1, sizeof(*text));
	for (size_t i = 0; !f->why && i < begins.n; i++) {
		char buf[LINE_MAX_COLS + TAB_COLS + 1];

		line_at(&begins, &t, i + 1, buf);
		text[i] = xstrdup(buf);
		f->lines.n++;
	}
	f->lines = (struct snap_source){ .file = f->file, .dir = f->dir, .newer = t.newer, .from = 1, .n = f->lines.n, .text = text };
	free(t.bytes);
	vec_done(&begins);
	return f;
}

void source_file__free(struct source_file *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; f->lines.text && i < f->lines.n; i++)
		free((char *)f->lines.text[i]);
	free((void *)f->lines.text);
	free(f->file);
	free(f->dir);
	free(f);
}
