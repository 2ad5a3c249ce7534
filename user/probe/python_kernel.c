// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The kernel's side of Python, seen from user space. Owns nothing: the ring is struct kernel's. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "malloctrace.skel.h"
#include "probe/kernel.h"
#include "util/util.h"

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

	if (k->on_code.fn && len)
		k->on_code.fn(&code, len, k->on_code.arg);
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

static uint64_t n_unkept(const struct kernel *k)
{
	return __atomic_load_n(&k->skel->bss->mt_python_unkept, __ATOMIC_RELAXED);
}

bool kernel__lacks_python_room(const struct kernel *k)
{
	return k->python_ring && n_unkept(k) != k->python_unkept;
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
