/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The programs and tables in the kernel: how large, loaded, and which processes are traced.
 * The session owns one struct kernel; attach.c and collect/ work on it.
 */
#ifndef MT_KERNEL_H
#define MT_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/abi.h"
#include "recording/recording.h"
#include "util/err.h"

struct mt_registers;
struct object;
struct bpf_map;
struct codes;
struct malloctrace_bpf;
struct ring_buffer;
struct sharers;
struct spots;

struct table_sizes {
	uint64_t max_live, max_stacks;	/* what was requested, or fits the machine */
	uint32_t n_groups;		/* of MT_GROUP buckets */
	uint32_t n_over;
	uint32_t n_sites, n_index, n_words;
	uint32_t n_procs, n_shards;
	uint32_t n_threads;		/* records, of traced threads and of those that meet the probes */
	uint32_t n_known;		/* pids, traced or ignored */
	uint32_t ring_bytes;		/* of messages */
	uint32_t n_scratch, n_shared;	/* buffers for stacks; those that are no thread's own */
	uint32_t n_vars;
	uint32_t n_unwind_rows, n_unwind_pages;
	/* --mmap: parts of mappings and their index; else one of each */
	uint32_t n_parts, n_nodes, n_mapped, n_map_calls;
	uint32_t n_ages;		/* sites whose frees are counted by age */
	/* --free-stacks: (site, where freed, thread), a power of two; 1: not recorded */
	uint32_t n_links;
	uint32_t n_rare;		/* struct mt_rare, twice per site; 1: not recorded */
	uint32_t calls_bytes;		/* of the ring of --events; else a page */
	uint64_t bytes;			/* of kernel memory, all together */
};

struct kernel_opts {
	struct recording recording;
	uint32_t n_procs;		/* lives at a time, a power of two; 0: as many as a few processes need */
	enum mt_adopt adopt;		/* what is traced besides the processes that are added */
	bool by_comm, by_cgroup;	/* user space selects by these: MT_EV_CHANGED says when they change */
	bool spots;			/* functions that the user named will be probed */
	bool calls;			/* --events: each call is reported as it happens */
	/* a target shares its memory with other processes: perf events, whose programs run for all of them */
	bool by_memory;
	bool python;			/* frames of Python are walked, where there are any */
};

/* Records from the programs: what the struct has is called for each of them while it is read. */
struct kernel_ring {
	struct ring_buffer *buffer;	/* NULL: they are not reported */
	union {
		void (*event)(const struct mt_event *ev, void *arg);
		void (*reached)(const struct mt_reached *r, void *arg);
		bool (*call)(const struct mt_told *c, void *arg);
		void (*code)(const void *record, size_t len, void *arg);
	} on;
	void *arg;
};

struct kernel {
	struct malloctrace_bpf *skel;
	struct table_sizes sizes;
	bool multi;		/* uprobe_multi links; else perf events */
	struct writes *writes;	/* not owned; gets each file before it is probed; NULL: none */
	int low_fds[16];	/* numbers below those of all links, for code that needs one; 0: taken */
	struct kernel_ring events, reached, calls, python;
	uint64_t python_unkept;	/* the programs' count of them, when room was made for more */
	struct codes *codes;	/* numbers of functions' code */
	struct mt_proc *procs;	/* the table of processes, mapped */
	struct mt_row *unwind_rows;	/* the arrays that unwind tables are written into */
	uint64_t *unwind_pages;
	struct recording recording;
	uint64_t born_unit_ns;	/* of births in the block table: a tick, or 1 */
	uint64_t frozen_ns;	/* when the trace ended, on that clock; 0: it goes on */
	uint64_t unrecorded_before;	/* calls that were not recorded up to then */
};

/* -ERANGE with a message if what was requested cannot be. (kernel_setup.c) */
int table_sizes__choose(const struct kernel_opts *o, struct table_sizes *ret, struct err *e);

/*
 * Will probes be uprobe_multi links? Else perf events: on kernels before 6.6, and
 * for tests of what those get if MALLOCTRACE_LINKS=perf is in the environment.
 */
bool kernel__links_multi(void);

int kernel__open(const struct kernel_opts *o, struct kernel **ret, struct err *e);
void kernel__close(struct kernel *k);	/* takes NULL */

