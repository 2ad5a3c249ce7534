// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns t->pause: which translators run, and for how long nothing was seen. */
#include "tracee/tracee.h"

#include "probe/attach.h"
#include "process/process.h"
#include "process/translator.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"

static bool is_paused(const struct tracees *t)
{
	return t->pause.since_ns;
}

uint64_t tracees__paused_ns(const struct tracees *t)
{
	return t->pause.past_ns + (is_paused(t) ? now_ns() - t->pause.since_ns : 0);
}

/* ---- out */

#define BELIEVED_NS (2 * SECOND_NS)	/* of a name; valgrind makes code in its first tenth of a second */
#define BELIEVED_TIMES 3

static const struct suspect *find(const struct suspect *v, size_t n, pid_t pid)
{
	return array_first(one, v, n, one->pid == pid);
}

static void pause_now(struct tracees *t, const struct suspect *who, const char *name)
{
	if (!find(t->pause.translators.v, t->pause.translators.n, who->pid))
		*vec_push(&t->pause.translators) = *who;
	t->pause.quiet_ns = 0;
	if (is_paused(t))
		return;
	t->pause.since_ns = now_ns();
	t->pause.began_ns = kernel__clock_ns(t->kernel);
	/* the kernel needs a tenth of a second to give probes back, but the breakpoints are gone within milliseconds */
	t->pause.froze = !kernel__is_frozen(t->kernel);
	if (t->pause.froze)
		kernel__pause(t->kernel, true);
	t->pause.leaving = t->shared_probes ? attachments__leave(&t->shared_probes, 1) : NULL;
	t->shared_probes = NULL;
	for (size_t i = 0; i < t->files.n; i++)
		known_file__forget_probes(t->files.v[i]);
	say("%s (%d) is an emulator, and breakpoints in files that it maps would kill the program that it runs: all probes are removed, and nothing is recorded until it exits",
	    name, (int)who->pid);
}

void tracees__begin_paused(struct tracees *t)
{
	if (!is_paused(t) || t->pause.froze)
		return;
	kernel__pause(t->kernel, true);
	t->pause.froze = true;
}

/* Should it make code later, it is one: disproven ones are looked at each second. */
static void disbelieve(struct tracees *t, const struct suspect *who)
{
	if (!find(t->pause.disproven.v, t->pause.disproven.n, who->pid))
		*vec_push(&t->pause.disproven) = *who;
}

void tracees__pause_for(struct tracees *t, pid_t pid, const char *name, bool installed)
{
	struct suspect who = { pid, installed, now_ns() };

	if (find(t->pause.disproven.v, t->pause.disproven.n, pid))
		return;
	if (!installed && t->pause.n_disproven >= BELIEVED_TIMES && translator__prove(pid, false) != TRANSLATOR_PROVEN)
		disbelieve(t, &who);
	else
		pause_now(t, &who, name);
}

static void pause_for(pid_t pid, const char *name, bool installed, void *arg)
{
	tracees__pause_for(arg, pid, name, installed);
}

void tracees__pause_for_any(struct tracees *t)
{
	translator__for_each(pause_for, t);
}

/* ---- what was not seen */

/* Of this pause, since the life began. */
static uint64_t unseen_ns(const struct tracees *t, uint32_t proc)
{
	uint64_t began_ns = MAX(kernel__proc(t->kernel, proc)->started_ns, t->pause.began_ns);
	uint64_t now = kernel__clock_ns(t->kernel);

	return now > began_ns ? now - began_ns : 1;
}

void tracees__note_unseen_end(struct tracees *t, uint32_t proc)
{
	struct tracee_life *l = is_paused(t) ? hash__get(&t->by_proc, proc) : NULL;

	if (l)
		model__process(t->model, proc)->unseen_ns = MAX(l->tracee->unseen_ns, unseen_ns(t, proc));
}

void tracees__end_pause(struct tracees *t)
{
	for (size_t i = 0; i < t->v.n && is_paused(t); i++)
		if (!t->v.v[i]->ended)
			tracees__note_unseen_end(t, tracee__life(t->v.v[i])->proc);
}

/* ---- and in again */

