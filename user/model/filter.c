// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns which stacks are shown. What always holds: what is hidden is counted, so
 * that every view can say how much it does not show; each name is matched once,
 * however many stacks it is in.
 */
#include "model/filter.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "model/remap.h"
#include "util/invoker.h"
#include "util/own_name.h"
#include "util/util.h"

#define LEAK "leak:"

/* ---- patterns */

/* Does pattern, in which '*' is anything, match s from its start? to_end: up to its end, too. */
static bool glob(const char *pattern, size_t len, const char *s, bool to_end)
{
	const char *star = NULL, *star_s = NULL, *p = pattern, *end = pattern + len;

	for (;;) {
		if (p == end && (!to_end || !*s))
			return true;
		if (p < end && *p == '*') {
			star = ++p;
			star_s = s;
			continue;
		}
		if (p < end && *s && *p == *s) {
			p++;
			s++;
			continue;
		}
		/* the last star takes one more */
		if (!star || !*star_s)
			return false;
		p = star;
		s = ++star_s;
	}
}

bool suppression__matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);
	bool to_end = len && pattern[len - 1] == '$';

	len -= to_end;
	if (len && *pattern == '^')
		return glob(pattern + 1, len - 1, name, to_end);
	for (; *name; name++)
		if (glob(pattern, len, name, to_end))
			return true;
	return false;
}

static int compile(regex_t *to, const char *option, const char *regex, struct err *e)
{
	int code = regcomp(to, regex, REG_EXTENDED | REG_NOSUB);
	char text[128];

	if (!code)
		return 0;
	regerror(code, to, text, sizeof(text));
	return err_set(e, -EINVAL, "%s %s: want a POSIX extended regular expression: %s", option, regex, text);
}

int filter__check_regex(const char *option, const char *regex, struct err *e)
{
	regex_t r;
	int err = compile(&r, option, regex, e);

	if (!err)
		regfree(&r);
	return err;
}

/* leak:PATTERN, a comment, or nothing */
static int read_suppression(struct filter *f, const char *line, struct err *e)
{
	char **slot;
	size_t len;

	line += strspn(line, " \t");
	len = strcspn(line, "\n");
	while (len && isspace((unsigned char)line[len - 1]))
		len--;
	if (!len || *line == '#')
		return 0;
	if (len <= strlen(LEAK) || strncmp(line, LEAK, strlen(LEAK)))
		return err_set(e, -EINVAL, "'%.*s': want lines like leak:FUNCTION", (int)len, line);
	slot = vec_push(&f->suppressions);
	*slot = xstrndup(line + strlen(LEAK), len - strlen(LEAK));
	return 0;
}

static int read_suppressions(struct filter *f, const char *path, struct err *e)
{
	_cleanup_close_ int fd = invoker__open_named(path);
	_cleanup_free_ char *text = NULL;
	int err = fd < 0 ? fd : read_small_fd(fd, &text, NULL);
	size_t n = 1;

	if (err)
		return err_set(e, err, "--suppressions %s: %s", path, strerror(-err));
	for (const char *line = text; line && *line && !err; n++) {
		err = read_suppression(f, line, e);
		if (err)
			return err_wrap(e, err, "--suppressions %s, line %zu", path, n);
		line = strchr(line, '\n');
		if (line)
			line++;
	}
	return err;
}

int filter__init(struct filter *f, const char *only, const char *hide, const char *suppressions, struct err *e)
{
	int err = 0;

	*f = (struct filter){};
	if (only) {
		err = compile(&f->only, "--filter", only, e);
		f->has_only = !err;
	}
	if (!err && hide) {
		err = compile(&f->hide, "--hide", hide, e);
		f->has_hide = !err;
	}
	if (!err && suppressions) {
		f->has_suppressions = true;
		err = read_suppressions(f, suppressions, e);
	}
	if (err)
		filter__done(f);
	return err;
}

void filter__done(struct filter *f)
{
	if (f->has_only)
		regfree(&f->only);
	if (f->has_hide)
		regfree(&f->hide);
	for (size_t i = 0; i < f->suppressions.n; i++)
		free(f->suppressions.v[i]);
	vec_done(&f->suppressions);
	*f = (struct filter){};
}

bool filter__any(const struct filter *f)
{
	return f->has_only || f->has_hide || f->has_suppressions;
}

/* ---- names */

enum match { MATCH_ONLY = 1, MATCH_HIDE = 2, MATCH_SUPPRESSED = 4 };