/*
 * A child of ours that is sent SIGSTOP when it execs and ptrace does not stop it, just before its new program begins.
 * MT_EV_EXEC reports it; the reader lets it go on. 0: no process, as long as nothing reads.
 */
void kernel__hold_on_exec(struct kernel *k, pid_t pid);

/* For kernel__open: the rings (kernel_events.c). */
int kernel__open_rings(struct kernel *k, const struct kernel_opts *o, struct err *e);
void kernel__close_rings(struct kernel *k);
/* Are frames of Python walked? Of which process, and where they are: p->proc is its number. */
bool kernel__sees_python(const struct kernel *k);
int kernel__set_python(struct kernel *k, const struct mt_python *p);
void kernel__drop_python(struct kernel *k, uint32_t proc);
/*
 * Code was freed at more addresses than there is room for, so that none is known by its address: those of processes that have ended
 * are forgotten. How many; false: there is room.
 */
bool kernel__lacks_python_room(const struct kernel *k);
size_t kernel__forget_python_frees(struct kernel *k);
int kernel__python_fd(const struct kernel *k);	/* readable if there is something to read; -1: none */
/* Each record is a struct mt_python_code, which may end within its lines. */
void kernel__read_python(struct kernel *k, void (*fn)(const void *record, size_t len, void *arg), void *arg);
/* For kernel__open: the programs at fork, exec and exit; malloctrace itself is ignored (kernel_procs.c). */
int kernel__follow(struct kernel *k, struct err *e);

/*
 * Nothing is recorded before the first unfreeze, nor after a freeze: the trace
 * begins and ends at one instant, however long attaching and detaching take.
 */
/*
 * Around all that adds or removes points while the programs run: meanwhile there are returns without
 * entries. Any thread.
 */
void kernel__change_points(struct kernel *k, bool begin);
void kernel__freeze(struct kernel *k, bool frozen);

/* The same for a while: the programs' clock goes on. */
void kernel__pause(struct kernel *k, bool paused);
bool kernel__is_frozen(const struct kernel *k);	/* one way or the other */
/* --mode leak: how often points of allocation functions were met since it was frozen. */
uint64_t kernel__n_unrecorded(const struct kernel *k);

/*
 * Starts to follow a process, also one that was ignored; its number in the tables,
 * which is the one that the programs gave it, if they met it first. The caller
 * checks afterwards whether the process still lives: if it ended just before, no
 * message will say so.
 */
int kernel__add_process(struct kernel *k, pid_t pid, uint32_t *ret_proc, struct err *e);

/*
 * A process that is not of interest, until it execs under another name or is
 * added. proc: only if that is its life still, 0: whatever it is. Returns the number of the
 * life that was thrown out by this, 0: none; its MT_EV_* may still be on their way.
 * With MT_ADOPT_ALL the children that it forks are ignored as well.
 */
uint32_t kernel__ignore(struct kernel *k, pid_t pid, uint32_t proc);

/*
 * The same, decided by where the process is. False: it has entered a cgroup meanwhile, nothing was
 * done, and the caller looks again.
 */
bool kernel__ignore_unless_moved(struct kernel *k, pid_t pid, uint32_t proc);

/* Forgets that a process was ignored: with MT_ADOPT_ALL it is new when it is met next. */
void kernel__reconsider(struct kernel *k, pid_t pid);

/*
 * A process goes on that was not seen for a while: its life ends, and another begins, whose number is returned. 0: there is no
 * room, or that life was over. Only while the programs do nothing: nobody may charge anything to either.
 */
uint32_t kernel__renew_life(struct kernel *k, pid_t pid, uint32_t proc);

/* Are all its threads about to end, or have they ended? */
bool kernel__is_dying(const struct kernel *k, pid_t pid);
/* It runs Python, or does not: are its mappings looked at for arenas? */
void kernel__set_arenas(struct kernel *k, uint32_t proc, bool has);
/*
 * Another process shares the memory of process proc, and is the same target. unselected: only as
 * long as that lives.
 */
void kernel__share(struct kernel *k, pid_t pid, uint32_t proc, bool unselected);
/* Do the programs run for all processes that share the memory of a target? */
bool kernel__sees_sharers(const struct kernel *k);
bool kernel__has_borrowers(const struct kernel *k);	/* -p: is there any that shares the memory of a target? */
/*
 * Counts those whose calls were not seen: before the counters are read. Returns one of them; 0: none. Once it is frozen, nothing
 * is counted any more. left_by: those that outlive this process, which has exited; 0: of all processes.
 */