/* It has what it had, but what it holds is not known any more. */
static int begin_life(struct tracees *t, struct tracee *p, struct err *e)
{
	struct tracee_life *had = tracee__life(p);
	uint64_t unseen = unseen_ns(t, had->proc);
	uint32_t proc = kernel__renew_life(t->kernel, p->process.pid, had->proc);
	int err;

	/* it is over, which is about to be reported; or there is no room, which is counted */
	if (!proc)
		return 0;
	model__process(t->model, had->proc)->unseen_ns = MAX(p->unseen_ns, unseen);
	model__process(t->model, had->proc)->ended = true;
	tracee__add_life(t, p, proc);
	space__copy(&tracee__life(p)->space, &had->space);
	tracee__life(p)->code_seq = had->code_seq;
	err = tracee__update_unwind(t, p, e);
	unwind__drop(t->unwind, had->proc);
	if (!err)
		tracee__tell_model(t, p, (uint64_t)MAX((int64_t)now_ns() - p->started_ns, 0), 0);
	p->unseen_ns = 0;
	p->live_bytes = 0;
	return err;
}

static int put_back(struct tracees *t, struct tracee *p, struct err *e)
{
	uint32_t proc = tracee__life(p)->proc;
	uint64_t unseen = unseen_ns(t, proc);
	int err = 0;

	/* one that never held anything cannot have freed it */
	if (kernel__proc(t->kernel, proc)->started_ns < t->pause.began_ns && kernel__proc(t->kernel, proc)->peak_bytes)
		err = begin_life(t, p, e);
	if (err)
		return err;
	p->n_allocators = p->n_probed_for = 0;
	tracee__doubt_python(t, p, NULL);
	err = tracee__probe_files(t, p, 0, 0, e);
	p->unseen_ns = MAX(p->unseen_ns, unseen);
	model__process(t->model, tracee__life(p)->proc)->unseen_ns = p->unseen_ns;
	return err;
}

static int resume(struct tracees *t, struct err *e)
{
	uint64_t paused_ns;
	int err;

	leaving__wait(t->pause.leaving);
	t->pause.leaving = NULL;
	err = tracees__probe_shared(t, e);
	for (size_t i = 0; i < t->v.n && !err; i++)
		if (!t->v.v[i]->ended)
			err = put_back(t, t->v.v[i], e);
	paused_ns = now_ns() - t->pause.since_ns;
	t->pause.past_ns += paused_ns;
	t->pause.since_ns = 0;
	if (t->pause.froze)
		kernel__pause(t->kernel, false);
	if (!err)
		say("the emulator (valgrind, qemu) exited: probes are attached again; nothing was recorded for %.1f s, and blocks from before are counted apart from later ones",
		    paused_ns / 1e9);
	return err;
}

/* Those that made code after all. */
static void look_at_disproven(struct tracees *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->pause.disproven.n; i++) {
		struct suspect who = t->pause.disproven.v[i];
		enum translator_proof is = translator__prove(who.pid, who.installed);

		if (is == TRANSLATOR_NAMED)
			t->pause.disproven.v[kept++] = who;
		else if (is == TRANSLATOR_PROVEN)
			pause_now(t, &who, "a program");
	}
	t->pause.disproven.n = kept;
}

static bool is_waited_for(struct tracees *t, const struct suspect *who)
{
	enum translator_proof is = translator__prove(who->pid, who->installed);

	if (is != TRANSLATOR_NAMED || now_ns() - who->since_ns < BELIEVED_NS)
		return is != TRANSLATOR_GONE;
	disbelieve(t, who);
	t->pause.n_disproven++;
	say("process %d has the name of an emulator, but made no code of its own in %d seconds: malloctrace does not wait for it%s", (int)who->pid,
	    (int)(BELIEVED_NS / SECOND_NS),
	    t->pause.n_disproven == BELIEVED_TIMES ? ", nor for others by their names alone" : "");
	return false;
}

/* Of a series of such programs one comes right after the other: the probes wait for the end of it. */
int tracees__try_to_resume(struct tracees *t, struct err *e)
{
	look_at_disproven(t);
	if (!is_paused(t))
		return 0;
	vec_keep(who, &t->pause.translators, is_waited_for(t, who));
	if (t->pause.translators.n)
		return 0;
	if (!t->pause.quiet_ns) {
		t->pause.quiet_ns = now_ns();
		return 0;
	}
	/* what they have forked goes by no record */
	tracees__pause_for_any(t);
	return t->pause.translators.n ? 0 : resume(t, e);
}

