// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing. One line per question, the answer in a fixed column:
 *
 *   malloctrace doctor
 *     kernel 6.18.44 aarch64         ok
 *     BTF                            ok   /sys/kernel/btf/vmlinux
 *     uprobe_multi                   no   kernel 6.6 or later has it; ...
 *     CAP_SYS_PTRACE                 no   only this user's own processes can be traced
 *     missing                        CAP_PERFMON: run with sudo, or: sudo setcap ...
 *
 * NO is what stands in the way, no is what does not matter here. "missing"
 * names the capabilities that are missing for what was requested, no others, and
 * is there only if any is. What was found in the targets follows, and in the last line the
 * answer: yes or no. Rows that are fine and explain nothing come with -v.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "cli/commands.h"
#include "names/packages.h"
#include "names/sym.h"
#include "present/caveats.h"
#include "present/telling.h"
#include "probe/features.h"
#include "probe/kernel.h"
#include "process/maps.h"
#include "reader/reader.h"
#include "tracee/tracee_parts.h"
#include "util/invoker.h"
#include "util/log.h"
#include "util/parse.h"
#include "util/rights.h"
#include "util/util.h"

/* ---- functions without names */

/*
 * Owns the look at a process's code for functions without names: their beginnings are known from the unwind tables, which a stripped
 * file has as well. What always holds: of a large file some functions stand for all, so that the answer comes at once.
 */

#define ASKED 256		/* functions of a file */
#define FILES_MAX 64

struct file {
	struct snap_module module;
	size_t n_asked, n_unnamed;
};

/* Of ASKED that lie at equal distances; of all, if there are no more. */
static uint64_t nth(const uint64_t *starts, size_t n, size_t i)
{
	return starts[n > ASKED ? i * n / ASKED : i];
}

static struct file ask(struct sym *sym, struct object *obj)
{
	struct file f = { .module = { .path = obj->path, .handle = obj } };
	_cleanup_free_ uint64_t *starts = NULL;
	size_t n = 0;

	object__function_starts(obj, &starts, &n);
	for (size_t i = 0; i < MIN(n, (size_t)ASKED); i++)
		sym__expect(sym, obj, nth(starts, n, i) + 1);
	for (size_t i = 0; i < MIN(n, (size_t)ASKED); i++) {
		const struct line *lines;
		size_t n_lines = sym__resolve(sym, obj, nth(starts, n, i) + 1, &lines);

		f.n_asked++;
		f.n_unnamed += !lines[n_lines - 1].function;
	}
	return f;
}

static size_t ask_all(const struct space *space, struct sym *sym, struct file *v)
{
	size_t n = 0;

	for (size_t i = 0; i < space->n && n < FILES_MAX; i++) {
		struct object *obj = space->v[i].object;

		if (!obj || space->v[i].gone || !obj->is_elf || array_first(f, v, n, f->module.handle == obj))
			continue;
		/* named by its file alone: is it the program's own, and not what every program has? */
		if (frame__is_telling(&(struct frame){ .module = obj->path }))
			v[n++] = ask(sym, obj);
	}
	return n;
}

COMPARATOR(most_first, struct file, ORDER(b->n_unnamed, a->n_unnamed))

/*
 * What `doctor -p` says where half of the functions of the program and its own libraries have no name; local: its files are this machine's.
 * The caller's; NULL: they have.
 */
static char *code_names__missing(const struct space *space, bool local)
{
	struct sym *sym = sym__new(&(struct sym_opts){ .no_inlines = true, .no_source = true });
	_cleanup_free_ struct file *v = xcalloc(FILES_MAX, sizeof(*v));
	_cleanup_free_ char *install = NULL;
	struct missing_names m = { .what = "functions" };
	const char *paths[MISSING_FILES];
	char *ret = NULL;
	size_t n = ask_all(space, sym, v);

	if (n)
		qsort(v, n, sizeof(*v), most_first);
	for (size_t i = 0; i < n; i++) {
		m.n_frames += v[i].n_asked;
		m.n_unnamed += v[i].n_unnamed;
		if (v[i].n_unnamed && m.n_files < MISSING_FILES) {
			paths[m.n_files] = v[i].module.path;
			local &= object__is_here(v[i].module.handle);
			m.files[m.n_files++] = &v[i].module;
		} else if (v[i].n_unnamed) {
			m.n_more++;
		}
	}
	if (m.n_frames && m.n_unnamed * 2 >= m.n_frames) {
		install = local ? packages__debug("", paths, m.n_files) : NULL;
		ret = missing_names__words(&m, install, false, true);
	}
	sym__free(sym);
	return ret;
}

/* ---- the lines */

static void line(FILE *out, const char *what, const char *state, const char *detail)
{
	fprintf(out, "  %-30s %-4s %s\n", what, state, detail);
}

