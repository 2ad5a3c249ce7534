/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Carries plans out: the probes of one process, or shared probes. */
#ifndef MT_ATTACH_H
#define MT_ATTACH_H

#include <stdbool.h>
#include <sys/types.h>

#include "elf/object.h"
#include "probe/kernel.h"
#include "probe/plan.h"
#include "probe/spots.h"
#include "space/space.h"
#include "util/err.h"

/*
 * The probes that one process has, in the order in which they must come and go:
 *
 *   free, then realloc, then malloc; and of each, the return before the entry.
 *
 * So a block is never recorded that could be freed or moved unseen, and a call
 * whose entry is seen will be seen returning. Detaching goes the other way round, all at
 * once: by then the programs are frozen.
 *
 * The kernel takes a trap for one of its own only if the process has a breakpoint left, and checks
 * that some instructions after the trap (MMF_HAS_UPROBES). On x86 removing one waits for every CPU
 * that may be there; on arm64 nothing does: a thread whose virtual CPU is paused just then, and
 * goes on when the last breakpoint is gone, is killed by SIGTRAP. Therefore each object has an
 * anchor: one more link, in a function that is hardly called, that comes before the others and goes
 * when they are gone and the kernel has waited for threads that were under way; the same holds if
 * malloctrace is killed.
 */
struct attachment;

/*
 * The links live as long as the attachment. Nothing is left attached on failure. pid 0: every
 * process that maps the objects. parked: no point is probed until attachments__unpark().
 */
struct attachment *attachment__new(struct kernel *k, pid_t pid, bool parked);
/* Adds the probes of some objects, all steps across all of them. funcs: the table that the plans refer to. */
int attachment__add(struct attachment *a, const struct alloc_funcs *funcs, const struct plan *const *plans, size_t n,
		    struct err *e);
/*
 * The kernel knows a process by its first thread. When another one execs, that thread is gone, and
 * all probes of the process with it: *ret has the same probes for the process that has the pid now.
 * The old one is the caller's to free, afterwards: that takes a tenth of a second, in which the
 * process goes on.
 */
int attachment__renew(const struct attachment *old, struct attachment **ret, struct err *e);
/*
 * Takes the probes of one object out again. at_once: in any order, as no thread is in its code, or
 * none is to stay there.
 */
void attachment__remove(struct attachment *a, const struct object *obj, bool at_once);
/* Places that no allocator's plan has. They stay while the others are parked. */
enum spots_for {
	FOR_USER,	/* that the user named */
	FOR_WITHIN,	/* the points of --within in an object */
	FOR_LOADER,	/* plan.loader */
	FOR_PYTHON,	/* where a Python interpreter frees code */
	FOR_ENTRY,	/* reports when the entry point of a program of our own is reached: see kernel__started */
	FOR_MARK,	/* does nothing but be there, also where no code is: see below */
};
int attachment__add_spot(struct attachment *a, enum spots_for what, const struct object *obj, uint64_t offset, struct err *e);
int attachment__add_spots(struct attachment *a, enum spots_for what, const struct object *obj,
			  const struct spot_points *points, struct err *e);
/* plan.refusals, parked with the others. points must live as long as the attachment. */
int attachment__add_refusals(struct attachment *a, const struct object *obj, const struct spot_points *points,
			     struct err *e);
/*
 * All probes of these processes out, and in again, with the programs frozen:
 * then their order does not matter: all links are closed at once, and made one after the other,
 * which is quicker. The targets run free a millisecond or two after closing began; the kernel takes
 * a tenth of a second more to give the links back, which threads wait for: event_fd becomes
 * readable when they are done. NULL elements are skipped.
 *
 * Taking the links does nothing to them: the code that holds them may start to close
 * them later, from any thread. parked: what is added meanwhile is probed when the others
 * are put in again.
 */
struct closing;
struct closing *attachments__take(struct attachment *const *v, size_t n, bool parked, int event_fd);
void closing__start(struct closing *c);	/* the first time; takes NULL */
bool closing__done(const struct closing *c);	/* waiting for it takes no time */
/* since it was started, if it goes on; 0: it was not; takes NULL */
uint64_t closing__took_ns(const struct closing *c);
void closing__wait(struct closing *c);	/* starts it, if need be; takes NULL */
/* ret_hot_ns: for how long some of the probes that are hit with each call were in place, and others not yet. */
int attachments__unpark(struct attachment *const *v, size_t n, uint64_t *ret_hot_ns, struct err *e);
/* Takes NULL. The target runs free when it returns. */
void attachment__free(struct attachment *a);
/* Many take hardly longer than one. Some may be NULL. */
void attachments__free(struct attachment *const *v, size_t n);
/*
 * The same on a thread of its own: the kernel takes a tenth of a second and more to give links back, in which there is
 * other work. NULL: it is done.
 */
struct leaving;
struct leaving *attachments__leave(struct attachment *const *v, size_t n);
uint64_t leaving__wait(struct leaving *l);	/* when it was done, by CLOCK_MONOTONIC; takes NULL */

