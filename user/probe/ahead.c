// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the tables between their making and their being handed to libbpf. */
#include "probe/ahead.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

#include "util/util.h"

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

void ahead__make_tables(struct bpf_object *obj)
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
