// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the rings: what the programs report, and what user space tells them of spots, of --within and of Python. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "elf/object.h"
#include "malloctrace.skel.h"
#include "probe/kernel.h"
#include "probe/spots.h"
#include "util/util.h"

/* ---- what the programs report */

static int on_event(void *ctx, void *data, size_t size)
{
	struct kernel *k = ctx;
	/* a copy with room for the longest kind: what a shorter one has not is empty */
	struct mt_move ev = {};

	if (size < sizeof(ev.ev) || !k->events.on.event)
		return 0;
	memcpy(&ev, data, size < sizeof(ev) ? size : sizeof(ev));
	ev.path[sizeof(ev.path) - 1] = 0;
	if (k->recording.sample_bytes)
		sampler__round_thread(&ev.ev.counts);
	k->events.on.event(&ev.ev, k->events.arg);
	return 0;
}

static int on_reached(void *ctx, void *data, size_t size)
{
	struct kernel *k = ctx;

	if (size >= sizeof(struct mt_reached) && k->reached.on.reached)
		k->reached.on.reached(data, k->reached.arg);
	return 0;
}

static int on_call(void *ctx, void *data, size_t size)
{
	struct kernel *k = ctx;

	if (size < sizeof(struct mt_told) || !k->calls.on.call)
		return 0;
	return k->calls.on.call(data, k->calls.arg) ? 0 : -EAGAIN;
}

/* How many bytes a text has in a report, where there was room for so many. */
static size_t bytes_of(const struct mt_python_text *t, size_t room)
{
	return MIN((uint64_t)t->n * t->kind, room);
}

/* Into what readers of it know; how long it is then, 0: it is none. */
static size_t unpack(const void *record, size_t size, struct mt_python_code *to)
{
	const char *bytes = (const char *)record + MT_PYTHON_REPORT_HEADER;
	size_t name, file, at;

	if (size < MT_PYTHON_REPORT_HEADER)
		return 0;
	memcpy(to, record, MT_PYTHON_REPORT_HEADER);
	name = bytes_of(&to->name, sizeof(to->name_bytes));
	file = bytes_of(&to->file, sizeof(to->file_bytes));
	at = MT_PYTHON_ROUND(name) + MT_PYTHON_ROUND(file);
	if (size < MT_PYTHON_REPORT_HEADER + at || size - MT_PYTHON_REPORT_HEADER - at > sizeof(to->lines))
		return 0;
	size -= MT_PYTHON_REPORT_HEADER + at;
	memcpy(to->name_bytes, bytes, name);
	memcpy(to->file_bytes, bytes + MT_PYTHON_ROUND(name), file);
	memcpy(to->lines, bytes + at, size);
	return MT_PYTHON_CODE_HEADER + size;
}

static int on_code(void *ctx, void *data, size_t size)
{
	struct kernel *k = ctx;
	struct mt_python_code code;
	size_t len = unpack(data, size, &code);

	if (k->python.on.code && len)
		k->python.on.code(&code, len, k->python.arg);
	return 0;
}

int kernel__open_rings(struct kernel *k, const struct kernel_opts *o, struct err *e)
{
	const struct {
		struct kernel_ring *ring;
		struct bpf_map *map;
		ring_buffer_sample_fn fn;
		bool wanted;
	} rings[] = {
		{ &k->events, k->skel->maps.events, on_event, true },
		{ &k->reached, k->skel->maps.spot_events, on_reached, o->spots },
		{ &k->calls, k->skel->maps.calls, on_call, o->calls },
		{ &k->python, k->skel->maps.python_ring, on_code, o->python },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rings); i++) {
		if (!rings[i].wanted)
			continue;
		rings[i].ring->buffer = ring_buffer__new(bpf_map__fd(rings[i].map), rings[i].fn, k, NULL);
		if (!rings[i].ring->buffer)
			return err_set(e, -errno, "ring buffer: %s", strerror(errno));
	}
	return 0;
}

