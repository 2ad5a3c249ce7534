// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The product's programs and one more: at the entry of malloc it walks the
 * stack as the product does, tells the frames, and stops the thread, so that
 * somebody else can walk the same stack.
 */
#include "bpf/malloctrace.bpf.c"
#include "tests/oracle/oracle.h"

/* Calls from now on, the last of which is to be stopped; none if not above 0. */
volatile __s64 oracle_countdown = 0;
volatile __u32 oracle_proc = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} oracle_ring SEC(".maps");

#define SIGSTOP 19

SEC("uprobe")
int oracle_stop(mt_regs *ctx)
{
	__u64 caller = arch_return_address(ctx);
	struct oracle_event *ev;
	struct mt_scratch *s;
	struct mt_thread *t;
	__u32 n;

	if (oracle_countdown <= 0 || __sync_fetch_and_add(&oracle_countdown, -1) != 1)
		return 0;
	t = thread_slot(0, 0);
	s = t ? scratch_claim(t) : NULL;
	if (!s)
		return 0;
	n = walk_tables(s, t, oracle_proc, caller, arch_sp_after_return(ctx), arch_fp(ctx));
	ev = bpf_ringbuf_reserve(&oracle_ring, sizeof(*ev), 0);
	if (!ev) {
		scratch_release(t, s);
		return 0;
	}
	ev->tid = bpf_get_current_pid_tgid();
	ev->n = n;
	ev->end = s->walk.end;
	ev->ra_at = ARCH_RA_ON_STACK ? arch_sp_after_return(ctx) - 8 : 0;
	bpf_probe_read_kernel(ev->ip, sizeof(ev->ip), s->ip);
	ev->n_fp = walk_from(s, t, caller, arch_sp_after_return(ctx), arch_fp(ctx));
	ev->fp_end = s->walk.end;
	bpf_probe_read_kernel(ev->fp_ip, sizeof(ev->fp_ip), s->ip);
	scratch_release(t, s);
	bpf_ringbuf_submit(ev, 0);
	bpf_send_signal_thread(SIGSTOP);
	return 0;
}
