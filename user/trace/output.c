// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the symbol cache. Names are looked up for what will be shown, and no more. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "elf/object.h"
#include "elf/symtab.h"
#include "files/outfile.h"
#include "model/group.h"
#include "names/packages.h"
#include "present/caveats.h"
#include "present/rows.h"
#include "present/sentence.h"
#include "trace/output.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/util.h"

#define COLUMNS_MAX 1000
#define PATIENCE_NS (SECOND_NS / 2)	/* before progress is shown */

static void on_changed(const char *path, void *arg)
{
	say_verbose("%s was changed after it was mapped: its names are not used", path);
}

static void on_split(const char *path, void *arg)
{
	say("%s: functions inlined in it are not shown: it was built with -gsplit-dwarf, and .dwo files are not read", path);
}

/* malloctrace: debuginfod: libc.so.6: 12.5 of 37.0 MiB */
static void on_progress(const char *path, long done_bytes, long total_bytes, void *arg)
{
	if (total_bytes)
		say_progress("debuginfod: %s: %.1f of %.1f MiB", path, done_bytes / 1048576.0, total_bytes / 1048576.0);
	else
		say_progress("debuginfod: %s: waiting for a server", path);
}

static void on_done(const char *path, int err, void *arg)
{
	say_progress(NULL);
	if (!err)
		say("debuginfod: downloaded the debug file of %s", path);
	else if (err == -ENOENT)
		say("debuginfod: no server has a debug file of %s, or none sent it in the last minutes, which libdebuginfod remembers", path);
	else if (err == -EFBIG)
		say("debuginfod: the debug file of %s was not downloaded: it has more than 1 GiB, or cannot be stored", path);
	else
		say("debuginfod: %s: %s; no more files are requested", path, strerror(-err));
}

/* Mangled names are taken, too: what is shown is not mangled. */
static int add_tags(struct output *o, struct err *e)
{
	for (size_t i = 0; i < o->opts->tags.n; i++) {
		const char *name = o->opts->tags.v[i], *function;
		char readable[DEMANGLE_OUT_MAX + 1];
		_cleanup_free_ char *whole = NULL;
		struct func_ref r;

		if (!func_ref__parse(name, &r))
			return err_set(e, -EINVAL, "--tag %s: want a function", name);
		function = r.function;
		demangle(function, readable);
		whole = xasprintf("%.*s%s", (int)(function - name), name, readable);
		tagger__add(&o->tagger, name, whole);
	}
	return 0;
}

/* A terminal's size is what it is when something is printed. A pipe has none, unless COLUMNS says so: names are whole there. */
static void ask_size(struct output *o)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	/* a size of 0: the terminal does not know */
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size)) {
		o->export.report.whole_names = !columns || parse_u64(columns, 1, COLUMNS_MAX, &n);
		if (!o->export.report.whole_names)
			o->export.report.width = n;
		return;
	}
	o->export.report.height = size.ws_row;
	o->export.report.width = MIN(size.ws_col, 120);
}