/* ---- are they in place? */

/*
 * Are malloctrace's breakpoints still in the tracees' memory? A debugger may have taken them out,
 * and a program may have moved its code to where there are none: calls are not seen then, and that
 * is reported. And: may the breakpoints be taken out, or has a debugger breakpoints of its own in
 * the same places? The header has the reasons.
 *
 * Owns nothing: what was found is kept with each tracee.
 */

/*
 * A process is checked once a second, unless that took longer than 1 / CHECK_SHARE of it: ten
 * thousand mappings take ten milliseconds.
 */
#define CHECK_EACH_NS SECOND_NS
#define CHECK_SHARE 500
/* What all checks together may take at a time, where probes are shared. */
#define SLICE_NS (10 * MS_NS)

struct plans vec(const struct plan *);

/* The files that have probes, and where. p: of those that this tracee maps; NULL: all. */
static struct plans probed_plans(const struct tracees *t, const struct tracee *p)
{
	struct plans ret = {};

	for (size_t i = 0; i < t->files.n; i++) {
		const struct known_file *k = t->files.v[i];

		if (known_file__is_probed(k) && k->plan.n_points && (!p || object_list__has(&p->examined, k->plan.object)))
			*vec_push(&ret) = &k->plan;
	}
	return ret;
}

static void report_debugger(struct tracee *p)
{
	struct debugger d = debugger__of(p->process.pid);

	if (d.pid == p->debugger)
		return;
	p->debugger = d.pid;
	if (d.pid && d.writes)
		say("%s (%d) is debugged by %s (%d): a breakpoint that the debugger sets in an allocation function removes malloctrace's probe there (a message says so), and malloctrace does not detach before it is deleted",
		    p->process.comm, (int)p->process.pid, d.comm, (int)d.pid);
}

static void report_standing(const struct tracees *t, struct tracee *p, const struct breakpoints *s)
{
	size_t n = s->n_gone + s->n_moved;

	if (s->n_never && !p->told_writable)
		say("%s (%d) has allocation functions in a mapping that it can write: the kernel sets no probes there, calls there are not seen",
		    p->process.comm, (int)p->process.pid);
	p->told_writable |= s->n_never > 0;
	/* asked after they were found to be gone: a process that dies loses them by that, and calls nothing */
	if (n <= p->n_unprobed || kernel__is_dying(t->kernel, p->process.pid))
		return;
	p->n_unprobed = n;
	say("%s (%d): %zu of %zu probe points are not in place: %s; calls there are not seen",
	    p->process.comm, (int)p->process.pid, n, s->n_points + s->n_moved,
	    s->n_moved	? "its code was moved to anonymous memory (huge pages?)" :
	    p->debugger ? "the debugger removed them" :
	    process__runner(p->process.pid) != p->process.pid ?
			  "its first thread has ended, by which the kernel knows whose they are (-f goes without)" :
			  "something removed them");
}

static void check(struct tracees *t, struct tracee *p)
{
	struct plans plans = probed_plans(t, t->shared_probes ? NULL : p);
	uint64_t began_ns = now_ns();
	struct breakpoints s;

	report_debugger(p);
	if (plans.n && !breakpoints__check(p->process.pid, &tracee__life(p)->space, plans.v, plans.n, &s))
		report_standing(t, p, &s);
	vec_done(&plans);
	p->next_check_ns = now_ns() + MAX(t->shared_probes ? 10 * CHECK_EACH_NS : CHECK_EACH_NS,
					  (now_ns() - began_ns) * CHECK_SHARE);
}

void tracees__look_at_probes(struct tracees *t, bool all)
{
	uint64_t until_ns = now_ns() + SLICE_NS;

	/* of a whole machine a part each time, the others next time */
	for (size_t i = 0; i < t->v.n && (!t->shared_probes || now_ns() < until_ns); i++) {
		struct tracee *p = t->v.v[t->check_turn++ % t->v.n];

		/* CMD maps code before its probes are in it, as long as it stands still */
		if (!p->ended && (p->attachment || t->shared_probes) && !p->held && !p->dirty && !p->stale &&
		    !tracee__life(p)->closed && (all || now_ns() >= p->next_check_ns))
			check(t, p);
	}
}