/* Of something that is as it should be: not what most people want to read. */
static void detail_line(FILE *out, const char *what, const char *state, const char *detail)
{
	if (log_level >= LOG_VERBOSE)
		line(out, what, state, detail);
}

static void print_features(FILE *out)
{
	for (enum feature_id id = 0; id < N_FEATURES; id++) {
		const struct feature *f = &features[id];
		enum feature_state state = feature__state(id);
		_cleanup_free_ char *names = NULL;

		if (state == FEATURE_OK) {
			(f->needs_no_word ? detail_line : line)(out, f->name, "ok", f->detail);
			continue;
		}
		if (state == FEATURE_DENIED)
			names = rights__lacking(f->rights) ? rights__names(rights__lacking(f->rights)) :
							     rights__why_refused(f->rights);
		/* what is only slower without it is no fault */
		fprintf(out, "  %-30s %-4s %s%s\n", f->name, f->needed || !features__can_trace() ? "NO" : "no",
			state == FEATURE_DENIED && rights__lacking(f->rights) ? "not without " : "",
			state == FEATURE_DENIED ? names ? names : "not permitted" : f->mend);
	}
}

static void print_rights(FILE *out, unsigned int missing)
{
	unsigned int lacking = rights__lacking(~0u);

	for (enum right r = 0; r < N_RIGHTS; r++)
		if (lacking & RIGHT_BIT(r))
			line(out, right__name(r), missing & RIGHT_BIT(r) ? "NO" : "no", right__without(r));
	if (!lacking)
		line(out, "capabilities", "ok", geteuid() ? "all that are needed" : "root");
}

/* What a process holds that has been attached to, as all else is given up then; and what is missing. */
static void print_held(FILE *out, unsigned int missing)
{
	_cleanup_free_ char *held = rights__settled_names(), *names = rights__names(missing);
	_cleanup_free_ char *mend = rights__mend(missing);

	if (held && *held)
		line(out, "held while tracing", "ok", held);
	/* names by themselves first, so that a script can take them */
	if (missing && names && mend)
		fprintf(out, "  %-30s %s: %s\n", "missing", names, mend);
}

static int print_tables(FILE *out, const char *title, const struct kernel_opts *k, struct err *e)
{
	char detail[160], bytes[FMT_MAX], live[FMT_MAX], stacks[FMT_MAX];
	struct table_sizes sizes;
	int err = table_sizes__choose(k, &sizes, e);

	if (err)
		return err;
	snprintf(detail, sizeof(detail), "%s: room for %s blocks, %s stacks", fmt_bytes(bytes, sizes.bytes),
		 fmt_exact(live, sizes.max_live), fmt_exact(stacks, sizes.max_stacks));
	line(out, title, "ok", detail);
	return 0;
}

static int print_memory(FILE *out, const struct opts *o, const struct selection *selection, struct err *e)
{
	struct kernel_opts k = { .recording = o->recording, .adopt = selection->adopt,
				 .n_procs = selection->adopt ? MT_MAX_PROCS : 0 };
	int err = print_tables(out, "memory for tables", &k, e);

	if (!err && !selection->adopt) {
		k.adopt = MT_ADOPT_ALL;
		err = print_tables(out, "with -a, --comm, --cgroup, -f", &k, e);
	}
	if (err)
		return err;
	/* measured: docs/PERFORMANCE.md, "What malloctrace itself takes" */
	detail_line(out, "memory for malloctrace", "ok",
		    "about 7 MiB, and 2.5 MiB for each 1,000 stacks of 27 frames; its RSS also counts the tables that it has read");
	return 0;
}

/* n_users: how many processes map it; SIZE_MAX: that is not of interest. */
static void print_allocator(FILE *out, const struct plan *p, size_t n_users)
{
	fprintf(out, "  allocator  %s%s%s\n             %zu functions, %zu points, ", p->object->path, *p->family ? ", " : "", p->family,
		p->n_funcs, p->n_points);
	if (n_users != SIZE_MAX)
		fprintf(out, "in %zu process%s, ", n_users, n_users == 1 ? "" : "es");
	fprintf(out, "build id %s\n", p->object->build_id ? p->object->build_id : "none");
}

static void print_plan(FILE *out, const struct tracees *t, const struct plan *p)
{
	print_allocator(out, p, SIZE_MAX);
	for (size_t i = 0; i < p->n_funcs && log_level >= LOG_VERBOSE; i++)
		fprintf(out, "    %-24.60s %s\n", t->funcs.v[p->funcs[i].func].name, p->funcs[i].why);
}