int output__init(struct output *o, const struct opts *opts, struct err *e)
{
	struct debuginfod_calls calls = { .progress = on_progress, .done = on_done, .arg = o };
	struct sym_opts sym = { .no_inlines = opts->no_inlines,
				.no_source = opts->no_source,
				.on_changed = on_changed,
				.on_split = on_split };
	int err;

	*o = (struct output){ .opts = opts, .to_stdout = export__find_by_name("text") };
	o->export.metric = metric__find(opts->metric);
	o->export.threshold_pct = opts->threshold_pct > 0 ? opts->threshold_pct : -1;
	o->export.report = (struct report_opts){
		.verbose = o->opts->verbosity == LOG_VERBOSE,
		.views = opts->views,
		.sort = opts->sort,
		.top = opts->top,
		.older_ns = opts->recording.older_ns,
		.between_from_ns = opts->between_from_ns,
		.between_to_ns = opts->between_to_ns,
		.metric = metric__find(opts->metric),
		.threshold_pct = opts->threshold_pct,
		.callees = !strcmp(opts->tree, "callees"),
		.filter = &o->filter,
		.tellings = &o->tellings,
	};
	o->series = xcalloc(opts->outputs.n + 1, sizeof(*o->series));
	ask_size(o);
	for (size_t i = 0; i < opts->outputs.n; i++) {
		_cleanup_free_ char *first = outname__expand(opts->outputs.v[i], 0, getpid(), 1);
		const char *path = outname__is_pattern(opts->outputs.v[i]) ? first : opts->outputs.v[i];

		if (!strcmp(path, "-")) {
			o->to_stdout = export__find_by_name(opts->format);
			continue;
		}
		err = outfile__check(path, e);
		if (err)
			return err_wrap(e, err, "-o %s", path);
		/* it runs for weeks, and again after each reload: what --keep allows is meant for all of them */
		if (opts->serve.on)
			outname_series__find(&o->series[i], opts->outputs.v[i]);
	}
	err = output__prints(o) ? outfile__check("-", e) : 0;
	if (!err)
		err = filter__init(&o->filter, opts->filter, opts->hide, opts->suppressions, e);
	if (!err)
		err = add_tags(o, e);
	if (err)
		return err;
	if (opts->debuginfod) {
		err = debuginfod__new(&calls, &o->debuginfod, e);
		if (err)
			return err;
		sym.debuginfod = o->debuginfod;
	}
	o->sym = sym__new(&sym);
	return 0;
}

bool output__prints(const struct output *o)
{
	/* who asks has got answers */
	if (o->opts->serve.on)
		return false;
	/* the lines are what was requested */
	if (o->opts->events && o->opts->verbosity == LOG_QUIET)
		return false;
	return o->opts->verbosity != LOG_QUIET || !o->opts->outputs.n || o->to_stdout != export__find_by_name("text");
}

bool output__is_read(const struct output *o)
{
	bool read = output__prints(o) && o->to_stdout == export__find_by_name("text");

	for (size_t i = 0; i < o->opts->outputs.n && !o->opts->serve.on; i++)
		read |= !strcmp(opts__output_format(o->opts, o->opts->outputs.v[i]), "html");
	return read;
}

bool output__has_age_classes(const struct output *o)
{
	bool has = o->to_stdout->carries_ages || o->opts->views & VIEW_LIFETIMES || o->writes_any;

	for (size_t i = 0; i < o->opts->outputs.n && !has; i++) {
		const struct export_format *f = export__find_by_name(opts__output_format(o->opts, o->opts->outputs.v[i]));

		has = f && f->carries_ages;
	}
	return has;
}

void output__done(struct output *o)
{
	sym__free(o->sym);
	o->sym = NULL;
	debuginfod__free(o->debuginfod);
	o->debuginfod = NULL;
	tellings__done(&o->tellings);
	filter__done(&o->filter);
	tagger__done(&o->tagger);
	for (size_t i = 0; o->series && i < o->opts->outputs.n; i++)
		outname_series__done(&o->series[i]);
	free(o->series);
	o->series = NULL;
}

/* What is named in a row is asked for together. */
static void expect_place(struct output *o, const struct snapshot *s, const struct place *p)
{
	if (!p->resolved && p->module >= 0)
		sym__expect(o->sym, (struct object *)s->modules[p->module].handle, p->offset);
}

/* Names may take long: who waits sees why. */
static void show_progress(struct output *o)
{
	if (!o->began_ns || now_ns() - o->began_ns < PATIENCE_NS)
		return;
	say_progress("writing the report ...");
	o->began_ns = 0;
	o->shows_progress = true;
}

