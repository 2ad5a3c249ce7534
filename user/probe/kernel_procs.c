// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Which processes are traced, as far as user space decides it, and what the programs know of their
 * code. All changes go through the program `manage`, which knows the rules (bpf/adopt.bpf.h): an
 * exec, a fork or an end at the same moment is in order before or after each of them.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elffile.h"
#include "elf/object.h"
#include "malloctrace.skel.h"
#include "probe/kernel.h"
#include "reader/reader.h"
#include "util/hash.h"
#include "util/util.h"

#define MAX_CHECKED 4096	/* of a table of a quarter of that, in which processes come and go */

/* What `manage` says, or -errno. */
static int64_t request(struct kernel *k, struct mt_request *r)
{
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = r, .ctx_size_in = sizeof(*r));
	int err = bpf_prog_test_run_opts(bpf_program__fd(k->skel->progs.manage), &run);

	return err ? (int64_t)err : (int64_t)run.retval;
}

static int64_t ask(struct kernel *k, enum mt_request_kind kind, pid_t pid, uint32_t proc)
{
	return request(k, &(struct mt_request){ .kind = kind, .pid = pid, .proc = proc });
}

int kernel__follow(struct kernel *k, struct err *e)
{
	const struct mt_known own = { .flags = MT_KNOWN_IGNORED | MT_KNOWN_OWN };
	pid_t ours[32] = { getpid() };
	size_t n_ours = 1 + readers__pids(ours + 1, ARRAY_SIZE(ours) - 1);
	const struct {
		struct bpf_program *program;
		struct bpf_link **link;
		bool optional;
	} points[] = {
		{ k->skel->progs.task_fork, &k->skel->links.task_fork, false },
		{ k->skel->progs.task_exec, &k->skel->links.task_exec, false },
		/* programs of one point run in the order in which they were attached */
		{ k->skel->progs.mapping_exit, &k->skel->links.mapping_exit, false },
		{ k->skel->progs.task_exit, &k->skel->links.task_exit, false },
		{ k->skel->progs.task_renamed, &k->skel->links.task_renamed, false },
		{ k->skel->progs.task_moved, &k->skel->links.task_moved, false },
		/* kernels that have it not run the programs for all processes that share a memory */
		{ k->skel->progs.task_prepares, &k->skel->links.task_prepares, true },
		/* the exit event says the same, except in a race */
		{ k->skel->progs.task_chosen, &k->skel->links.task_chosen, true },
	};

	/* what these fork later is ours as well */
	for (size_t i = 0; i < n_ours; i++) {
		const uint32_t pid = ours[i];

		if (bpf_map__update_elem(k->skel->maps.proc_of_pid, &pid, sizeof(pid), &own, sizeof(own), BPF_ANY))
			return err_set(e, -errno, "table of processes: %s", strerror(errno));
	}
	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		if (!bpf_program__autoload(points[i].program))
			continue;
		*points[i].link = bpf_program__attach(points[i].program);
		if (!*points[i].link && !points[i].optional)
			return err_set(e, -errno, "cannot follow fork, exec and exit (raw tracepoint of '%s'): %s",
				       bpf_program__name(points[i].program), strerror(errno));
	}
	return 0;
}

int kernel__add_process(struct kernel *k, pid_t pid, uint32_t *ret_proc, struct err *e)
{
	int64_t proc = ask(k, MT_ASK_ADD, pid, 0);

	if (proc < 0)
		return err_set(e, (int)proc, "table of processes: %s", strerror((int)-proc));
	*ret_proc = (uint32_t)proc;
	return proc ? 0 : err_set(e, -ENOSPC, "no room for more than %u processes", k->sizes.n_procs - 1);
}

uint32_t kernel__ignore(struct kernel *k, pid_t pid, uint32_t proc)
{
	int64_t had;

	do
		had = ask(k, MT_ASK_IGNORE, pid, proc);
	while (had == MT_ASK_MOVED);
	return had > 0 ? (uint32_t)had : 0;
}

bool kernel__ignore_unless_moved(struct kernel *k, pid_t pid, uint32_t proc)
{
	return ask(k, MT_ASK_IGNORE, pid, proc) != MT_ASK_MOVED;
}

void kernel__reconsider(struct kernel *k, pid_t pid)
{
	ask(k, MT_ASK_RECONSIDER, pid, 0);
}

uint32_t kernel__renew_life(struct kernel *k, pid_t pid, uint32_t proc)
{
	int64_t now = ask(k, MT_ASK_RENEW, pid, proc);

	return now > 0 ? (uint32_t)now : 0;
}

bool kernel__is_dying(const struct kernel *k, pid_t pid)
{
	uint32_t key = pid;
	struct mt_known known;

	return bpf_map_lookup_elem(bpf_map__fd(k->skel->maps.proc_of_pid), &key, &known) || known.flags & MT_KNOWN_DYING;
}

