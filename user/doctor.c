// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing. One line per question, the answer in a fixed column:
 *
 *   malloctrace doctor
 *     kernel 6.18.44 aarch64         ok
 *     BTF                            ok   /sys/kernel/btf/vmlinux
 *     uprobe_multi                   no   kernel 6.6 or later has it; ...
 */
#include <errno.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/utsname.h>

#include "doctor.h"
#include "probe/features.h"
#include "probe/kernel.h"
#include "tracee.h"
#include "util/parse.h"
#include "util/util.h"

static void line(FILE *out, const char *what, const char *state, const char *detail)
{
	fprintf(out, "  %-30s %-4s %s\n", what, state, detail);
}

static void tell_features(FILE *out)
{
	for (enum feature_id id = 0; id < N_FEATURES; id++) {
		const struct feature *f = &features[id];
		enum feature_state state = feature__state(id);
		/* what is only slower without it is no fault */
		const char *bad = f->needed || !features__can_trace() ? "NO" : "no";

		line(out, f->name, state == FEATURE_OK ? "ok" : bad, state == FEATURE_OK ? f->detail : f->mend);
	}
}

/* Which capabilities matter, and what for. */
static const struct {
	cap_value_t cap;
	const char *name, *without;
} caps[] = {
	{ CAP_BPF, "CAP_BPF", "BPF programs cannot be loaded" },
	{ CAP_PERFMON, "CAP_PERFMON", "programs cannot be attached" },
	{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "only this user's own processes can be traced" },
	{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH", "libraries that this user may not read cannot be probed" },
	{ CAP_SYS_ADMIN, "CAP_SYS_ADMIN", "needed for probes on kernels without uprobe_multi, and for deleted files" },
};

static void tell_caps(FILE *out)
{
	cap_t mine = cap_get_proc();
	bool all = true;

	for (size_t i = 0; mine && i < ARRAY_SIZE(caps); i++) {
		cap_flag_value_t has = CAP_CLEAR;

		cap_get_flag(mine, caps[i].cap, CAP_EFFECTIVE, &has);
		if (has == CAP_SET)
			continue;
		all = false;
		line(out, caps[i].name, "no", caps[i].without);
	}
	if (mine && all)
		line(out, "capabilities", "ok", geteuid() ? "all that are needed" : "root");
	cap_free(mine);
}

static int tell_memory(FILE *out, const struct opts *o, struct err *e)
{
	struct kernel_opts k = { .max_live = o->max_live, .max_stacks = o->max_stacks, .depth = o->depth };
	char detail[160], bytes[FMT_MAX], live[FMT_MAX], stacks[FMT_MAX];
	struct table_sizes sizes;
	int err = table_sizes__choose(&k, &sizes, e);

	if (err)
		return err;
	snprintf(detail, sizeof(detail), "%s: room for %s blocks, %s stacks", fmt_bytes(bytes, sizes.bytes),
		 fmt_exact(live, sizes.max_live), fmt_exact(stacks, sizes.max_stacks));
	line(out, "memory for tables", "ok", detail);
	return 0;
}

static void tell_plan(FILE *out, const struct tracees *t, const struct plan *p)
{
	fprintf(out, "  allocator  %s%s%s\n             %zu functions, %zu points, build id %s\n", p->object->path,
		*p->family ? ", " : "", p->family, p->n_funcs, p->n_points, p->object->build_id ? p->object->build_id : "none");
	for (size_t i = 0; i < p->n_funcs; i++)
		fprintf(out, "    %-24.60s %s\n", t->funcs.v[p->funcs[i].func].name, p->funcs[i].why);
}

static void tell_unwind(FILE *out, const struct opts *o, const struct tracee *p)
{
	struct unwind *u = unwind__new(NULL, unwind__choice(o->unwind), o->depth);
	struct unwind_verdict v;

	if (u && !unwind__update(u, 0, p->process.pid, &p->lives.v[p->lives.n - 1]->space, &v, NULL))
		fprintf(out, "  stacks     by %s\n", v.why);
	unwind__free(u);
}

static int tell_targets(FILE *out, const struct opts *o, int *ret_status, struct err *e)
{
	struct tracees t;
	int err;

	if (tracees__init(&t))
		return err_set(e, -ENOMEM, "out of memory");
	t.want = plan_want__of(o->mode, o->size);
	err = o->prefix ? alloc_funcs__add_prefix(&t.funcs, o->prefix, e) : 0;
	for (size_t i = 0; i < o->syms.n && !err; i++)
		err = alloc_funcs__add_sym(&t.funcs, o->syms.v[i], e);
	for (size_t i = 0; i < o->objects.n && !err; i++) {
		size_t seen = t.plans.n;

		err = tracees__ask_for(&t, o->objects.v[i], e);
		if (!err && t.plans.n > seen) {
			fprintf(out, "With -O %s\n", o->objects.v[i]);
			tell_plan(out, &t, &t.plans.v[seen]->plan);
		}
	}
	for (size_t i = 0; i < o->pids.n && !err; i++) {
		size_t seen = t.plans.n;

		err = tracees__add(&t, o->pids.v[i], e);
		if (err)
			break;
		fprintf(out, "With -p %d: %s\n", (int)o->pids.v[i], t.v.v[t.v.n - 1]->process.comm);
		tell_unwind(out, o, t.v.v[t.v.n - 1]);
		for (size_t k = seen; k < t.plans.n; k++)
			if (t.plans.v[k]->plan.n_funcs)
				tell_plan(out, &t, &t.plans.v[k]->plan);
	}
	if (err)
		*ret_status = 1;
	tracees__done(&t);
	return err;
}

int doctor__run(FILE *out, const struct opts *o, int *ret_status, struct err *e)
{
	struct utsname u;
	char kernel[160];
	int err;

	uname(&u);
	fprintf(out, "malloctrace doctor\n");
	snprintf(kernel, sizeof(kernel), "kernel %s %s", u.release, u.machine);
	line(out, kernel, "ok", "");
	tell_features(out);
	tell_caps(out);
	line(out, "stacks", "ok", "frame pointers, or tables from .eh_frame; -p PID says which");
	err = tell_memory(out, o, e);
	*ret_status = err || !features__can_trace();
	if (features__can_trace())
		line(out, "probes", "", feature__has(FEATURE_UPROBE_MULTI) ? "uprobe_multi links, one per role and file" :
									    "perf events, one per point");
	if (!err && (o->pids.n || o->objects.n))
		err = tell_targets(out, o, ret_status, e);
	return err;
}
