// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the BPF skeleton. Between kernel__open and kernel__close the programs are loaded and the tables exist. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "malloctrace.skel.h"
#include "probe/ahead.h"
#include "probe/codes.h"
#include "probe/config.h"
#include "probe/features.h"
#include "probe/kernel.h"
#include "probe/sampler.h"
#include "process/memcg.h"
#include "util/parse.h"
#include "util/util.h"

#define MiB (1024ull * 1024)
#define FEW_PROCS 1024
#define MAX_ARENAS (1u << 16)	/* of Python: 64 GiB of 1 MiB each */
#define MAX_SITES ((1u << MT_SITE_BITS) - MT_MAX_PROCS - 1)

static uint32_t pow2_at_least(uint64_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static uint64_t clamp(uint64_t v, uint64_t min, uint64_t max)
{
	return v < min ? min : v > max ? max : v;
}

/*
 * Some ten thousand calls to each MiB. A thread that does nothing else makes some two million calls a
 * second, and the reader comes forty times. Tests want it full.
 */
static uint32_t call_ring_bytes(void)
{
	const char *asked = secure_getenv("MALLOCTRACE_EVENTS_PAGES");
	uint64_t pages;

	if (asked && !parse_u64(asked, 1, 4096, &pages))
		return pow2_at_least(pages) * sysconf(_SC_PAGESIZE);
	return 8 * MiB;
}

/*
 * Blocks: five entries of 24 bytes and a word make a bucket of two cache lines;
 * three quarters full, two choices nearly always find room, and the overflow map
 * takes the rest. By default about 1% of the machine's memory; where malloctrace may take but a small part of that
 * (its memory cgroup), about 8% of that part and what does not depend on it: the kernel would kill it for more.
 */
#define CGROUP_SHARE 8
/* Besides the tables: 107 MiB were measured while programs are loaded (6.18), 131 MiB while a report is made in three formats. */
#define OWN_BYTES (160 * MiB)

static int choose(const struct kernel_opts *o, const struct memcg *own, struct table_sizes *ret, struct err *e)
{
	const struct recording *r = &o->recording;
	struct table_sizes s = {};
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct sysinfo mem;
	uint64_t ram, usual;

	if (sysinfo(&mem))
		return err_set(e, -errno, "cannot find out how much memory this machine has");
	ram = (uint64_t)mem.totalram * mem.mem_unit;
	usual = MIN(ram / CGROUP_SHARE, own->room_bytes) * CGROUP_SHARE;

	/* what grows is no block */
	s.max_live = recording__is_growth(r) ? 1 : r->max_live ? r->max_live : clamp(usual / 5600, 1u << 16, 1u << 22);
	/*
	 * a stack takes 2 KiB: where any process may come, about 2% of the machine's memory, which is room for two compilers at
	 * a time on a machine of 24 GiB
	 */
	s.max_stacks = r->max_stacks ? r->max_stacks :
		       o->adopt	     ? clamp(MIN(ram / (90 * 1024), own->room_bytes / (22 * 1024)), 1u << 12, 1u << 19) :
				       clamp(usual / (300 * 1024), 1u << 12, 1u << 16);
	if (s.max_stacks > MAX_SITES - 1)
		return err_set(e, -ERANGE, "--max-stacks %llu: at most %u", (unsigned long long)s.max_stacks,
			       MAX_SITES - 1);
	if (s.max_live > UINT32_MAX)
		return err_set(e, -ERANGE, "--max-live %llu: at most %u", (unsigned long long)s.max_live, UINT32_MAX);
	s.n_groups = (s.max_live * 4 / 3 + MT_WAYS * MT_GROUP - 1) / (MT_WAYS * MT_GROUP);
	s.n_over = clamp(s.max_live / 4, 1024, 1u << 24);
	/* those that hold nothing give up their room when there are more than were requested: others come meanwhile */
	s.n_sites = MIN(s.max_stacks + s.max_stacks / 4 + 1, MAX_SITES);
	s.n_index = pow2_at_least(s.n_sites * 4ull);
	/* each site has room for a stack of its own */
	s.n_words = clamp(s.n_sites * (r->depth + 1ull), 1024, UINT32_MAX / 8);
	s.n_procs = clamp(pow2_at_least(o->n_procs ? o->n_procs :
					o->adopt   ? MT_MAX_PROCS :
						     FEW_PROCS),
			  2, MT_MAX_PROCS);
	/* a process has a few threads that allocate, and processes that are not traced may meet the probes, too */
	s.n_threads = o->adopt ? 131072 : 32768;
	s.n_known = o->adopt ? 65536 : s.n_procs;
	s.ring_bytes = o->adopt ? 4 * MiB : MiB / 4;
	s.n_shards = pow2_at_least(clamp(n_cpus, 1, 8));
	s.n_shared = clamp(n_cpus * 4, 16, 4096);
	s.n_scratch = s.n_shared + clamp(usual >> 24, 64, 1024);
	s.calls_bytes = o->calls ? call_ring_bytes() : sysconf(_SC_PAGESIZE);
	s.n_vars = r->sample_bytes ? (s.n_sites + s.n_procs) * 2ull * s.n_shards : 1;
	/* a large C++ program has 500,000 rows: 4 MiB; 8 bytes more for each page of code */
	s.n_unwind_rows = clamp(usual / 8192, 1u << 18, 1u << 22);
	s.n_unwind_pages = s.n_unwind_rows / 8;
	s.n_ages = recording__has_budget(r) ? s.n_sites + s.n_procs : 1;
	s.n_links = r->free_stacks ? MAX(pow2_at_least(s.max_stacks * 4), 64) : 1;
	s.n_moves = r->mode == MT_MODE_FULL && !recording__is_estimated(r) ? (s.n_sites + s.n_procs) * 2 : 1;
	/* sparse mappings have two nodes each, and each process a few of its own */
	s.n_parts = r->mmap ? s.n_over : r->arenas ? MIN(s.n_over, MAX_ARENAS) : 1;
	s.n_nodes = recording__has_mappings(r) ? 2 * s.n_parts + 8 * s.n_procs : 1;
	s.n_mapped = recording__has_mappings(r) ? s.n_procs : 1;
	s.n_map_calls = recording__has_mappings(r) ? s.n_threads : 1;
	s.bytes = (uint64_t)s.n_groups * MT_GROUP * sizeof(struct mt_bucket) + s.n_over * 16ull +
		  (s.n_sites + s.n_procs) *
			  (sizeof(struct mt_site) + s.n_shards * 2ull * sizeof(struct mt_counts)) +
		  s.n_index * 8ull + s.n_words * 8ull +
		  s.n_procs * (sizeof(struct mt_proc) + s.n_shards * 2ull * sizeof(struct mt_hist)) +
		  (s.n_unwind_rows + s.n_unwind_pages) * 8ull + s.n_threads * sizeof(struct mt_thread) +
		  s.ring_bytes + s.calls_bytes + s.n_scratch * sizeof(struct mt_scratch) + s.n_vars * sizeof(struct mt_vars) +
		  s.n_ages * sizeof(struct mt_ages) + s.n_moves * sizeof(struct mt_moves) +
		  (uint64_t)s.n_links * sizeof(struct mt_link) +
		  (s.n_parts + s.n_nodes + s.n_map_calls) * 16ull + s.n_mapped * sizeof(struct mt_mapped);
	if (s.bytes + OWN_BYTES > own->room_bytes)
		return err_set(e, -ERANGE,
			       "tables for %llu blocks and %llu stacks take %llu MiB, and malloctrace itself up to %llu MiB, more than the %llu MiB that it may still take (%s/%s): lower --max-live or --max-stacks, or start it in another cgroup",
			       (unsigned long long)s.max_live, (unsigned long long)s.max_stacks, (unsigned long long)(s.bytes / MiB), OWN_BYTES / MiB,
			       (unsigned long long)(own->room_bytes / MiB), own->dir, own->limit_file);
	if ((uint64_t)s.n_groups * MT_GROUP > UINT32_MAX || s.bytes > ram / 2)
		return err_set(e, -ERANGE,
			       "tables for %llu blocks and %llu stacks take %llu MiB, more than half of this machine's memory: lower --max-live or --max-stacks",
			       (unsigned long long)s.max_live, (unsigned long long)s.max_stacks,
			       (unsigned long long)(s.bytes / MiB));
	*ret = s;
	return 0;
}

int table_sizes__choose(const struct kernel_opts *o, struct table_sizes *ret, struct err *e)
{
	struct memcg own;
	int err;

	memcg__of(getpid(), &own);
	err = choose(o, &own, ret, e);
	memcg__done(&own);
	return err;
}

static int size_maps(struct malloctrace_bpf *skel, const struct table_sizes *s, const struct kernel_opts *o)
{
	const struct {
		struct bpf_map *map;
		uint64_t n;
	} sizes[] = {
		{ skel->maps.blocks, (uint64_t)s->n_groups * MT_GROUP },
		{ skel->maps.overflow, s->n_over },
		{ skel->maps.sites, s->n_sites + s->n_procs },
		{ skel->maps.site_counts, (s->n_sites + s->n_procs) * 2ull * s->n_shards },
		{ skel->maps.site_vars, s->n_vars },
		{ skel->maps.site_index, s->n_index },
		{ skel->maps.stack_words, s->n_words },
		{ skel->maps.procs, s->n_procs },
		{ skel->maps.proc_hists, s->n_procs * 2ull * s->n_shards },
		{ skel->maps.proc_of_pid, s->n_known },
		{ skel->maps.threads, s->n_threads },
		{ skel->maps.events, s->ring_bytes },
		{ skel->maps.calls, s->calls_bytes },
		{ skel->maps.scratch, s->n_scratch },
		{ skel->maps.unwind_rows, s->n_unwind_rows },
		{ skel->maps.unwind_pages, s->n_unwind_pages },
		{ skel->maps.spaces, s->n_procs },
		{ skel->maps.free_ages, s->n_ages },
		{ skel->maps.within_lists, o->recording.within ? MT_WITHIN_LISTS : 1 },
		{ skel->maps.within_files, o->recording.within ? MT_WITHIN_LISTS : 1 },
		{ skel->maps.within_procs, o->recording.within ? s->n_procs : 1 },
		{ skel->maps.site_moves, s->n_moves },
		{ skel->maps.free_links, s->n_links },
		{ skel->maps.map_parts, s->n_parts },
		{ skel->maps.map_nodes, s->n_nodes },
		{ skel->maps.mapped, s->n_mapped },
		{ skel->maps.map_calls, s->n_map_calls },
		{ skel->maps.pythons, o->python ? s->n_procs : 1 },
		{ skel->maps.python_walks, o->python ? MT_PYTHON_WALKS : 1 },
		{ skel->maps.python_states, o->python ? MT_PYTHON_STATES : 1 },
		{ skel->maps.python_frees, o->python ? MT_PYTHON_FREES : 1 },
		{ skel->maps.python_codes, o->python ? MT_PYTHON_CODES : 1 },
		{ skel->maps.python_prints, o->python ? MT_PYTHON_CODES : 1 },
		{ skel->maps.python_ring, o->python ? MT_PYTHON_RING_BYTES : (uint64_t)sysconf(_SC_PAGESIZE) },
	};
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		err = bpf_map__set_max_entries(sizes[i].map, sizes[i].n);
		if (err)
			return err;
	}
	return 0;
}