pid_t kernel__check_borrowers(struct kernel *k, uint32_t left_by);
bool kernel__check_borrower(struct kernel *k, pid_t pid, uint32_t left_by);	/* of one, whether it was counted */

/* Programs that were begun, and are not traced because this user may not look into them (bpf/guard.bpf.h). */
uint64_t kernel__n_forked(const struct kernel *k);	/* processes that traced ones started */
uint64_t kernel__n_closed(const struct kernel *k);
/* Are only processes traced that this user may look into? */
bool kernel__sees_own_only(const struct kernel *k);

/* What the table says of a life, whether or not there was a message. */
bool kernel__has_ended(const struct kernel *k, uint32_t proc);
/* Was it thrown out, so that it is in no report? */
bool kernel__was_dropped(const struct kernel *k, uint32_t proc);
/* Its record, which the programs go on writing to. */
static inline const volatile struct mt_proc *kernel__proc(const struct kernel *k, uint32_t proc)
{
	return &k->procs[MT_PROC_SLOT(proc)];
}
/* Did this life begin before that one? So did one whose place was given back. */
bool kernel__is_older(const struct kernel *k, uint32_t proc, uint32_t than);
/* Those that began longer ago than that and have not ended. */
void kernel__for_each_life(struct kernel *k, uint64_t older_ns,
			   void (*fn)(uint32_t proc, pid_t pid, void *arg), void *arg);

/* A table in our own memory; protection as for mmap. Unmapping takes NULL. */
int kernel__map_table(const struct bpf_map *map, int protection, void **ret, struct err *e);
void kernel__unmap_table(const struct bpf_map *map, const void *p);

int kernel__set_rule(struct kernel *k, uint32_t number, const struct mt_rule *rule);
/* When it returns, all programs that run now have ended. */
int kernel__wait_for_programs(struct kernel *k);

/* A number below those of all links, open and the caller's to replace and close; 0: none is left. */
int kernel__take_low_fd(struct kernel *k);

/*
 * Messages from the programs: an fd to poll, and what to call for each, with the beginning of a
 * struct mt_move, whatever its kind.
 */
int kernel__events_fd(const struct kernel *k);
typedef void (*kernel_event_fn)(const struct mt_event *ev, void *arg);
/* --by thread: the name that has this number, clean; "": none has. */
void kernel__thread_name(const struct kernel *k, uint32_t number, char buf[static 32]);
int kernel__read_events(struct kernel *k, kernel_event_fn fn, void *arg);

/* Tells the programs what each spot means; before they are probed. */
int kernel__load_spots(struct kernel *k, const struct spots *s, struct err *e);

/* What they report: an fd to poll (-1 without spots), and what to call for each. */
int kernel__spots_fd(const struct kernel *k);
void kernel__read_spots(struct kernel *k, void (*fn)(const struct mt_reached *r, void *arg), void *arg);
/*
 * Nothing is recorded until a START spot is reached, which unfreezes the trace
 * itself. False: no longer, because it was reached just now.
 */
void kernel__wait_for_start(struct kernel *k);
bool kernel__wait_no_more(struct kernel *k);
/* The number of the spot that began, or ended, the trace, and by which process and when; 0: none has. */
uint32_t kernel__begun_by(struct kernel *k, struct mt_spot *ret);
uint32_t kernel__stopped_by(struct kernel *k, struct mt_spot *ret);

/* --events, which wake nobody: what to call for each; it returns false: no more now, after this one. */
void kernel__read_calls(struct kernel *k, bool (*fn)(const struct mt_told *c, void *arg), void *arg);
uint64_t kernel__lost_calls(const struct kernel *k);	/* that found no room so far */
/* Nobody reads them any more: none is reported from now on. */
void kernel__end_calls(struct kernel *k);

/* Bytes as the programs add them up, in bytes: with --sample they are weighted. */
uint64_t kernel__bytes(const struct kernel *k, uint64_t amount);

/* --within: where the functions are in the code of a file; list: below MT_WITHIN_LISTS. Before it is probed. */
int kernel__set_within(struct kernel *k, uint32_t list, const struct mt_within_list *ranges);
/* The list has inlined copies: from now on stacks of all allocations are walked. -ENODEV: the file has no name for the kernel. */
int kernel__set_within_inlined(struct kernel *k, uint32_t list, const struct object *obj);