void kernel__share(struct kernel *k, pid_t pid, uint32_t proc, bool unselected)
{
	request(k,
		&(struct mt_request){
			.kind = MT_ASK_SHARE, .pid = pid, .proc = proc, .unselected = unselected });
}

void kernel__set_arenas(struct kernel *k, uint32_t proc, bool has)
{
	__atomic_store_n(&k->procs[MT_PROC_SLOT(proc)].arenas, has, __ATOMIC_RELEASE);
}

bool kernel__sees_sharers(const struct kernel *k)
{
	return !k->multi || k->skel->rodata->mt_config.adopt != MT_ADOPT_NONE;
}

bool kernel__has_borrowers(const struct kernel *k)
{
	uint32_t pid;

	return !bpf_map_get_next_key(bpf_map__fd(k->skel->maps.borrowers), NULL, &pid);
}

bool kernel__check_borrower(struct kernel *k, pid_t pid, uint32_t left_by)
{
	return ask(k, MT_ASK_CHECK, pid, left_by) > 0;
}

pid_t kernel__check_borrowers(struct kernel *k, uint32_t left_by)
{
	int fd = bpf_map__fd(k->skel->maps.borrowers);
	uint32_t pid, unseen = 0;

	/* if one exits meanwhile, the kernel begins again with the first */
	for (int err = bpf_map_get_next_key(fd, NULL, &pid), n = 0; !err && n < MAX_CHECKED; n++) {
		uint32_t last = pid;

		if (kernel__check_borrower(k, (pid_t)pid, left_by))
			unseen = pid;
		err = bpf_map_get_next_key(fd, &last, &pid);
	}
	return (pid_t)unseen;
}

uint64_t kernel__n_forked(const struct kernel *k)
{
	return __atomic_load_n(&k->skel->bss->mt_n_forked, __ATOMIC_RELAXED);
}

uint64_t kernel__n_closed(const struct kernel *k)
{
	return __atomic_load_n(&k->skel->bss->mt_n_closed, __ATOMIC_RELAXED);
}

bool kernel__sees_own_only(const struct kernel *k)
{
	return k->skel->rodata->mt_config.own_only;
}

bool kernel__has_ended(const struct kernel *k, uint32_t proc)
{
	const struct mt_proc *p = &k->procs[MT_PROC_SLOT(proc)];

	return __atomic_load_n(&p->ended, __ATOMIC_ACQUIRE) || p->number != proc;
}

bool kernel__was_dropped(const struct kernel *k, uint32_t proc)
{
	const struct mt_proc *p = &k->procs[MT_PROC_SLOT(proc)];

	return p->number == proc && __atomic_load_n(&p->ended, __ATOMIC_ACQUIRE) == MT_ENDED_DROPPED;
}

bool kernel__is_older(const struct kernel *k, uint32_t proc, uint32_t than)
{
	const struct mt_proc *p = &k->procs[MT_PROC_SLOT(proc)];

	return p->number != proc || p->nth < k->procs[MT_PROC_SLOT(than)].nth;
}

void kernel__for_each_life(struct kernel *k, uint64_t older_ns,
			   void (*fn)(uint32_t proc, pid_t pid, void *arg), void *arg)
{
	uint64_t now = kernel__clock_ns(k);

	for (uint32_t i = 1; i < k->sizes.n_procs; i++) {
		const struct mt_proc *p = &k->procs[i];

		if (p->pid && p->number && !__atomic_load_n(&p->ended, __ATOMIC_ACQUIRE) &&
		    p->started_ns + older_ns < now)
			fn(p->number, p->pid, arg);
	}
}

/* ---- what a process maps, and files */

int kernel__set_space(struct kernel *k, uint32_t proc, const struct mt_space *s, const struct code_state *state)
{
	int err = bpf_map__update_elem(k->skel->maps.spaces, &proc, sizeof(proc), s, sizeof(*s), BPF_ANY);
	struct mt_proc *p = &k->procs[MT_PROC_SLOT(proc)];
	__u64 never = 0;

	if (err)
		return err;
	__atomic_store_n(&p->walk, state->method, __ATOMIC_RELEASE);
	__atomic_store_n(&p->settled_seq, state->seq, __ATOMIC_RELEASE);
	if (state->replaced_ns)
		__atomic_compare_exchange_n(&p->unmapped_ns, &never, state->replaced_ns, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	/* stacks that were walked by the old tables are walked again */
	__atomic_fetch_add(&p->gen, 1, __ATOMIC_RELEASE);
	return 0;
}

void kernel__drop_space(struct kernel *k, uint32_t proc)
{
	bpf_map__delete_elem(k->skel->maps.spaces, &proc, sizeof(proc), 0);
}

uint32_t kernel__code_seq(const struct kernel *k, uint32_t proc)
{
	return __atomic_load_n(&k->procs[MT_PROC_SLOT(proc)].code_seq, __ATOMIC_ACQUIRE);
}

uint64_t kernel__unmapped_ns(const struct kernel *k, uint32_t proc)
{
	return __atomic_load_n(&k->procs[MT_PROC_SLOT(proc)].unmapped_ns, __ATOMIC_ACQUIRE);
}

/*
 * Numbers that stat reports are not what the kernel knows a file by (overlayfs): the kernel is
 * queried for a mapping, like the targets'.
 */
int kernel__name_file(struct kernel *k, const struct object *obj, struct mt_file_key *ret)
{
	void *at = object__file(obj) < 0 ? NULL : elffile__map_page(object__file(obj), 0);
	struct mt_name_file request = { .addr = (uintptr_t)at };
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &request, .ctx_size_in = sizeof(request));
	int err;

	if (!at)
		return -ENODEV;
	err = bpf_prog_test_run_opts(bpf_program__fd(k->skel->progs.name_file), &run);
	elffile__unmap_page(at);
	if (err || !run.retval)
		return -ENODEV;
	*ret = request.key;
	return 0;
}