/*
 * ---- files that are probed and written to
 *
 * To the kernel such a file is the same one as before: it goes on putting breakpoints where the old
 * code had its functions, and carries out the old instructions there, which kills processes that
 * map the new code (any tool that sets uprobes, 6.1 to 6.18). So the probes have to be out before a
 * process does.
 *
 * inotify reports it, with the first byte that is written, or when the file is truncated; a thread
 * of its own, which has nothing else to do, takes the links away from the code that made them. A
 * lease (F_SETLEASE) would report it before, and make the writer wait until the probes are out; but
 * it would wait for up to 45 seconds (lease-break-time) if malloctrace is stopped meanwhile, by
 * SIGSTOP, a frozen cgroup or a debugger.
 */

struct writes;

/* NULL: there is no thread, or no inotify (fs.inotify.max_user_instances): then writes go unnoticed. */
struct writes *writes__new(void);
void writes__free(struct writes *w);
/*
 * In all of these w may be NULL. From now on, until it is reported once; before the file is probed.
 * -ESTALE: it was written to since it was opened, and what is known of it does not hold any more:
 * it must not be probed, and is reported.
 */
int writes__watch(struct writes *w, struct object *obj);
/*
 * A link in the file that closing ends. Before fd is closed it is to be dropped; by then it may be
 * one of /dev/null. anchor: see above.
 */
void writes__add_link(struct writes *w, const struct object *obj, int fd, bool anchor);
void writes__drop_link(struct writes *w, int fd);
int writes__fd(const struct writes *w);	/* readable: a file was written to */
/* One that was; no reference. NULL: no more. */
const struct object *writes__next(struct writes *w);

/* ---- the page faults of one process, or of all: --mode growth */

struct faults;

/* All its threads, now and later; not its children. *ret is the caller's. */
int faults__open(struct kernel *k, pid_t pid, struct faults **ret, struct err *e);
/* Those of every process, now and later: the programs know which are traced. *ret is the caller's. */
int faults__open_all(struct kernel *k, struct faults **ret, struct err *e);
/* False: CPUs were switched on or off since then, and who runs on a new one is not seen. */
bool faults__have_all(const struct faults *f);
/* Those that there are will do, until CPUs are switched on or off again. */
void faults__settle_for(struct faults *f);
void faults__close(struct faults *f);	/* takes NULL */

/*
 * Are the breakpoints where they should be? They are read back from the memory of a process. The
 * kernel sets them in mappings of a file; a debugger may have taken some out, and a program may
 * have moved its code to anonymous memory (huge pages).
 */

struct breakpoints {
	size_t n_points;	/* in what the process maps */
	size_t n_gone;		/* of them those without a breakpoint */
	size_t n_foreign;	/* of them those with one that is not the kernel's: a debugger's */
	size_t n_never;		/* besides: in mappings that can be written, where the kernel sets none */
	size_t n_moved;		/* besides: where the file's code was there is other code now */
};

/*
 * space: what is known to be mapped, for files whose numbers are not enough; or NULL. -errno if it
 * cannot be read.
 */
int breakpoints__check(pid_t pid, const struct space *space, const struct plan *const *plans, size_t n,
		   struct breakpoints *ret);
/* What is at a point: how many bytes of it are read, and what they are, next to the file's own. */
#define BREAKPOINT_BYTES 10
enum breakpoint_kind { BREAKPOINT_IN_PLACE, BREAKPOINT_FOREIGN, BREAKPOINT_GONE };
enum breakpoint_kind breakpoint__kind(uint16_t machine, const unsigned char *mem, const unsigned char *file);
/* Can a debugger's breakpoint be distinguished from the kernel's? On x86_64 they are the same instruction. */
bool breakpoints__tell_foreign(void);

/*
 * ---- one file under two names
 *
 * Containers that share a layer of an image see it through overlays of their own, with device and
 * inode numbers of their own, but a probe acts on the file below: probed through one overlay, it is
 * probed in all of them, and a second set of probes would count everything twice.
 *
 * A breakpoint that is seen through the other name is no proof: it may be another tracer's, in a
 * copy of the file. So the file is marked by a probe that no other tracer can have: for
 * malloctrace's own process alone, and in the ELF header, which is never executed. Whichever name
 * the mark is seen through is a name of the same file.
 */

/*
 * Does a process that maps the object meet a breakpoint at this place already, whatever set it? A
 * mapping of our own shows it.
 */
bool breakpoint__is_at(const struct object *obj, uint64_t offset);

/*
 * -errno if the kernel does not let us; then it is not known whose other names it has.
 * attachment__free() takes the mark out.
 */
int file_mark__set(struct kernel *k, const struct object *obj, struct attachment **ret);
bool file_mark__is_seen(const struct object *obj);

/* ---- does a plan see what it should? Tried on a child of our own before a target is touched */

enum check_verdict {
	CHECK_RIGHT,	/* each function that can be called was, and was seen exactly so */
	CHECK_WRONG,	/* something else was seen, or the points broke the code */
	CHECK_CANNOT,	/* nothing is known */
};

struct check_result {
	enum check_verdict verdict;
	unsigned int n_called;
	char why[160];	/* unless it is right; clean */
};

/* Has the plan anything but first instructions and uretprobes? */
bool plan__is_plain(const struct plan *p);
void check__plan(struct kernel *k, const struct alloc_funcs *funcs, const struct plan *p, struct check_result *ret);

#define CHECK_CHILD_NAME "malloctrace-check"	/* argv[0] of the child */
/* The child's whole life: serves requests until there are no more. */
int check_child__main(int argc, char **argv);

#endif
