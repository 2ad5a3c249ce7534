// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The registers of all threads of a process, and their stacks for signals, without a stop: what is read of the iterator are struct mt_registers. A
 * thread that is in the kernel left them there; of one that runs they are those of when it was last interrupted.
 * An object of its own, so that a look at a heap needs none of the tables of a trace.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi_registers.h"
#include "bpf/arch.bpf.h"
#include "bpf/upids.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* A first thread that has ended stays for as long as there are others, without memory. Threads of the kernel that work for a process (io_uring's): they have no registers of its. */
#define OF_KERNEL 0x10

/*
 * The process, as the reader sees it. A map and no variable: libbpf (1.1) goes on without memory for its notes on BTF if an object has no
 * maps, and dies of it; and variables it leaves unmapped where the kernel refuses a trial of that.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __s32);
} only_pid SEC(".maps");

SEC("iter/task")
int tell_registers(struct bpf_iter__task *ctx)
{
	struct task_struct *reader = (void *)bpf_get_current_task(), *task = ctx->task;
	__u32 level = BPF_CORE_READ(reader, thread_pid, level);
	__s32 *pid = bpf_map_lookup_elem(&only_pid, &(__u32){ 0 });
	struct mt_registers r = {};

	if (!task || !pid || upid_at(BPF_CORE_READ(task, group_leader, thread_pid), level).nr != *pid ||
	    BPF_CORE_READ(task, flags) & OF_KERNEL || !BPF_CORE_READ(task, mm))
		return 0;
	r.tid = upid_at(BPF_CORE_READ(task, thread_pid), level).nr;
	r.switches = BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
	r.n = arch_user_registers(r.v, (const void *)bpf_task_pt_regs(task), task);
	r.tp = arch_thread_pointer(task);
	r.signal_stack = BPF_CORE_READ(task, sas_ss_sp);
	if (r.n)
		r.sp = r.v[(r.n - 1) % MT_MAX_REGISTERS];
	r.running = !bpf_core_field_exists(task->on_cpu) || BPF_CORE_READ(task, on_cpu);
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
