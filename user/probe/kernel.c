// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the BPF skeleton. Between kernel__open and kernel__close the programs are loaded and the tables exist. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "malloctrace.skel.h"
#include "probe/features.h"
#include "probe/kernel.h"
#include "process/memcg.h"
#include "util/parse.h"
#include "util/util.h"

#define MiB (1024ull * 1024)

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
		{ skel->maps.site_rare, s->n_rare },
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
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes) && !err; i++)
		err = bpf_map__set_max_entries(sizes[i].map, sizes[i].n);
	return err;
}

/* ---- tables, made by two threads at once: the kernel zeroes them, which takes a good part of the time to attach */

#define LARGE_BYTES (1u << 20)

struct table {
	struct bpf_map *map;
	int fd;			/* owned; negative: not made */
};

struct work {
	struct vec(struct table) v;
	size_t next;		/* that nobody has begun; atomic */
};

static void *make(void *arg)
{
	struct work *w = arg;
	size_t i;

	while ((i = __atomic_fetch_add(&w->next, 1, __ATOMIC_RELAXED)) < w->v.n) {
		const struct bpf_map *m = w->v.v[i].map;
		LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = bpf_map__map_flags(m));

		w->v.v[i].fd = bpf_map_create(bpf_map__type(m), bpf_map__name(m), bpf_map__key_size(m), bpf_map__value_size(m),
					      bpf_map__max_entries(m), &opts);
	}
	return NULL;
}

static bool is_large(const struct bpf_map *m)
{
	enum bpf_map_type type = bpf_map__type(m);

	return (type == BPF_MAP_TYPE_ARRAY || type == BPF_MAP_TYPE_HASH) &&
	       (uint64_t)bpf_map__max_entries(m) * bpf_map__value_size(m) >= LARGE_BYTES;
}

/* A table that cannot be made is left to libbpf, which fails as well, and says why. */
static void make_tables(struct bpf_object *obj)
{
	struct work w = {};
	struct bpf_map *m;
	pthread_t other;
	bool shared;

	bpf_object__for_each_map(m, obj) {
		struct table *t = is_large(m) ? vec_push(&w.v) : NULL;

		if (t)
			*t = (struct table){ m, -1 };
	}
	shared = sysconf(_SC_NPROCESSORS_ONLN) > 1 && !pthread_create(&other, NULL, make, &w);
	make(&w);
	if (shared)
		pthread_join(other, NULL);
	for (size_t i = 0; i < w.v.n; i++)
		if (w.v.v[i].fd >= 0) {
			/* of no consequence if it fails: then libbpf makes another */
			bpf_map__reuse_fd(w.v.v[i].map, w.v.v[i].fd);
			close(w.v.v[i].fd);
		}
	vec_done(&w.v);
}

/* ---- programs */

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
	k->born_unit_ns = MAX(k->skel->rodata->mt_config.tick_ns, 1ull);
	choose_programs(k->skel, o);
	choose_links(k->skel, k->multi);
	err = size_maps(k->skel, &k->sizes, o);
	if (!err) {
		make_tables(k->skel->obj);
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
	err = kernel__map_table(k->skel->maps.procs, PROT_READ | PROT_WRITE, (void **)&k->procs, e) ?:
	      kernel__map_table(k->skel->maps.unwind_rows, PROT_READ | PROT_WRITE, (void **)&k->unwind_rows, e);
	if (!err)
		err = kernel__map_table(k->skel->maps.unwind_pages, PROT_READ | PROT_WRITE,
					(void **)&k->unwind_pages, e);
	if (err)
		goto fail;
	kernel__clock_ns(k);	/* also: which pid namespace is ours */
	err = kernel__open_rings(k, o, e) ?:
	      kernel__follow(k, e);
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
	kernel__close_rings(k);
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
	if (frozen)
		k->unrecorded_before = k->skel->bss->mt_unrecorded;
	else
		k->frozen_ns = 0;
	kernel__pause(k, frozen);
	if (frozen)
		k->frozen_ns = kernel__clock_ns(k);
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

void kernel__thread_name(const struct kernel *k, uint32_t number, char buf[static 32])
{
	char name[MT_COMM_LEN];

	*buf = '\0';
	if (bpf_map__lookup_elem(k->skel->maps.thread_names, &number, sizeof(number), name, sizeof(name), 0))
		return;
	snprintf(buf, 32, "%.16s", name);
	clean_name(buf);
}