/* Its stacks and their names; then, of the files from first on, those with an allocator. */
static void print_process(FILE *out, const struct opts *o, const struct tracees *t, const struct tracee *p,
			  size_t first)
{
	const struct space *space = &tracee__life(p)->space;
	_cleanup_free_ char *words = NULL;
	struct unwind *u = unwind__new(NULL, o->recording.unwind);
	const struct runtime *r = tracee__runtime(t, p);
	struct unwind_verdict v;

	tracee__tell_room(p, out);
	if (!unwind__update(u, 0, space, 0, &v, NULL))
		fprintf(out, "  stacks     by %s\n", v.why);
	unwind__free(u);
	words = code_names__missing(space, !p->process.container);
	if (words)
		fprintf(out, "  names      %s\n", words);
	for (size_t i = first; i < t->files.n; i++)
		if (t->files.v[i]->plan.n_funcs)
			print_plan(out, t, &t->files.v[i]->plan);
	if (r)
		fprintf(out, "  %-10s seen: %s\n             not seen: %s\n             %s\n", r->name, r->seen, r->unseen, r->advice);
}

/* Whether the kernel reports code that is mapped later: without that, malloctrace looks for it. */
static void print_watch(FILE *out)
{
	_cleanup_err_ struct err e = {};
	struct watch *w = NULL;

	if (!watch__open(false, &w, &e))
		detail_line(out, "new code", "ok", "perf events");
	else
		fprintf(out, "  %-30s %-4s seen up to a second late: %s\n", "new code", "no", err_msg(&e));
	watch__close(w);
}

/* The rights that are missing to read what a process has mapped. */
static unsigned int print_unread(FILE *out, const struct tracee *p)
{
	const struct space *s = &tracee__life(p)->space;
	unsigned int needs = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct space_range *r = &s->v[i];

		if (!tracee__may_not_read(r))
			continue;
		needs |= RIGHT_BIT(r->why.code == -EACCES ? RIGHT_DAC_READ_SEARCH : RIGHT_CHECKPOINT_RESTORE);
		fprintf(out, "  not read   %s\n", r->label ? r->label : "");
	}
	return rights__lacking(needs);
}

struct around {			/* the processes that are examined */
	struct tracees *t;
	struct vec(size_t) n_users;	/* by plan */
	size_t n_processes, n_closed;
};

static void make_room(struct around *a)
{
	while (a->n_users.n < a->t->files.n)
		vec_push(&a->n_users);
}

static void look_at(pid_t pid, struct around *a)
{
	struct space space = {};
	size_t n_new;
	int err = space__refresh(&space, a->t->objects, pid, &n_new, NULL);

	a->n_closed += err == -EACCES;
	a->n_processes += !err;
	for (size_t i = 0; i < space.n; i++) {
		struct known_file *k;
		size_t at = 0;

		/* several mappings of one file are one use */
		if (!space.v[i].object || array_first(r, space.v, i, r->object == space.v[i].object))
			continue;
		k = tracees__file_of(a->t, space.v[i].object, false);
		make_room(a);
		while (a->t->files.v[at] != k)
			at++;
		a->n_users.v[at]++;
	}
	space__done(&space);
}

/* -a, --comm, --cgroup: which processes there are, and what would be probed. */
static int print_group(FILE *out, const struct selection *selection, struct tracees *t, unsigned int *missing,
		       struct err *e)
{
	struct around a = { .t = t };
	_cleanup_pids_ struct pids all = pids__of_all();
	pid_t pid;

	if (!all.dir)
		return err_set(e, all.err, "/proc: %s", strerror(-all.err));
	while ((pid = pids__next_other(&all)))
		if (machine__wants(selection, pid))
			look_at(pid, &a);
	fprintf(out, "With %s: %zu process%s now",
		selection->comms->n || selection->cgroups.n ? "this selection" : "-a", a.n_processes,
		a.n_processes == 1 ? "" : "es");
	if (a.n_closed) {
		fprintf(out, ", and %zu that this user may not inspect", a.n_closed);
		*missing |= rights__lacking(RIGHT_BIT(RIGHT_SYS_PTRACE));
	}
	fputc('\n', out);
	make_room(&a);
	/* files with an allocator, and how many of the processes map each */
	for (size_t i = 0; i < t->files.n; i++)
		if (t->files.v[i]->plan.n_funcs)
			print_allocator(out, &t->files.v[i]->plan, a.n_users.v[i]);
	vec_done(&a.n_users);
	tracees__tell_tight(out);
	return 0;
}