static void name_place(struct output *o, struct snapshot *s, struct place *p)
{
	struct object *obj = p->module >= 0 ? (struct object *)s->modules[p->module].handle : NULL;

	if (p->resolved)
		return;
	p->resolved = true;
	show_progress(o);
	if (!obj)
		return;
	p->n_lines = sym__resolve(o->sym, obj, p->offset, &p->lines);
	/*
	 * signal handlers return to the first instruction of a function that no code called: no
	 * call stands before it
	 */
	if (!p->lines[0].function && !strcmp(s->modules[p->module].path, "[vdso]"))
		p->n_lines = sym__resolve(o->sym, obj, p->offset + 1, &p->lines);
}

static void name_free_sites(struct output *o, struct snapshot *s, const size_t *sites, size_t n_sites)
{
	_cleanup_free_ uint32_t *shown = NULL;
	size_t n = 0;

	free_places__shown(s, sites, n_sites, &shown, &n);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < s->free_sites[shown[i]].n_stack; k++)
			name_place(o, s, &s->places[s->free_sites[shown[i]].stack[k]]);
}

static void name_shown(struct output *o, struct snapshot *s, bool brief)
{
	_cleanup_free_ size_t *shown = NULL;
	struct report_opts how = o->export.report;
	size_t n;

	how.brief = brief;
	report__shown(s, &how, &shown, &n);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < s->sites[shown[i]].n_stack; k++)
			expect_place(o, s, &s->places[s->sites[shown[i]].stack[k]]);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < s->sites[shown[i]].n_stack; k++)
			name_place(o, s, &s->places[s->sites[shown[i]].stack[k]]);
	if (s->recording.free_stacks)
		name_free_sites(o, s, shown, n);
}

/* *ret_named: the telling frame has a name, so no other is preferred to it (telling.c). */
static bool has_telling(const struct snapshot *s, const struct place *p, bool *ret_named)
{
	for (size_t i = 0; i < place__n_frames(p); i++) {
		struct frame f = place__frame(s, p, i);

		if (!frame__is_telling(&f))
			continue;
		*ret_named = f.line && f.line->function && *f.line->function;
		return true;
	}
	return false;
}

/*
 * Names that rows are found by: of each stack as many as its attributed frame needs, all stacks by one place at a time, so that
 * names of a file are requested together. A line of Python is looked for in the whole stack.
 */
static void name_attributed(struct output *o, struct snapshot *s)
{
	_cleanup_free_ bool *found = xcalloc(s->n_sites + 1, sizeof(*found));
	_cleanup_free_ enum { UNKNOWN, GOES_ON, SETTLES } *places = xcalloc(s->n_places + 1, sizeof(*places));
	bool any = true;

	for (uint32_t depth = 0; any; depth++) {
		any = false;
		for (size_t i = 0; i < s->n_sites; i++)
			if (!found[i] && depth < s->sites[i].n_stack)
				expect_place(o, s, &s->places[s->sites[i].stack[depth]]);
		for (size_t i = 0; i < s->n_sites; i++) {
			uint32_t at;

			if (found[i] || depth >= s->sites[i].n_stack)
				continue;
			at = s->sites[i].stack[depth];
			name_place(o, s, &s->places[at]);
			if (!places[at])
				places[at] = tellings__settles(NULL, s, at) ? SETTLES : GOES_ON;
			found[i] = places[at] == SETTLES;
			any |= !found[i];
		}
	}
}

static void give_names(struct output *o, struct snapshot *s, const struct export_format *f, bool brief)
{
	bool all = f->needs_all_names || filter__any(&o->filter) || tagger__any(&o->tagger);

	/* the sentence is about rows by line, whichever sites are shown */
	if (!all && f->for_people)
		name_attributed(o, s);
	if (!all && !brief)
		name_shown(o, s, false);
	for (size_t i = 0; all && i < s->n_places; i++)
		expect_place(o, s, &s->places[i]);
	for (size_t i = 0; all && i < s->n_places; i++)
		name_place(o, s, &s->places[i]);
}