uint64_t tracees__n_unprobed(const struct tracees *t)
{
	uint64_t n = t->gone_unprobed;

	for (size_t i = 0; i < t->v.n; i++)
		n += t->v.v[i]->n_unprobed + t->v.v[i]->n_written_over;
	return n;
}

/* ---- before they are taken out */

/*
 * Has a debugger of this process breakpoints where malloctrace has? It would write malloctrace's
 * back later, when nothing handles them any more. Where the two cannot be distinguished, any
 * debugger is taken to have some, unless it holds the process still: then it has none in place.
 */
static bool would_write_back(const struct tracees *t, const struct tracee *p, pid_t pid, struct debugger *ret)
{
	struct debugger d = debugger__of(pid);
	struct breakpoints s = {};
	struct plans plans;

	if (!d.pid || !d.writes)
		return false;
	plans = probed_plans(t, p);
	if (breakpoints__check(pid, NULL, plans.v, plans.n, &s))
		s = (struct breakpoints){};
	vec_done(&plans);
	*ret = d;
	return breakpoints__tell_foreign() ? s.n_foreign : s.n_points > s.n_gone && !debugger__holds_still(pid);
}

/* Where probes are shared, they are in processes that are no tracees, too. */
static pid_t any_debugged(const struct tracees *t, struct debugger *ret)
{
	_cleanup_pids_ struct pids all = pids__of_all();
	pid_t pid;

	while ((pid = pids__next(&all)) && !would_write_back(t, NULL, pid, ret))
		;
	return pid;
}

pid_t tracees__debugged(const struct tracees *t, struct debugger *ret)
{
	if (t->shared_probes)
		return any_debugged(t, ret);
	for (size_t i = 0; i < t->v.n; i++) {
		const struct tracee *p = t->v.v[i];

		if (!p->ended && p->attachment && would_write_back(t, p, p->process.pid, ret))
			return p->process.pid;
	}
	return 0;
}

/* ---- files that are written to */

/*
 * Owns nothing: what becomes of a file that is probed and was written to (probe/attach.h). Its
 * probes are out already, or go now.
 */

static bool has_mapped(const struct tracee *p, const struct object *obj)
{
	const struct space *space = &tracee__life(p)->space;

	return !p->ended && vec_first(r, space, r->object == obj && !r->gone);
}

/*
 * The same version as before, as its build id says: it is read, and probed, once more when the
 * tracee maps something.
 */
static void read_again(struct tracee *p, const struct object *obj)
{
	vec_keep(one, &p->examined, *one != obj);
	for (size_t i = 0; i < N_EXTRAS; i++)
		vec_keep(one, &p->extras[i], *one != obj);
}

void tracees__on_written(struct tracees *t, const struct object *obj)
{
	struct known_file *k = tracees__known_file(t, obj);
	size_t n = 0;

	if (t->shared_probes)
		attachment__remove(t->shared_probes, obj, true);
	for (size_t i = 0; i < t->v.n; i++) {
		struct tracee *p = t->v.v[i];

		if (p->attachment)
			attachment__remove(p->attachment, obj, true);
		if (!obj->changed)
			read_again(p, obj);
		if (k && has_mapped(p, obj))
			tracee__doubt_python(t, p, k);
		if (!k || !known_file__is_probed(k) || !has_mapped(p, obj))
			continue;
		p->n_written_over += k->plan.n_points;
		n++;
	}
	if (k) {
		known_file__forget_probes(k);
		/*
		 * the new version is another object; a process that has this one mapped must not be
		 * probed by it once more
		 */
		if (obj->changed)
			k->state = FILE_REFUSED;
	}
	if (n)
		say("%s was written to: its probes were removed at once, because in the new code they would crash processes; what %zu process%s that ha%s the old code do%s there is not seen any more",
		    obj->path, n, n == 1 ? "" : "es", n == 1 ? "s" : "ve", n == 1 ? "es" : "");
	else
		say("%s was written to: its old probes are removed until a process maps it again", obj->path);
}