void kernel__close_rings(struct kernel *k)
{
	struct kernel_ring *rings[] = { &k->events, &k->reached, &k->calls, &k->python };

	for (size_t i = 0; i < ARRAY_SIZE(rings); i++)
		ring_buffer__free(rings[i]->buffer);
}

/* What is in it is read by what the caller has set. */
static int consume(struct kernel_ring *r, void *arg)
{
	int n = 0;

	r->arg = arg;
	if (r->buffer)
		n = ring_buffer__consume(r->buffer);
	memset(&r->on, 0, sizeof(r->on));
	return n;
}

int kernel__read_events(struct kernel *k, kernel_event_fn fn, void *arg)
{
	k->events.on.event = fn;
	return consume(&k->events, arg);
}

void kernel__read_spots(struct kernel *k, void (*fn)(const struct mt_reached *r, void *arg), void *arg)
{
	k->reached.on.reached = fn;
	consume(&k->reached, arg);
}

void kernel__read_calls(struct kernel *k, bool (*fn)(const struct mt_told *c, void *arg), void *arg)
{
	k->calls.on.call = fn;
	consume(&k->calls, arg);
}

void kernel__read_python(struct kernel *k, void (*fn)(const void *record, size_t len, void *arg), void *arg)
{
	k->python.on.code = fn;
	consume(&k->python, arg);
}

int kernel__events_fd(const struct kernel *k)
{
	return bpf_map__fd(k->skel->maps.events);
}

int kernel__spots_fd(const struct kernel *k)
{
	return k->reached.buffer ? bpf_map__fd(k->skel->maps.spot_events) : -1;
}

int kernel__python_fd(const struct kernel *k)
{
	return k->python.buffer ? bpf_map__fd(k->skel->maps.python_ring) : -1;
}

/* ---- spots */

int kernel__load_spots(struct kernel *k, const struct spots *s, struct err *e)
{
	for (size_t i = 0; i < s->n; i++) {
		struct mt_spot spot = { .kind = s->v[i].kind };
		int err = bpf_map__update_elem(k->skel->maps.spots, &s->v[i].number, sizeof(s->v[i].number), &spot,
					       sizeof(spot), BPF_ANY);

		if (err)
			return err_set(e, err, "%s %s: %s", s->v[i].option, s->v[i].text, strerror(-err));
	}
	return 0;
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

/* ---- --events */

uint64_t kernel__lost_calls(const struct kernel *k)
{
	return __atomic_load_n(&k->skel->bss->mt_counters[MT_LOST_EVENTS_FULL], __ATOMIC_RELAXED);
}

void kernel__end_calls(struct kernel *k)
{
	__atomic_store_n(&k->skel->bss->mt_calls_off, 1, __ATOMIC_RELAXED);
}

/* ---- Python */

bool kernel__sees_python(const struct kernel *k)
{
	return k->python.buffer;
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

static uint64_t n_unkept(const struct kernel *k)
{
	return __atomic_load_n(&k->skel->bss->mt_python_unkept, __ATOMIC_RELAXED);
}

bool kernel__lacks_python_room(const struct kernel *k)
{
	return k->python.buffer && n_unkept(k) != k->python_unkept;
}

size_t kernel__forget_python_frees(struct kernel *k)
{
	int fd = bpf_map__fd(k->skel->maps.python_frees);
	uint64_t key, next, unkept = n_unkept(k);
	int err = bpf_map_get_next_key(fd, NULL, &next);
	size_t n = 0;

	/* entries are added meanwhile: it need not find them, but has to end */
	for (size_t i = 0; !err && i < 2 * (size_t)MT_PYTHON_FREES; i++) {
		const struct mt_proc *p = &k->procs[MT_PROC_SLOT(next >> 48)];

		key = next;
		err = bpf_map_get_next_key(fd, &key, &next);
		/* its code runs no more, so nobody asks; one that has the same number later has others */
		if ((p->number != key >> 48 || p->ended) && !bpf_map_delete_elem(fd, &key))
			n++;
	}
	if (n)
		k->python_unkept = unkept;
	return n;
}