/* The programs of a mode that is not requested need not please this kernel. */
static void choose_programs(struct malloctrace_bpf *skel, const struct kernel_opts *o)
{
	bool growth = recording__is_growth(&o->recording);
	struct bpf_program *const of_growth[] = { skel->progs.fault_begins, skel->progs.fault_ends,
						  skel->progs.enter_map, skel->progs.leave_map };
	struct bpf_program *const of_maps[] = { skel->progs.enter_mapping, skel->progs.leave_mapping,
						skel->progs.mapping_exit };

	for (size_t i = 0; i < ARRAY_SIZE(of_maps); i++)
		bpf_program__set_autoload(of_maps[i], recording__has_mappings(&o->recording));
	for (size_t i = 0; i < ARRAY_SIZE(of_growth); i++)
		bpf_program__set_autoload(of_growth[i], growth);
	bpf_program__set_autoload(skel->progs.reach_call, !growth);
	bpf_program__set_autoload(skel->progs.reach_spot, o->spots);
	bpf_program__set_autoload(skel->progs.reach_code_freed, o->python);
	bpf_program__set_autoload(skel->progs.reach_within, o->recording.within != NULL);
	bpf_program__set_autoload(skel->progs.task_moved, o->by_cgroup);
}

static size_t map_bytes(const struct bpf_map *map)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t bytes = (size_t)bpf_map__max_entries(map) * ((bpf_map__value_size(map) + 7) & ~7u);

	return (bytes + page - 1) & ~(page - 1);
}