/* Has the program of our own reached its entry point since this was last reset? */
bool kernel__started(const struct kernel *k);
void kernel__reset_started(struct kernel *k);

/* The programs' clock, now; after the end of the trace, when that was. */
uint64_t kernel__clock_ns(struct kernel *k);

/* ---- libbpf's own words, kept for --verbose: the sentence that a user needs is made from the errno */

/* Once, before there is another thread: libbpf has one such function for all of them. */
void libbpf_words__keep(void);

/* ---- registers of all threads of a process, by a BPF task iterator: nobody is stopped */

/*
 * Of pid, and of others with its memory; *ret is the caller's to free. The program is loaded at the first call and kept; one thread at a time may call.
 * -EPERM, -ENOSYS: this user may not, this kernel cannot. -ESRCH: no such process.
 */
int registers__read(pid_t pid, const struct sharers *others, struct mt_registers **ret, size_t *ret_n, void *arg, struct err *e);
/* Unloads it. */
void registers__close(void);

/* ---- --sample: the tables that bpf/sample.bpf.h works with */

/* The unit that variances of bytes are summed up in: their squares stay below 2^35. */
uint64_t sampler__unit(uint64_t sample_bytes);
uint64_t sampler__calls_unit(uint64_t sample_bytes);	/* the same for those of calls, in weights */

/* 1/p of a block that was recorded. */
double sampler__weight_of(uint64_t size, uint64_t sample_bytes);

/* From the programs' fixed point to whole numbers. */
uint64_t sampler__calls(uint64_t n);
uint64_t sampler__bytes(uint64_t n);
void sampler__round_counts(struct mt_counts *c);
void sampler__round_thread(struct mt_thread_counts *c);

/* Fills the maps of the two, by their fds; 0 or -errno. */
int sampler__fill(int weights_fd, int logs_fd, uint64_t sample_bytes);

/* ---- for kernel__open: the programs' constants, all members of bpf/abi_config.h (kernel_setup.c) */

struct mt_config config__make(const struct kernel_opts *o, const struct table_sizes *s, bool multi);

/* ---- what the programs know of code: what a process maps where, and the files whose unwind tables are loaded */

struct code_state {		/* what goes with a process's ranges */
	uint32_t method;	/* enum mt_method: how its stacks are walked from now on */
	uint32_t seq;		/* kernel__code_seq() before its mappings were read */
	uint64_t replaced_ns;	/* code is known to have taken the place of other code, 0: not */
};

int kernel__set_space(struct kernel *k, uint32_t proc, const struct mt_space *s, const struct code_state *state);
void kernel__drop_space(struct kernel *k, uint32_t proc);
/* Moves when code may take the place of other code: what was seen of its mappings before is not sure any more. */
uint32_t kernel__code_seq(const struct kernel *k, uint32_t proc);
/* When code was first about to be unmapped, CLOCK_MONOTONIC; 0: never. */
uint64_t kernel__unmapped_ns(const struct kernel *k, uint32_t proc);

/* What names a file for the programs. -ENODEV: it cannot be mapped. */
int kernel__name_file(struct kernel *k, const struct object *obj, struct mt_file_key *ret);
int kernel__set_file(struct kernel *k, const struct mt_file_key *key, const struct mt_file *file);
void kernel__drop_file(struct kernel *k, const struct mt_file_key *key);
/* Files were dropped: when this returns, no program uses their tables any more. */
int kernel__wait_for_walks(struct kernel *k);

/* ---- what the programs know of the code of functions: a table by number, which cookies carry; the kernel owns one */

struct codes *codes__new(void);
void codes__free(struct codes *c);	/* takes NULL */

/*
 * The number of a function's code as it lies around a point, so many bytes after
 * what `of_function` is relative to. 0: there is no room, or nothing is known.
 */
uint32_t codes__number(struct kernel *k, const struct mt_code *of_function, int32_t point);
/* Without the kernel: the number that this very code has, or has from now on. */
uint32_t codes__find(struct codes *c, const struct mt_code *code, bool *ret_new);
/* How many different ones found no room. */
uint64_t codes__n_full(struct codes *c);

#endif
