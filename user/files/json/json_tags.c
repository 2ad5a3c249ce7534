// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how tags are written and read. A site names its tag, which is one of
 * "tags"; the sums there are for other programs: they follow from the sites, and
 * are not read. What always holds: a site that was read has a tag that is there.
 */
#include "files/json/json_tags.h"

#include <errno.h>
#include <string.h>

#include "model/tags.h"

#define TAGS_MAX 100000

static void u64_or_null(struct json *j, const char *key, bool known, uint64_t n)
{
	if (known)
		json__u64(j, key, n);
	else
		json__null(j, key);
}

/* The first one has no name: it is what has no tag. */
static void tag(struct json *j, const struct snapshot *s, const struct snap_tag *t, const struct tag_sum *sum)
{
	json__line(j, 4);
	json__object(j, NULL);
	json__str(j, "name", t ? t->name : NULL);
	json__bool(j, "thread", t && t->thread);
	u64_or_null(j, "entered", t && t->entered != UINT64_MAX, t ? t->entered : 0);
	json__u64(j, "sites", sum->n_sites);
	u64_or_null(j, "alloc_calls", s->known & HAS_ALLOC_CALLS, sum->c.alloc_calls);
	u64_or_null(j, "alloc_bytes", s->known & HAS_ALLOC_BYTES, sum->c.alloc_bytes);
	u64_or_null(j, "free_calls", s->known & HAS_FREE_CALLS, sum->c.free_calls);
	u64_or_null(j, "free_bytes", s->known & HAS_FREE_BYTES, sum->c.free_bytes);
	u64_or_null(j, "live_blocks", s->known & HAS_LIVE_BLOCKS, sum->c.live_blocks);
	u64_or_null(j, "live_bytes", s->known & HAS_LIVE_BYTES, sum->c.live_bytes);
	u64_or_null(j, "at_peak_bytes", s->known & HAS_PEAK_BYTES, sum->c.peak_bytes);
	json__object_end(j);
}

int json__tags(struct json *j, const struct snapshot *s)
{
	_cleanup_free_ struct tag_sum *sums = s->n_tags ? tags__add_up(s) : NULL;

	if (!s->n_tags)
		return 0;
	if (!sums)
		return -ENOMEM;
	json__line(j, 2);
	json__array(j, "tags");
	for (size_t i = 0; i <= s->n_tags; i++)
		tag(j, s, i ? &s->tags[i - 1] : NULL, &sums[i]);
	json__array_end(j);
	return 0;
}

void json__tag_of_site(struct json *j, const struct snapshot *s, const struct snap_site *site)
{
	const struct snap_tag *t = site->tag ? &s->tags[site->tag - 1] : NULL;

	if (!s->n_tags)
		return;
	json__str(j, "tag", t ? t->name : NULL);
	/* a function may have the name of a thread */
	if (t && t->thread)
		json__bool(j, "tag_is_thread", true);
}

/* ---- reading */

/* A name that was read is one string, wherever it stands: its address is enough. */
static int tag_id(struct reader *r, const char *name, bool thread, uint32_t *ret, bool *ret_new)
{
	if (key_ids__get(&r->tag_ids, (struct key){ (uintptr_t)name, thread, 0 }, ret, ret_new))
		return err_set(r->e, -ENOMEM, "out of memory");
	return 0;
}

/* Sites are its by its name: of two that are alike, the first one's. */
static int number_tag(struct reader *r, const struct snap_tag *t, size_t index)
{
	uint32_t id, *slot;
	bool is_new;
	int err = tag_id(r, t->name, t->thread, &id, &is_new);

	if (err || !is_new)
		return err;
	slot = vec_push(&r->tag_of_id);
	if (!slot)
		return err_set(r->e, -ENOMEM, "out of memory");
	*slot = (uint32_t)index;
	return 0;
}

int reader__tags(struct reader *r, json_t *v)
{
	static const struct field fields[] = {
		ROW("name", FIELD_STR, AT(snap_tag, name)),
		ROW("thread", FIELD_BOOL, AT(snap_tag, thread)),
		ROW("entered", FIELD_U64, AT(snap_tag, entered)),
	};
	size_t n = json_array_size(v), n_tags = 0;
	struct snap_tag *to;
	int err = 0;

	if (!json_is_array(v) || n > TAGS_MAX)
		return err_set(r->e, -EINVAL, "tags: want an array");
	to = snapshot__alloc(r->s, n + 1, sizeof(*to));
	for (size_t i = 0; i < n && !err; i++) {
		struct snap_tag t = { .entered = UINT64_MAX };

		err = reader__row(r, json_array_get(v, i), &t, &(struct fields){ fields, ARRAY_SIZE(fields) }, "a tag");
		if (!err && t.name) {
			to[n_tags] = t;
			err = number_tag(r, &t, n_tags++);
		}
	}
	r->s->tags = to;
	r->s->n_tags = n_tags;
	return err;
}

int reader__tag_of_site(struct reader *r, json_t *from, struct snap_site *to)
{
	json_t *v = json_object_get(from, "tag");
	bool thread = json_is_true(json_object_get(from, "tag_is_thread"));
	const char *name;
	uint32_t id;
	bool is_new;
	int err;

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_string(v))
		return err_set(r->e, -EINVAL, "a site: tag: want a string");
	/* cleaned as the tag's was */
	name = reader__string(r, json_string_value(v));
	if (!name)
		return err_set(r->e, -ENOMEM, "out of memory");
	err = tag_id(r, name, thread, &id, &is_new);
	if (err)
		return err;
	if (is_new)
		return err_set(r->e, -EINVAL, "a site: tag: no tag has that name");
	to->tag = r->tag_of_id.v[id] + 1;
	return 0;
}
