// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: the maps are the kernel's. */
#include "probe/code.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "elf/elffile.h"
#include "elf/object.h"
#include "malloctrace.skel.h"
#include "probe/kernel.h"

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
