// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The kernel's side of --events, seen from user space. Owns nothing: the ring is struct kernel's. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "malloctrace.skel.h"
#include "probe/kernel.h"

static int on_call(void *ctx, void *data, size_t size)
{
	struct kernel *k = ctx;

	if (size < sizeof(struct mt_told) || !k->on_call.fn)
		return 0;
	return k->on_call.fn(data, k->on_call.arg) ? 0 : -EAGAIN;
}

int kernel__open_calls(struct kernel *k, struct err *e)
{
	k->call_ring = ring_buffer__new(bpf_map__fd(k->skel->maps.calls), on_call, k, NULL);
	return k->call_ring ? 0 : err_set(e, -errno, "ring buffer: %s", strerror(errno));
}

void kernel__read_calls(struct kernel *k, bool (*fn)(const struct mt_told *c, void *arg), void *arg)
{
	if (!k->call_ring)
		return;
	k->on_call.fn = fn;
	k->on_call.arg = arg;
	ring_buffer__consume(k->call_ring);
	k->on_call.fn = NULL;
}

uint64_t kernel__lost_calls(const struct kernel *k)
{
	return __atomic_load_n(&k->skel->bss->mt_counters[MT_LOST_EVENTS_FULL], __ATOMIC_RELAXED);
}

void kernel__end_calls(struct kernel *k)
{
	__atomic_store_n(&k->skel->bss->mt_calls_off, 1, __ATOMIC_RELAXED);
}