int kernel__map_table(const struct bpf_map *map, int protection, void **ret, struct err *e)
{
	void *p = mmap(NULL, map_bytes(map), protection, MAP_SHARED, bpf_map__fd(map), 0);

	if (p == MAP_FAILED)
		return err_set(e, -errno, "cannot map the table '%s': %s", bpf_map__name(map), strerror(errno));
	*ret = p;
	return 0;
}

void kernel__unmap_table(const struct bpf_map *map, const void *p)
{
	if (p)
		munmap((void *)p, map_bytes(map));
}


static int on_event(void *ctx, void *data, size_t size);

/* A uprobe program is told at loading time which kind of link it will have. */
static void choose_links(struct malloctrace_bpf *skel, bool multi)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, skel->obj)
		if (bpf_program__type(p) == BPF_PROG_TYPE_KPROBE && multi)
			bpf_program__set_expected_attach_type(p, (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
}

uint64_t kernel__clock_ns(struct kernel *k)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);

	if (k->frozen_ns)
		return k->frozen_ns;
	bpf_prog_test_run_opts(bpf_program__fd(k->skel->progs.hello), &run);
	return k->skel->bss->mt_hello_ns;
}

bool kernel__started(const struct kernel *k)
{
	return __atomic_load_n(&k->skel->bss->mt_started, __ATOMIC_ACQUIRE);
}

