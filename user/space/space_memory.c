// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns nothing: the caller that opens a process's memory closes it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "space/space_memory.h"
#include "util/util.h"

#define VDSO_MAX (1u << 20)	/* bytes; it has two to four pages */
#define BUILD_ID_MAX 64		/* bytes */
#define SAME_PLACE_LOOKS 3

int space_memory__open(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

struct object *space_memory__vdso(struct objects *objects, int mem, const struct mapping *m)
{
	size_t len = m->end - m->start;
	_cleanup_free_ char *image = len <= VDSO_MAX ? malloc(len) : NULL;
	struct object *obj = NULL;

	if (image && pread(mem, image, len, m->start) == (ssize_t)len)
		objects__get_image(objects, "[vdso]", image, len, &obj, NULL);
	return obj;
}

/* Where the build id of the file that m maps lies in memory. */
static const struct mapping *mapping_of_id(const struct maps *maps, const struct mapping *m,
					   const struct object *obj, size_t len)
{
	const struct mapping *at = NULL;

	for (size_t i = 0; i < maps->n && maps->v[i].start <= m->start; i++) {
		const struct mapping *k = &maps->v[i];

		if (k->ino == m->ino && k->dev_major == m->dev_major && k->dev_minor == m->dev_minor &&
		    k->file_off <= obj->build_id_off && obj->build_id_off - k->file_off < k->end - k->start &&
		    len <= k->end - k->start - (obj->build_id_off - k->file_off))
			at = k;
	}
	return at;
}

/*
 * Whether the process has another build id in its memory than the file found.
 * A file that is written to in place changes in memory too, so this differs
 * only where the file found is not the one mapped, or its file system does not
 * keep the two together. What cannot be read proves nothing.
 */
static bool has_another_id(int mem, const struct mapping *at, const struct object *obj, size_t len)
{
	unsigned char id[BUILD_ID_MAX];

	if (pread(mem, id, len, at->start + (obj->build_id_off - at->file_off)) != (ssize_t)len)
		return false;
	for (size_t i = 0; i < len; i++) {
		char hex[3];

		snprintf(hex, sizeof(hex), "%02x", id[i]);
		if (memcmp(hex, obj->build_id + 2 * i, 2))
			return true;
	}
	return false;
}

bool space_memory__is_another(pid_t pid, int mem, const struct maps *maps, const struct mapping *m,
			      const struct object *obj)
{
	size_t len = obj->build_id ? strlen(obj->build_id) / 2 : 0;
	const struct mapping *at;

	if (!len || len > BUILD_ID_MAX)
		return false;
	at = mapping_of_id(maps, m, obj, len);
	if (!at || !has_another_id(mem, at, obj, len))
		return false;
	/*
	 * a plugin may have been replaced since its mapping was read: what was compared is another
	 * one's, which says nothing of this one
	 */
	for (int i = 0; i < SAME_PLACE_LOOKS; i++) {
		struct maps again = {};
		const struct mapping *same = !maps__read(pid, &again, NULL) ? mapping_of_id(&again, m, obj, len) : NULL;
		bool there = same && same->start == at->start && has_another_id(mem, at, obj, len);

		maps__done(&again);
		if (!there)
			return false;
	}
	return true;
}