static int print_targets(FILE *out, const struct opts *o, const struct selection *selection, int *ret_status,
			 unsigned int *missing, struct err *e)
{
	struct tracees t;
	int err;

	tracees__init(&t, false);
	t.want = plan_want__of(&o->recording);
	err = o->prefix ? alloc_funcs__add_prefix(&t.funcs, o->prefix, e) : 0;
	for (size_t i = 0; i < o->syms.n && !err; i++)
		err = alloc_funcs__add_sym(&t.funcs, o->syms.v[i], e);
	for (size_t i = 0; i < o->objects.n && !err; i++) {
		size_t seen = t.files.n;

		err = tracees__ask_for(&t, o->objects.v[i], e);
		if (!err && t.files.n > seen) {
			fprintf(out, "With -O %s\n", o->objects.v[i]);
			print_plan(out, &t, &t.files.v[seen]->plan);
		}
	}
	for (size_t i = 0; i < o->pids.n && !err; i++) {
		size_t seen = t.files.n, had = t.v.n;

		err = tracees__add(&t, o->pids.v[i], e);
		if (err == -EACCES && t.v.n == had)
			*missing |= rights__lacking(RIGHT_BIT(RIGHT_SYS_PTRACE));
		if (t.v.n > had) {
			fprintf(out, "With -p %d: %s\n", (int)o->pids.v[i], t.v.v[had]->process.comm);
			*missing |= print_unread(out, t.v.v[had]);
		}
		if (!err && selection->adopt == MT_ADOPT_NONE)
			err = tracee__check_first(t.v.v[t.v.n - 1], e);
		if (err)
			break;
		print_process(out, o, &t, t.v.v[t.v.n - 1], seen);
	}
	if (!err && selection->adopt == MT_ADOPT_ALL)
		err = print_group(out, selection, &t, missing, e);
	if (err)
		*ret_status = 1;
	tracees__done(&t);
	return err;
}

static void print_who(FILE *out, const struct opts *o, const struct selection *selection)
{
	if (o->pids.n == 1) {
		char comm[32];

		process__thread_comm(o->pids.v[0], o->pids.v[0], comm);
		fprintf(out, "%s (%d)", comm, (int)o->pids.v[0]);
	} else if (o->pids.n) {
		fprintf(out, "these %zu processes", o->pids.n);
	} else if (selection->adopt == MT_ADOPT_ALL) {
		fputs(selection->comms->n || selection->cgroups.n ? "these processes" : "the whole machine", out);
		if (rights__lacking(RIGHT_BIT(RIGHT_SYS_PTRACE)))
			fputs(", except processes that this user may not inspect", out);
	} else {
		fputs(rights__lacking(RIGHT_BIT(RIGHT_SYS_PTRACE)) ? "processes of this user" : "processes of all users", out);
	}
}

/* The answer. why: the error that stands in the way, if there is one. */
static void print_answer(FILE *out, const struct opts *o, const struct selection *selection, unsigned int missing, bool can,
			 const char *why)
{
	_cleanup_free_ char *names = rights__names(missing);

	if (why) {
		fprintf(out, "no: %s\n", why);
		return;
	}
	fprintf(out, "%s: malloctrace can%s trace ", can ? "yes" : "no", can ? "" : "not");
	print_who(out, o, selection);
	if (!can && missing && names)
		fprintf(out, ": %s missing: run with sudo", names);
	else if (!can)
		fputs(": see what is marked NO", out);
	fputc('\n', out);
}

void doctor__run(FILE *out, const struct opts *o, int *ret_status)
{
	_cleanup_free_ char *targets = NULL;
	_cleanup_err_ struct err why = {}, files = {};
	int files_err = descriptors__raise(&files);
	unsigned int missing = features__missing_rights();
	struct selection selection = {};
	struct utsname u;
	char kernel[160];
	size_t len = 0;
	FILE *later;
	int err;

	uname(&u);
	fprintf(out, "malloctrace doctor\n");
	snprintf(kernel, sizeof(kernel), "kernel %s %s", u.release, u.machine);
	line(out, kernel, "ok", "");
	print_features(out);
	line(out, "stacks", "ok", "frame pointers, or tables from .eh_frame; -p PID says which");
	selection__init(&selection, o->all, o->follow, &o->comms, &o->cgroups);
	err = files_err ? err_set(&why, files_err, "%s", err_msg(&files)) : selection__check(&selection, &why) ?: readers__need(&why);
	if (!err)
		err = print_memory(out, o, &selection, &why);
	*ret_status = err || !features__can_trace();
	if (features__can_trace())
		detail_line(out, "probes", "ok", kernel__links_multi() ? "uprobe_multi links, one per role and file" :
									    "perf events, one per point");
	if (features__can_trace())
		print_watch(out);
	/* what is missing depends on the targets, too, and is printed before them */
	later = text_stream__open(&targets, &len);
	if (!err && (o->pids.n || o->objects.n || selection.adopt))
		err = print_targets(later, o, &selection, ret_status, &missing, &why);
	text_stream__close(later);
	print_rights(out, missing);
	print_held(out, missing);
	fputs(targets, out);
	print_answer(out, o, &selection, missing, !err && !*ret_status, err ? err_msg(&why) : NULL);
	selection__done(&selection);
}