/* By re_search(): regexec() says that nothing matches where it had no memory to find that out. */
static bool matches(const regex_t *r, const char *name)
{
	int len = (int)strlen(name), at = re_search((regex_t *)r, name, len, 0, len, NULL);

	if (at == -2)
		xmalloc__end();
	return at >= 0;
}

static unsigned int match_name(const struct filter *f, const char *name)
{
	unsigned int ret = 0;

	if (!name || !*name)
		return 0;
	if (f->has_only && matches(&f->only, name))
		ret |= MATCH_ONLY;
	if (f->has_hide && matches(&f->hide, name))
		ret |= MATCH_HIDE;
	for (size_t i = 0; i < f->suppressions.n && !(ret & MATCH_SUPPRESSED); i++)
		if (suppression__matches(f->suppressions.v[i], name))
			ret |= MATCH_SUPPRESSED;
	return ret;
}

/* By the whole name, and by the one that rows show: "^leaf$" means that one. */
static unsigned int match_function(const struct filter *f, const char *name)
{
	unsigned int ret = match_name(f, name);
	_cleanup_free_ char *shown = name && (f->has_only || f->has_hide) && strpbrk(name, "( <") ? own_name__shown(name) : NULL;

	return ret | (match_name(f, shown) & ~MATCH_SUPPRESSED);
}

bool filter__names(const struct filter *f, const char *name)
{
	return f->has_only && match_function(f, name) & MATCH_ONLY;
}

static unsigned int match_place(const struct filter *f, const struct snapshot *s, const struct place *p,
				unsigned int of_module)
{
	unsigned int ret = of_module;

	for (size_t i = 0; i < place__n_frames(p); i++) {
		struct frame frame = place__frame(s, p, i);

		if (frame.line)
			ret |= match_function(f, frame.line->function) | match_name(f, frame.line->file);
	}
	return ret;
}

/* What each place matches; the caller's. */
static unsigned char *match_all(const struct filter *f, const struct snapshot *s)
{
	_cleanup_free_ unsigned char *modules = xcalloc(s->n_modules + 1, 1);
	unsigned char *places = xcalloc(s->n_places + 1, 1);

	for (size_t i = 0; i < s->n_modules; i++)
		modules[i] = (unsigned char)match_name(f, s->modules[i].path);
	for (size_t i = 0; i < s->n_places; i++)
		places[i] = (unsigned char)match_place(f, s, &s->places[i], s->places[i].module >= 0 ? modules[s->places[i].module] : 0);
	return places;
}

static bool is_shown(const struct filter *f, const struct snap_site *site, const unsigned char *places)
{
	/* suppressions are for the allocating code: every allocation goes through "malloc" */
	unsigned int match = match_name(f, site->function) & ~MATCH_SUPPRESSED;

	for (uint32_t i = 0; i < site->n_stack; i++)
		match |= places[site->stack[i]];
	return (!f->has_only || match & MATCH_ONLY) && !(match & (MATCH_HIDE | MATCH_SUPPRESSED));
}

static const char *options_of(const struct filter *f)
{
	static const char *const names[] = {
		"", "--filter", "--hide", "--filter, --hide", "--suppressions", "--filter, --suppressions",
		"--hide, --suppressions", "--filter, --hide, --suppressions",
	};

	return names[(f->has_only ? 1 : 0) | (f->has_hide ? 2 : 0) | (f->has_suppressions ? 4 : 0)];
}

static void hide(struct snap_hidden *h, const struct counters *c)
{
	const struct snap_hidden one = { NULL, 1, c->alloc_calls, c->alloc_bytes,
					 c->live_blocks, c->live_bytes };

	fields__merge(&hidden_fields, h, &one);
}

struct snapshot *snapshot__filter(const struct snapshot *s, const struct filter *f)
{
	struct snapshot *to = snapshot__like(s);
	_cleanup_free_ unsigned char *places = match_all(f, s);
	_cleanup_free_ uint32_t *site_of = xcalloc(s->n_sites + 1, sizeof(*site_of));
	/* what a heap itself says stays; lists of blocks are narrowed to those of the sites that are left */
	const struct remap map = { .of[TABLE_SITES] = site_of, .drop_older = f->has_only };

	to->hidden.by = options_of(f);
	for (size_t i = 0; i < s->n_sites; i++)
		if (!is_shown(f, &s->sites[i], places)) {
			site_of[i] = ROW_GONE;
			hide(&to->hidden, &s->sites[i].c);
		}
	to->sites = snapshot__alloc(to, s->n_sites + 1, sizeof(*to->sites));
	to->n_sites = rows__remap(to, TABLE_SITES, s->sites, s->n_sites, to->sites, &map, site_of);
	snapshot__remap(to, s, &map);
	return to;
}
