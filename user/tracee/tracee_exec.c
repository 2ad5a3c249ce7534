// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing: what becomes of a tracee when it is another program. The process is the same, and
 * so are its links, as a rule; its life, its names and what it maps are others.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/kernel.h"
#include "process/translator.h"
#include "tracee/tracee_parts.h"
#include "util/log.h"
#include "util/rights.h"

/* The program was started by another than the first thread of the one before. */
static int probe_again(struct tracees *t, struct tracee *p, const struct mt_event *ev, const char *comm, struct err *e)
{
	struct attachment *old = p->attachment;
	uint64_t unseen_ns;
	int err;

	if (!old)
		return 0;
	err = attachment__renew(old, &p->attachment, e);
	if (err)
		return err;
	unseen_ns = now_ns() - ev->t_ns;
	attachment__free(old);
	for (size_t i = 0; i < N_EXTRAS; i++)
		p->extras[i].n = 0;
	if (t->want.recording.mode == MT_MODE_GROWTH) {
		faults__close(p->faults);
		p->faults = NULL;
		err = faults__open(t->kernel, p->process.pid, &p->faults, e);
	}
	if (err || p->own || !t->begun)
		return err;
	p->unseen_ns = unseen_ns;
	say("%s (%d): a thread other than the first called exec, which removed the probes: they were attached again %.1f ms later; what it allocated until then was not seen",
	    comm, (int)p->process.pid, unseen_ns / 1e6);
	return 0;
}

void tracee__close(struct tracees *t, struct tracee *p)
{
	_cleanup_free_ char *why = rights__why_refused(RIGHT_BIT(RIGHT_SYS_PTRACE));

	/* of all processes of a machine many do: the report has their number */
	if (!t->n_closed++ || !tracees__are_shared(t))
		say("%s (%d) runs a program now that this user may not look into (another user's rights, capabilities, or a file that cannot be read): it is not traced any more: %s",
		    p->process.comm, (int)p->process.pid, why ? why : "");
	attachment__free(p->attachment);
	p->attachment = NULL;
	faults__close(p->faults);
	p->faults = NULL;
	tracee__end(t, p);
}

int tracee__on_exec(struct tracees *t, struct tracee *p, const struct mt_event *ev, const char *comm, struct err *e)
{
	uint32_t proc = ev->proc;
	_cleanup_err_ struct err why = {};
	struct process now = { .pidfd = -1 };
	size_t had = p->n_allocators;
	/* what can be read of it is another program's by now, if anything */
	bool over = kernel__has_ended(t->kernel, proc);
	int err = ev->tid && !over ? probe_again(t, p, ev, comm, e) : 0;

	if (err)
		return err;
	err = over ? -ESRCH : process__read(p->process.pid, &now, &why);
	if (!err) {
		/* the same process still: what waits for its end goes on waiting */
		close(now.pidfd);
		now.pidfd = p->process.pidfd;
		p->process.pidfd = -1;
		process__done(&p->process);
		p->process = now;
	} else {
		/* gone already, or another program again: it must not go by its predecessor's name */
		free(p->process.exe);
		p->process.exe = strdup("");
	}
	free(p->process.comm);
	p->process.comm = strdup(comm);
	if (!p->process.comm || !p->process.exe)
		return err_set(e, -ENOMEM, "out of memory");
	/* links stay: they are to files, and the new program may map the same ones */
	err = tracee__add_life(t, p, proc, e);
	if (!err)
		err = tracee__tell_model(t, p, 0, p->own ? 0 : kernel__began_ns(t->kernel, proc), e);
	if (!err && p->unseen_ns)
		model__set_unseen(t->model, proc, p->unseen_ns);
	p->unseen_ns = 0;
	/* its probes stay with a process through an exec: they must be out before it gets to what it runs */
	if (!err && translator__of(p->process.exe)) {
		p->lives.v[p->lives.n - 1]->closed = true;
		attachment__free(p->attachment);
		p->attachment = NULL;
		say("%s (%d) runs programs by translating their code: breakpoints would kill them, so it is not traced any more",
		    p->process.comm, (int)p->process.pid);
		return 0;
	}
	/*
	 * a set-user-ID program, or one that may not be read: no reason to lose what was seen
	 * before, if anything was
	 */
	if (!err && why.code == -EACCES) {
		tracee__life(p)->closed = true;
		if (p->own && p->lives.n == 2)
			return err_set(e, why.code, "%s", err_msg(&why));
		say("%s (%d) runs another program now, which cannot be read: no function names, no new probes: %s",
		    p->process.comm, (int)p->process.pid, err_msg(&why));
	}
	if (!err && !over)
		err = t->probing->refresh(t, p, e);
	if (!err && p->n_allocators > had)
		say_verbose("%s (%d) runs another program now", p->process.comm, (int)p->process.pid);
	return err;
}

int tracee__probe_entry(struct tracees *t, struct tracee *p, struct err *e)
{
	const struct space *s = &tracee__life(p)->space;

	for (size_t i = 0; p->attachment && i < s->n; i++) {
		struct object *obj = s->v[i].object;
		uint64_t offset;

		/* the loader is an ELF file with an entry point too, but no executable */
		if (obj && obj->is_exec && obj->entry && object__vaddr_to_offset(obj, obj->entry, &offset))
			return attachment__add_entry(p->attachment, obj, offset, e);
	}
	return err_set(e, -ENOENT, "%s: no entry point found", p->process.exe);
}