int kernel__set_file(struct kernel *k, const struct mt_file_key *key, const struct mt_file *file)
{
	return bpf_map__update_elem(k->skel->maps.files, key, sizeof(*key), file, sizeof(*file), BPF_ANY);
}

void kernel__drop_file(struct kernel *k, const struct mt_file_key *key)
{
	bpf_map__delete_elem(k->skel->maps.files, key, sizeof(*key), 0);
}

int kernel__wait_for_walks(struct kernel *k)
{
	/* what threads remember of them */
	__atomic_fetch_add(&k->skel->data->mt_tables_gen, 1, __ATOMIC_SEQ_CST);
	return kernel__wait_for_programs(k);
}

/*
 * ---- the numbers of functions' code
 *
 * What is known of it is relative to a point, so one number does for all that look alike, wherever
 * they are mapped, and is never given back: the files of a machine have some hundred different
 * ones. Windows of --overhead put links in place from a thread of their own: hence the lock.
 */

struct entry {
	struct mt_code code;
	uint32_t next;		/* number of another one with the same hash, 0: none */
	bool refused;		/* the kernel did not take it */
};

struct codes {
	pthread_mutex_t lock;
	/* number 1 is the first; those from MT_MAX_CODES on found no room in the kernel */
	struct vec(struct entry) all;
	struct hash by_content;	/* the number of the last one with a hash */
	uint64_t n_refused;
};

struct codes *codes__new(void)
{
	struct codes *c = xcalloc(1, sizeof(*c));

	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void codes__free(struct codes *c)
{
	if (!c)
		return;
	vec_done(&c->all);
	hash__done(&c->by_content);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static uint64_t hash_of(const struct mt_code *code)
{
	uint64_t hash = 0, word;

	for (size_t i = 0; i < sizeof(*code); i += sizeof(word)) {
		memcpy(&word, (const char *)code + i, sizeof(word));
		hash = hash__mix(hash, word);
	}
	return hash;
}

uint32_t codes__find(struct codes *c, const struct mt_code *code, bool *ret_new)
{
	uint64_t hash = hash_of(code);
	uint32_t first = (uint32_t)(uintptr_t)hash__get(&c->by_content, hash);

	*ret_new = false;
	for (uint32_t number = first; number; number = c->all.v[number - 1].next)
		if (!memcmp(&c->all.v[number - 1].code, code, sizeof(*code)))
			return number < MT_MAX_CODES && !c->all.v[number - 1].refused ? number : 0;
	*vec_push(&c->all) = (struct entry){ .code = *code, .next = first };
	hash__put(&c->by_content, hash, (void *)(uintptr_t)c->all.n);
	*ret_new = true;
	return c->all.n < MT_MAX_CODES ? (uint32_t)c->all.n : 0;
}

uint64_t codes__n_full(struct codes *c)
{
	uint64_t n;

	pthread_mutex_lock(&c->lock);
	n = c->n_refused + (c->all.n >= MT_MAX_CODES ? c->all.n - (MT_MAX_CODES - 1) : 0);
	pthread_mutex_unlock(&c->lock);
	return n;
}

static void move(struct mt_code_range *r, int32_t by)
{
	if (r->from == r->to)
		return;
	r->from -= by;
	r->to -= by;
}

uint32_t codes__number(struct kernel *k, const struct mt_code *of_function, int32_t point)
{
	struct mt_code code = *of_function;
	uint32_t number;
	bool is_new;

	if (!code.n && code.shutdown.from == code.shutdown.to)
		return 0;
	for (uint32_t i = 0; i < code.n; i++)
		move(&code.range[i], point);
	move(&code.shutdown, point);
	pthread_mutex_lock(&k->codes->lock);
	number = codes__find(k->codes, &code, &is_new);
	/* what the array has no element for is reported as full, and so is what is not in it */
	if (number && is_new && bpf_map__update_elem(k->skel->maps.codes, &number, sizeof(number), &code, sizeof(code), BPF_ANY)) {
		k->codes->all.v[number - 1].refused = true;
		k->codes->n_refused++;
		number = 0;
	}
	pthread_mutex_unlock(&k->codes->lock);
	return number;
}