void kernel__reset_started(struct kernel *k)
{
	__atomic_store_n(&k->skel->bss->mt_started, 0, __ATOMIC_RELEASE);
}

void kernel__hold_on_exec(struct kernel *k, pid_t pid)
{
	k->skel->bss->mt_hold_by = getpid();
	__atomic_store_n(&k->skel->bss->mt_hold_pid, pid, __ATOMIC_SEQ_CST);
}

static int explain_load(struct err *e, int err, const struct table_sizes *s)
{
	/* EACCES and EINVAL are also what the verifier says of a program that it does not like, or may not accept */
	if ((err == -EPERM || err == -EACCES || err == -EINVAL) && features__explain(e))
		return err;
	switch (-err) {
	case ENOMEM:
		return err_set(e, err,
			       "no memory for the tables in the kernel (%llu MiB): lower --max-live or --max-stacks",
			       (unsigned long long)(s->bytes / MiB));
	case ESRCH:
	case ENOENT:
		return err_set(e, err,
			       "the kernel has no type information (BTF), which malloctrace needs: CONFIG_DEBUG_INFO_BTF=y");
	default:
		return err_set(e, err,
			       "the kernel refused the BPF programs: %s ('malloctrace doctor' checks what is missing, -v shows what the kernel says)",
			       strerror(-err));
	}
}

bool kernel__links_multi(void)
{
	const char *asked = secure_getenv("MALLOCTRACE_LINKS");

	return feature__has(FEATURE_UPROBE_MULTI) && !(asked && !strcmp(asked, "perf"));
}

int kernel__take_low_fd(struct kernel *k)
{
	for (size_t i = 0; i < ARRAY_SIZE(k->low_fds); i++) {
		int fd = k->low_fds[i];

		k->low_fds[i] = 0;
		if (fd > 0)
			return fd;
	}
	return 0;
}