bool output__name_stack(struct output *o, struct snapshot *s, size_t n_frames)
{
	bool filtered = filter__any(&o->filter), all = filtered, named = true, shown = true;
	uint32_t n_stack = s->sites->n_stack;
	size_t n_left = n_frames;

	for (uint32_t i = 0; i < n_stack && (all || n_left); i++) {
		struct place *p = &s->places[s->sites->stack[i]];

		name_place(o, s, p);
		if (n_left < n_frames || has_telling(s, p, &named))
			n_left -= n_left > 0;
		/* one further out may say more than a place without a name, as in the report */
		all |= !named;
	}
	if (filtered) {
		struct snapshot *left = snapshot__filter(s, &o->filter);

		shown = left->n_sites;
		snapshot__free(left);
	}
	return shown;
}

/* What was named and is nowhere: a function that was not called, or a misspelt one. */
static void tell_tags(struct output *o, const struct snapshot *s)
{
	if (o->said_tags || !s->ended)
		return;
	o->said_tags = true;
	for (uint32_t i = 0; i < s->n_tags; i++)
		if (!s->tags[i].thread && s->tags[i].entered == UINT64_MAX &&
		    !array_first(x, s->sites, s->n_sites, x->tag == i + 1))
			say("--tag %s: no stack of the trace has such a function: check its name, or trace for longer", s->tags[i].name);
}

/* What is shown of s; itself, or the caller's. */
static struct snapshot *shown_of(struct output *o, struct snapshot *s)
{
	if (tagger__any(&o->tagger))
		snapshot__tag(s, &o->tagger);
	tell_tags(o, s);
	return filter__any(&o->filter) ? snapshot__filter(s, &o->filter) : s;
}

/* Lines of source files, where what is written has them. */
static void give_source(struct output *o, struct snapshot *s, const struct export_format *f)
{
	bool embedded = f->carries_source && o->opts->embed_source;
	bool in_text = !strcmp(f->name, "text") && o->opts->views & VIEW_SOURCE;
	struct sources_read got;

	if (embedded || in_text)
		sources__read(s, SOURCE_AROUND, &got);
	if (!embedded || o->said_source)
		return;
	o->said_source = true;
	if (got.cut)
		say("--embed-source: there is more source than can be embedded: some lines are left out");
	if (got.n_missing)
		say("--embed-source: %zu of %zu source files could not be read, the first is %s: %s", got.n_missing, got.n_files, got.path, got.why);
	else if (got.elsewhere)
		say("--embed-source: the profile was recorded on another machine, whose source files are not here");
	else if (!got.n_files && !s->n_sources)
		say("--embed-source: no frame has a source file (is there debug information?)");
}

/* Do its paths mean files of this machine? Not those of a container, of a process with mounts of its own, nor of a profile that was read. */
static bool is_local(const struct snapshot *s, const struct missing_names *m)
{
	return !array_first(p, s->processes, s->n_processes, p->container) &&
	       !array_first(f, m->files, m->n_files, !(*f)->handle || !object__is_here((*f)->handle));
}

char *output__missing_names(const struct output *o, const struct snapshot *s)
{
	const char *files[MISSING_FILES];
	_cleanup_free_ char *install = NULL;
	struct missing_names m;
	bool traced = true;

	if (!missing_names__find(s, &m))
		return NULL;
	for (size_t i = 0; i < m.n_files; i++) {
		files[i] = m.files[i]->path;
		traced &= m.files[i]->handle != NULL;
	}
	if (is_local(s, &m))
		install = packages__debug("", files, m.n_files);
	return missing_names__words(&m, install, o->debuginfod, traced);
}

static struct snapshot *rows_of(struct output *o, const struct snapshot *s)
{
	tellings__begin(&o->tellings, s);
	return rows__of(s, &o->tellings, o->opts->leak_after_ns, NULL);
}

/* One screen has rows, which are sums of sites: the caller's; of s, which has the names that rows are found by. */
static struct snapshot *make_rows(struct output *o, struct snapshot *s)
{
	struct snapshot *rows = rows_of(o, s);

