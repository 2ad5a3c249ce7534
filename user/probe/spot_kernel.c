// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The kernel's side of spots, seen from user space. Owns nothing: the ring is struct kernel's. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "elf/object.h"
#include "malloctrace.skel.h"
#include "probe/code.h"
#include "probe/kernel.h"
#include "probe/sampler.h"

static int on_reached(void *ctx, void *data, size_t size)
{
	struct kernel *k = ctx;

	if (size >= sizeof(struct mt_reached) && k->on_spot.fn)
		k->on_spot.fn(data, k->on_spot.arg);
	return 0;
}

int kernel__open_spots(struct kernel *k, struct err *e)
{
	k->spot_ring = ring_buffer__new(bpf_map__fd(k->skel->maps.spot_events), on_reached, k, NULL);
	return k->spot_ring ? 0 : err_set(e, -errno, "ring buffer: %s", strerror(errno));
}

int kernel__set_spot(struct kernel *k, uint32_t number, uint32_t kind)
{
	struct mt_spot spot = { .kind = kind };

	return bpf_map__update_elem(k->skel->maps.spots, &number, sizeof(number), &spot, sizeof(spot), BPF_ANY);
}

int kernel__set_within(struct kernel *k, uint32_t list, const struct mt_within_list *ranges)
{
	return bpf_map__update_elem(k->skel->maps.within_lists, &list, sizeof(list), ranges, sizeof(*ranges), BPF_ANY);
}

int kernel__set_within_inlined(struct kernel *k, uint32_t list, const struct object *obj)
{
	struct mt_within_file f = { .list = list };
	struct mt_file_key key;
	int err = kernel__name_file(k, obj, &key);

	for (size_t i = 0, n = 0; i < obj->n_segments && n < MT_WITHIN_SEGMENTS; i++) {
		const struct object_segment *s = &obj->segments[i];

		if (!s->exec)
			continue;
		f.segment[n].off = s->file_off;
		f.segment[n].size = s->file_size;
		f.segment[n++].vaddr = s->vaddr;
	}
	if (!err)
		err = bpf_map__update_elem(k->skel->maps.within_files, &key, sizeof(key), &f, sizeof(f), BPF_ANY);
	if (!err)
		__atomic_store_n(&k->skel->bss->mt_within_inlined, 1, __ATOMIC_SEQ_CST);
	return err;
}

int kernel__spots_fd(const struct kernel *k)
{
	return k->spot_ring ? bpf_map__fd(k->skel->maps.spot_events) : -1;
}

void kernel__read_spots(struct kernel *k, void (*fn)(const struct mt_reached *r, void *arg), void *arg)
{
	if (!k->spot_ring)
		return;
	k->on_spot.fn = fn;
	k->on_spot.arg = arg;
	ring_buffer__consume(k->spot_ring);
	k->on_spot.fn = NULL;
}

void kernel__wait_for_start(struct kernel *k)
{
	__atomic_store_n(&k->skel->bss->mt_waiting, 1, __ATOMIC_SEQ_CST);
}

bool kernel__wait_no_more(struct kernel *k)
{
	__u64 waiting = 1;

	return __atomic_compare_exchange_n(&k->skel->bss->mt_waiting, &waiting, 0, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

uint64_t kernel__bytes(const struct kernel *k, uint64_t amount)
{
	return k->recording.sample_bytes ? sampler__bytes(amount) : amount;
}

static uint32_t reached(struct kernel *k, const volatile __u64 *by, struct mt_spot *ret)
{
	uint32_t number = (uint32_t)__atomic_load_n(by, __ATOMIC_SEQ_CST);

	if (number && bpf_map__lookup_elem(k->skel->maps.spots, &number, sizeof(number), ret, sizeof(*ret), 0))
		return 0;
	return number;
}

uint32_t kernel__begun_by(struct kernel *k, struct mt_spot *ret)
{
	return reached(k, &k->skel->bss->mt_begun_by, ret);
}

uint32_t kernel__stopped_by(struct kernel *k, struct mt_spot *ret)
{
	return reached(k, &k->skel->bss->mt_stopped_by, ret);
}