int kernel__open(const struct kernel_opts *o, struct kernel **ret, struct err *e)
{
	struct kernel *k = xcalloc(1, sizeof(*k));
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(k->low_fds); i++)
		k->low_fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	k->codes = codes__new();
	err = table_sizes__choose(o, &k->sizes, e);
	if (err)
		goto fail;
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	k->recording = o->recording;
	k->multi = kernel__links_multi() && !(o->by_memory && feature__has(FEATURE_PERF_UPROBE));
	if (!k->multi && !feature__has(FEATURE_PERF_UPROBE)) {
		err = features__explain(e);
		goto fail;
	}
	k->skel = malloctrace_bpf__open();
	if (!k->skel) {
		err = explain_load(e, -errno, &k->sizes);
		goto fail;
	}
	k->skel->rodata->mt_config = config__make(o, &k->sizes, k->multi);
	k->born_unit_ns = config__born_unit_ns(&k->skel->rodata->mt_config);
	choose_programs(k->skel, o);
	choose_links(k->skel, k->multi);
	err = size_maps(k->skel, &k->sizes, o);
	if (!err) {
		ahead__make_tables(k->skel->obj);
		err = malloctrace_bpf__load(k->skel);
	}
	if (err) {
		err = explain_load(e, err, &k->sizes);
		goto fail;
	}
	/* libbpf tries first whether the kernel can, and takes any refusal of that for a no */
	if (!k->skel->bss || !k->skel->data || !k->skel->rodata) {
		err = err_set(e, -ENOTSUP, "the kernel has refused to map variables of BPF programs (BPF_F_MMAPABLE)");
		goto fail;
	}
	if (k->recording.sample_bytes) {
		err = sampler__fill(bpf_map__fd(k->skel->maps.sample_weights), bpf_map__fd(k->skel->maps.sample_logs),
				    k->recording.sample_bytes);
		if (err) {
			err_set(e, err, "the sampler's tables: %s", strerror(-err));
			goto fail;
		}
	}
	err = kernel__map_table(k->skel->maps.procs, PROT_READ | PROT_WRITE, (void **)&k->procs, e);
	if (!err)
		err = kernel__map_table(k->skel->maps.unwind_rows, PROT_READ | PROT_WRITE, (void **)&k->unwind_rows, e);
	if (!err)
		err = kernel__map_table(k->skel->maps.unwind_pages, PROT_READ | PROT_WRITE,
					(void **)&k->unwind_pages, e);
	if (err)
		goto fail;
	kernel__clock_ns(k);	/* also: which pid namespace is ours */
	k->ring = ring_buffer__new(bpf_map__fd(k->skel->maps.events), on_event, k, NULL);
	if (!k->ring) {
		err = err_set(e, -errno, "ring buffer: %s", strerror(errno));
		goto fail;
	}
	err = o->spots ? kernel__open_spots(k, e) : 0;
	if (!err && o->calls)
		err = kernel__open_calls(k, e);
	if (!err && o->python)
		err = kernel__open_python(k, e);
	if (!err)
		err = kernel__follow(k, e);
	if (err)
		goto fail;
	*ret = k;
	return 0;
fail:
	kernel__close(k);
	return err;
}

void kernel__close(struct kernel *k)
{
	if (!k)
		return;
	ring_buffer__free(k->ring);
	ring_buffer__free(k->spot_ring);
	ring_buffer__free(k->call_ring);
	ring_buffer__free(k->python_ring);
	if (k->skel) {
		kernel__unmap_table(k->skel->maps.procs, k->procs);
		kernel__unmap_table(k->skel->maps.unwind_rows, k->unwind_rows);
		kernel__unmap_table(k->skel->maps.unwind_pages, k->unwind_pages);
	}
	malloctrace_bpf__destroy(k->skel);
	codes__free(k->codes);
	for (int fd; (fd = kernel__take_low_fd(k));)
		close(fd);
	free(k);
}

/* From here on returns of calls whose entries were not seen are to be expected again: see lone.bpf.h. */
static void points_changed(struct kernel *k)
{
	__atomic_add_fetch(&k->skel->bss->mt_points_gen, 1, __ATOMIC_SEQ_CST);
}