	name_shown(o, rows, true);
	return rows;
}

/* The same in every view of a snapshot: about rows, not about the stacks that one of them shows each by itself. The caller's. */
static char *sentence_of(struct output *o, const struct snapshot *s)
{
	struct snapshot *rows = rows_of(o, s);
	char *ret;

	tellings__begin(&o->tellings, rows);
	ret = sentence__of(rows, &o->tellings, SENTENCE_NAME_COLS);
	snapshot__free(rows);
	return ret;
}

static int write_one(struct output *o, struct snapshot *s, const char *path, const struct export_format *f,
		     struct err *e)
{
	_cleanup_free_ char *missing = NULL, *sentence = NULL;
	struct snapshot *shown, *rows = NULL;
	uint64_t began_ns = now_ns();
	/* what is read for one file is not for the next */
	const struct snap_source *sources = s->sources;
	size_t n_sources = s->n_sources;
	/* a file has no screen that could be flooded */
	bool one_screen = !(o->opts->views & ~VIEW_ALLOCS) && !o->opts->full && !o->export.report.between_to_ns;
	bool brief = !strcmp(f->name, "text") && !strcmp(path, "-") && one_screen;
	struct outfile out;
	int err;

	/* until it is written: no file may be large while one is downloaded (elf/debugfile.c) */
	names__pause(o->names);
	o->began_ns = began_ns;
	give_names(o, s, f, brief);
	shown = shown_of(o, s);
	give_source(o, shown, f);
	if (brief)
		rows = make_rows(o, shown);
	else if (f->for_people)
		sentence = sentence_of(o, shown);
	if (o->shows_progress)
		say_progress(NULL);
	o->began_ns = 0;
	o->shows_progress = false;
	if (f->needs & ~s->known)
		err = err_set(e, -EINVAL, "%s: what %s shows is not recorded", path, f->name);
	else
		err = outfile__open(&out, path, e);
	if (!err) {
		const struct snapshot *what = rows ? rows : shown;
		struct export_opts how = o->export;

		how.report.brief = brief;
		how.report.sentence = sentence;
		how.report.whole_names |= strcmp(path, "-") != 0;
		how.report.missing_names = missing = f == export__find_by_name("text") ? output__missing_names(o, what) : NULL;
		tellings__begin(&o->tellings, what);
		err = f->write(out.f, what, &how, e);
		if (err) {
			int write_err = outfile__error(&out);

			outfile__abort(&out);
			err = write_err ? err_set(e, write_err, "cannot write %s: %s", outfile__name(path), strerror(-write_err)) :
					  err_wrap(e, err, "%s", outfile__name(path));
		} else {
			err = outfile__commit(&out, e);
		}
	}
	names__resume(o->names);
	snapshot__free(rows);
	if (shown != s)
		snapshot__free(shown);
	s->sources = sources;
	s->n_sources = n_sources;
	if (err)
		return err;
	/* of a series, and of snapshots that are taken for a reason, others tell */
	if (strcmp(path, "-") && opts__has_output(o->opts, path))
		say("wrote %s", path);
	say_verbose("%s: written in %.0f ms", path, (now_ns() - began_ns) / 1e6);
	return 0;
}

/* What is shown: the snapshot itself, or *ret_own made from it by --by, which is the caller's. */
static struct snapshot *grouped(const struct output *o, struct snapshot *s, const struct export_format *f, struct snapshot **ret_own)
{
	bool asked = o->opts->by || !s->machine.known;
	/* a whole machine has thousands of processes, most of them over soon: people get programs */
	const struct grouping *by = asked ? grouping__find(o->opts->by) : f->for_people ? &grouping_programs : &grouping_crowd;

	*ret_own = grouping__changes(by) ? snapshot__group(s, by) : NULL;
	return grouping__changes(by) ? *ret_own : s;
}

