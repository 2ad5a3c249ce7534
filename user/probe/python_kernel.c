// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The kernel's side of Python, seen from user space. Owns nothing: the ring is struct kernel's. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "malloctrace.skel.h"
#include "probe/kernel.h"

static int on_code(void *ctx, void *data, size_t size)
{
	struct kernel *k = ctx;

	if (k->on_code.fn)
		k->on_code.fn(data, size, k->on_code.arg);
	return 0;
}

int kernel__open_python(struct kernel *k, struct err *e)
{
	k->python_ring = ring_buffer__new(bpf_map__fd(k->skel->maps.python_ring), on_code, k, NULL);
	return k->python_ring ? 0 : err_set(e, -errno, "ring buffer: %s", strerror(errno));
}

bool kernel__sees_python(const struct kernel *k)
{
	return k->python_ring;
}

int kernel__set_python(struct kernel *k, const struct mt_python *p)
{
	uint32_t slot = MT_PROC_SLOT(p->proc);

	return bpf_map__update_elem(k->skel->maps.pythons, &slot, sizeof(slot), p, sizeof(*p), BPF_ANY);
}

void kernel__drop_python(struct kernel *k, uint32_t proc)
{
	const struct mt_python none = {};
	uint32_t slot = MT_PROC_SLOT(proc);

	bpf_map__update_elem(k->skel->maps.pythons, &slot, sizeof(slot), &none, sizeof(none), BPF_ANY);
}

int kernel__python_fd(const struct kernel *k)
{
	return k->python_ring ? bpf_map__fd(k->skel->maps.python_ring) : -1;
}

void kernel__read_python(struct kernel *k, void (*fn)(const void *record, size_t len, void *arg), void *arg)
{
	if (!k->python_ring)
		return;
	k->on_code.fn = fn;
	k->on_code.arg = arg;
	ring_buffer__consume(k->python_ring);
	k->on_code.fn = NULL;
}
