// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns t->pause: which translators run, and for how long nothing was seen. */
#include "tracee/tracee_pause.h"

#include <errno.h>

#include "process/translator.h"
#include "tracee/tracee_parts.h"
#include "tracee/tracee_shared.h"
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
	for (size_t i = 0; i < n; i++)
		if (v[i].pid == pid)
			return &v[i];
	return NULL;
}

/* The kernel needs a tenth of a second to give them back, but the breakpoints are gone within milliseconds. */
static void take_out(struct tracees *t)
{
	t->pause.froze = !kernel__is_frozen(t->kernel);
	if (t->pause.froze)
		kernel__pause(t->kernel, true);
	t->pause.leaving = t->shared_probes ? attachments__leave(&t->shared_probes, 1) : NULL;
	t->shared_probes = NULL;
	for (size_t i = 0; i < t->files.n; i++)
		known_file__forget_probes(t->files.v[i]);
}

static void pause_now(struct tracees *t, const struct suspect *who, const char *name)
{
	struct suspect *slot = find(t->pause.translators.v, t->pause.translators.n, who->pid) ? NULL : vec_push(&t->pause.translators);

	/* without memory it is found again before the probes come back */
	if (slot)
		*slot = *who;
	t->pause.quiet_ns = 0;
	if (is_paused(t))
		return;
	t->pause.since_ns = now_ns();
	t->pause.began_ns = kernel__clock_ns(t->kernel);
	take_out(t);
	say("%s (%d) runs a program by translating its code, and breakpoints in files that it maps would kill it: all probes are out, and nothing is recorded until it has ended",
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
	struct suspect *slot = find(t->pause.disproven.v, t->pause.disproven.n, who->pid) ? NULL : vec_push(&t->pause.disproven);

	if (slot)
		*slot = *who;
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
	uint64_t began_ns = MAX(kernel__began_ns(t->kernel, proc), t->pause.began_ns), now = kernel__clock_ns(t->kernel);

	return now > began_ns ? now - began_ns : 1;
}

void tracees__note_unseen_end(struct tracees *t, uint32_t proc)
{
	struct tracee_life *l = is_paused(t) ? hash__get(&t->by_proc, proc) : NULL;

	if (l)
		model__set_unseen(t->model, proc, MAX(l->tracee->unseen_ns, unseen_ns(t, proc)));
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
	model__set_unseen(t->model, had->proc, MAX(p->unseen_ns, unseen));
	model__life_ended(t->model, had->proc);
	err = tracee__add_life(t, p, proc, e);
	if (!err)
		err = space__copy(&tracee__life(p)->space, &had->space, e);
	if (!err) {
		tracee__life(p)->code_seq = had->code_seq;
		err = tracee__update_unwind(t, p, e);
	}
	unwind__drop(t->unwind, had->proc);
	if (!err)
		err = tracee__tell_model(t, p, (uint64_t)MAX((int64_t)now_ns() - p->started_ns, 0), 0, e);
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
	if (kernel__began_ns(t->kernel, proc) < t->pause.began_ns && kernel__peak_bytes(t->kernel, proc))
		err = begin_life(t, p, e);
	if (err)
		return err;
	p->n_allocators = p->n_probed_for = 0;
	tracee__doubt_python(t, p, NULL);
	err = tracee__probe_files(t, p, 0, 0, e);
	p->unseen_ns = MAX(p->unseen_ns, unseen);
	model__set_unseen(t->model, tracee__life(p)->proc, p->unseen_ns);
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
		say("no program runs any more that translates code: the probes are back; nothing was recorded for %.1f s, and what processes held before is told apart from what they allocate from now on",
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
	say("process %d is called like a program that translates code, but made none of its own in %d seconds: it is not waited for%s", (int)who->pid,
	    (int)(BELIEVED_NS / SECOND_NS),
	    t->pause.n_disproven == BELIEVED_TIMES ? ", and no other one is by its name alone" : "");
	return false;
}

/* Of a series of such programs one comes right after the other: the probes wait for the end of it. */
int tracees__try_to_resume(struct tracees *t, struct err *e)
{
	size_t kept = 0;

	look_at_disproven(t);
	if (!is_paused(t))
		return 0;
	for (size_t i = 0; i < t->pause.translators.n; i++)
		if (is_waited_for(t, &t->pause.translators.v[i]))
			t->pause.translators.v[kept++] = t->pause.translators.v[i];
	t->pause.translators.n = kept;
	if (kept)
		return 0;
	if (!t->pause.quiet_ns) {
		t->pause.quiet_ns = now_ns();
		return 0;
	}
	/* what they have forked goes by no record */
	tracees__pause_for_any(t);
	return t->pause.translators.n ? 0 : resume(t, e);
}