static int write_grouped(struct output *o, struct snapshot *s, const char *path, const struct export_format *f, struct err *e)
{
	struct snapshot *own, *shown = grouped(o, s, f, &own);
	int err = write_one(o, shown, path, f, e);

	snapshot__free(own);
	return err;
}

int output__print(struct output *o, struct snapshot *s, struct err *e)
{
	int err;

	ask_size(o);
	err = write_grouped(o, s, "-", o->to_stdout, e);
	if (err == -EPIPE && e)
		err_done(e);
	return err;
}

int output__write_stream(struct output *o, struct snapshot *s, const struct export_format *f, const char *shown_first, FILE *out, struct err *e)
{
	struct snapshot *own, *of = grouped(o, s, f, &own), *shown;
	_cleanup_free_ char *sentence = NULL;
	struct export_opts how = o->export;
	int err;

	names__pause(o->names);
	give_names(o, of, f, false);
	shown = shown_of(o, of);
	how.report.sentence = sentence = f->for_people ? sentence_of(o, shown) : NULL;
	how.shown_first = shown_first;
	how.served = true;
	tellings__begin(&o->tellings, shown);
	err = f->write(out, shown, &how, e);
	names__resume(o->names);
	if (shown != of)
		snapshot__free(shown);
	snapshot__free(own);
	return err;
}

/* The next name of a series. Two within a second, of names without %n, must not be one file. */
static char *next_name(struct output *o, const struct snapshot *s, const char *pattern, struct outname_series *had)
{
	char *name = outname__expand(pattern, s->wall_now_ns, s->n_processes ? s->processes->pid : 0, o->n_written);
	bool again = had->expanded && !strcmp(had->expanded, name);

	free(had->expanded);
	had->expanded = name;
	return again ? outfile__numbered(name, o->n_written) : xstrdup(name);
}

/* n as of output__write_files */
static int write_output(struct output *o, struct snapshot *s, size_t i, unsigned int n, struct err *e)
{
	const char *path = o->opts->outputs.v[i];
	const struct export_format *f = export__find_by_name(opts__output_format(o->opts, path));
	bool is_series = outname__is_pattern(path);
	_cleanup_free_ char *name = is_series ? next_name(o, s, path, &o->series[i]) :
				    n	      ? outfile__numbered(path, n) :
						xstrdup(path);
	int err = write_grouped(o, s, name, f, e);

	if (!err && is_series)
		err = outname_series__add(&o->series[i], name, &o->opts->keep, e);
	return err;
}

int output__write_files(struct output *o, struct snapshot *s, unsigned int n, bool series_only, struct err *e)
{
	int first = 0;

	o->n_written++;
	for (size_t i = 0; i < o->opts->outputs.n; i++) {
		_cleanup_err_ struct err later = {};
		int err;

		/* standard output is output__print's */
		if (!strcmp(o->opts->outputs.v[i], "-") || (series_only && !outname__is_pattern(o->opts->outputs.v[i])))
			continue;
		err = write_output(o, s, i, n, first ? &later : e);
		if (!first)
			first = err;
	}
	return first;
}

int output__write_last(struct output *o, struct snapshot *s, struct err *e)
{
	_cleanup_err_ struct err later = {};
	int err = output__write_files(o, s, 0, false, e), print_err;

	if (!output__prints(o))
		return err;
	print_err = output__print(o, s, err ? &later : e);
	return err ? err : print_err == -EPIPE ? 0 : print_err;
}

bool output__has_files(const struct output *o)
{
	return vec_first(one, &o->opts->outputs, strcmp(*one, "-"));
}

const struct outname_series *output__kept(const struct output *o)
{
	return o->opts->outputs.n ? &o->series[0] : NULL;
}

int output__write(struct output *o, struct snapshot *s, const char *path, struct err *e)
{
	const struct export_format *f = export__find_by_path(path);

	if (!f)
		return err_set(e, -EINVAL, "%s: want a name that ends in %s", path, EXPORT_SUFFIXES);
	return outfile__check(path, e) ?: write_grouped(o, s, path, f, e);
}