void kernel__change_points(struct kernel *k, bool begin)
{
	if (begin) {
		__atomic_add_fetch(&k->skel->bss->mt_points_busy, 1, __ATOMIC_SEQ_CST);
		return;
	}
	points_changed(k);
	__atomic_sub_fetch(&k->skel->bss->mt_points_busy, 1, __ATOMIC_SEQ_CST);
}

void kernel__freeze(struct kernel *k, bool frozen)
{
	if (frozen)
		kernel__check_borrowers(k, 0);
	k->skel->bss->mt_over = frozen;
	if (frozen) {
		k->unrecorded_before = k->skel->bss->mt_unrecorded;
		__atomic_or_fetch(&k->skel->data->mt_cut, MT_CUT_FROZEN, __ATOMIC_SEQ_CST);
		k->frozen_ns = kernel__clock_ns(k);
	} else {
		k->frozen_ns = 0;
		points_changed(k);
		__atomic_and_fetch(&k->skel->data->mt_cut, ~MT_CUT_FROZEN, __ATOMIC_SEQ_CST);
	}
}

void kernel__pause(struct kernel *k, bool paused)
{
	if (paused) {
		__atomic_or_fetch(&k->skel->data->mt_cut, MT_CUT_FROZEN, __ATOMIC_SEQ_CST);
	} else {
		points_changed(k);
		__atomic_and_fetch(&k->skel->data->mt_cut, ~MT_CUT_FROZEN, __ATOMIC_SEQ_CST);
	}
}

uint64_t kernel__n_unrecorded(const struct kernel *k)
{
	return __atomic_load_n(&k->skel->bss->mt_unrecorded, __ATOMIC_SEQ_CST) - k->unrecorded_before;
}

bool kernel__is_frozen(const struct kernel *k)
{
	return __atomic_load_n(&k->skel->data->mt_cut, __ATOMIC_SEQ_CST) & MT_CUT_FROZEN;
}

struct mt_row *kernel__unwind_rows(const struct kernel *k)
{
	return k->unwind_rows;
}

uint64_t *kernel__unwind_pages(const struct kernel *k)
{
	return k->unwind_pages;
}

int kernel__set_rule(struct kernel *k, uint32_t number, const struct mt_rule *rule)
{
	return bpf_map__update_elem(k->skel->maps.unwind_rules, &number, sizeof(number), rule, sizeof(*rule), BPF_ANY);
}

int kernel__wait_for_programs(struct kernel *k)
{
	int inner = bpf_map__fd(k->skel->maps.grace_inner);
	uint32_t zero = 0;

	return bpf_map_update_elem(bpf_map__fd(k->skel->maps.grace), &zero, &inner, BPF_ANY) ? -errno : 0;
}

int kernel__events_fd(const struct kernel *k)
{
	return bpf_map__fd(k->skel->maps.events);
}

static int on_event(void *ctx, void *data, size_t size)
{
	struct kernel *k = ctx;
	/* a copy with room for the longest kind: what a shorter one has not is empty */
	struct mt_move ev = {};

	if (size < sizeof(ev.ev) || !k->on_event.fn)
		return 0;
	memcpy(&ev, data, size < sizeof(ev) ? size : sizeof(ev));
	ev.path[sizeof(ev.path) - 1] = 0;
	if (k->recording.sample_bytes)
		sampler__round_thread(&ev.ev.counts);
	k->on_event.fn(&ev.ev, k->on_event.arg);
	return 0;
}

void kernel__thread_name(const struct kernel *k, uint32_t number, char buf[static 32])
{
	char name[MT_COMM_LEN];

	*buf = '\0';
	if (bpf_map__lookup_elem(k->skel->maps.thread_names, &number, sizeof(number), name, sizeof(name), 0))
		return;
	snprintf(buf, 32, "%.16s", name);
	clean_name(buf);
}

int kernel__read_events(struct kernel *k, kernel_event_fn fn, void *arg)
{
	int n;

	k->on_event.fn = fn;
	k->on_event.arg = arg;
	n = ring_buffer__consume(k->ring);
	k->on_event.fn = NULL;
	return n;
}
