// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the keys of "memory" and of "blind". What always holds: what is written is read, because one table says both. */
#include "export/json_memory.h"

#include "util/util.h"

#define MEMORY(key, type, field) { key, type, offsetof(struct snap_memory, field) }

static const struct field fields[] = {
	MEMORY("seen_ns", FIELD_U64, seen_ns),
	MEMORY("rss_bytes", FIELD_U64, rss_bytes),
	MEMORY("heap_mapped_bytes", FIELD_U64, heap_mapped),
	MEMORY("heap_resident_bytes", FIELD_U64, heap_resident),
	MEMORY("arenas", FIELD_U32, n_arenas),
	MEMORY("other_mapped_bytes", FIELD_U64, large_mapped),
	MEMORY("other_resident_bytes", FIELD_U64, large_resident),
	MEMORY("file_resident_bytes", FIELD_U64, file_resident),
	MEMORY("stack_resident_bytes", FIELD_U64, stack_resident),
	MEMORY("heap_estimated", FIELD_BOOL, heap_estimated),
	MEMORY("other_estimated", FIELD_BOOL, large_estimated),
	MEMORY("heap_grown_bytes", FIELD_I64, heap_grown),
	MEMORY("other_grown_bytes", FIELD_I64, large_grown),
	MEMORY("file_grown_bytes", FIELD_I64, file_grown),
	MEMORY("sized_blocks", FIELD_U64, sized_blocks),
	MEMORY("sized_requested_bytes", FIELD_U64, sized_requested),
	MEMORY("sized_set_aside_bytes", FIELD_U64, sized_usable),
	MEMORY("sized_apart_bytes", FIELD_U64, sized_apart),
	MEMORY("sized_all", FIELD_BOOL, sized_all),
};

#define BLIND(key, type, field) { key, type, offsetof(struct snap_blind, field) }

static const struct field blind_fields[] = {
	BLIND("idle", FIELD_BOOL, idle),
	BLIND("cpu_ns", FIELD_U64, cpu_ns),
	BLIND("grown_bytes", FIELD_I64, grown_bytes),
	BLIND("probed", FIELD_STR, probed),
	BLIND("candidates", FIELD_STR, candidates),
};

static bool is_known(const struct snap_memory *m, const struct field *f)
{
	if (f->offset == offsetof(struct snap_memory, heap_grown) || f->offset == offsetof(struct snap_memory, large_grown) ||
	    f->offset == offsetof(struct snap_memory, file_grown))
		return m->grown_known;
	return true;
}

static void put(struct json *j, const struct field *f, const void *of)
{
	const void *from = (const char *)of + f->offset;

	if (f->type == FIELD_BOOL)
		json__bool(j, f->key, *(const bool *)from);
	else if (f->type == FIELD_I64)
		json__i64(j, f->key, *(const int64_t *)from);
	else if (f->type == FIELD_U32)
		json__u64(j, f->key, *(const uint32_t *)from);
	else if (f->type == FIELD_STR)
		json__str(j, f->key, *(const char *const *)from);
	else
		json__u64(j, f->key, *(const uint64_t *)from);
}

void json__memory(struct json *j, const struct snap_memory *m)
{
	if (!m->known) {
		json__null(j, "memory");
		return;
	}
	json__object(j, "memory");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (is_known(m, &fields[i]))
			put(j, &fields[i], m);
		else
			json__null(j, fields[i].key);
	}
	json__object_end(j);
}

void json__blind(struct json *j, const struct snap_blind *b)
{
	if (!b->is) {
		json__null(j, "blind");
		return;
	}
	json__object(j, "blind");
	for (size_t i = 0; i < ARRAY_SIZE(blind_fields); i++)
		put(j, &blind_fields[i], b);
	json__object_end(j);
}

int reader__blind(struct reader *r, json_t *process, struct snap_blind *to)
{
	json_t *from = json_object_get(process, "blind");

	if (!from || json_is_null(from))
		return 0;
	to->is = true;
	return reader__fields(r, from, to, blind_fields, ARRAY_SIZE(blind_fields), "blind");
}

int reader__memory(struct reader *r, json_t *process, struct snap_memory *to)
{
	json_t *from = json_object_get(process, "memory");

	if (!from || json_is_null(from))
		return 0;
	to->known = true;
	to->grown_known = json_is_integer(json_object_get(from, "heap_grown_bytes"));
	return reader__fields(r, from, to, fields, ARRAY_SIZE(fields), "memory");
}
