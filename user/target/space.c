// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns one reference per range with a file. Ranges are never removed; where two overlap, the newer one is right. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "target/jitmap.h"
#include "target/process.h"
#include "target/space.h"
#include "util/util.h"

/* A process can map as much as it likes, again and again: what goes beyond this has no names. */
#define MAX_RANGES 65536
#define VDSO_MAX (1u << 20)	/* bytes; it has two to four pages */
#define BUILD_ID_MAX 64		/* bytes */

/* Numbers of files are told in several ways (object.h): where they differ it is not known, and found again. */
static bool is_of(const struct space_range *r, const struct mapping *m)
{
	if (r->object)
		return r->object->ino == m->ino;
	return r->label && !strcmp(r->label, m->path);
}

static bool known(const struct space *s, const struct mapping *m)
{
	for (size_t i = s->n; i-- > 0;) {
		const struct space_range *r = &s->v[i];

		if (r->start >= m->end || m->start >= r->end)
			continue;
		/*
		 * The newest that overlaps decides; a change of file at the same place is new. A loader
		 * maps a whole file first and other parts of it over that: a record of it is longer than what is left.
		 */
		return r->start == m->start && r->end >= m->end && r->file_off == m->file_off && is_of(r, m);
	}
	return false;
}

static int open_memory(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The vdso is in no file. Time namespaces and 32-bit programs have their own: so it is taken from the process. */
static struct object *read_vdso(struct objects *objects, int mem, const struct mapping *m)
{
	size_t len = m->end - m->start;
	_cleanup_free_ char *image = len <= VDSO_MAX ? malloc(len) : NULL;
	struct object *obj = NULL;

	if (image && pread(mem, image, len, m->start) == (ssize_t)len)
		objects__get_image(objects, "[vdso]", image, len, &obj, NULL);
	return obj;
}

/*
 * Whether the process has another build id in its memory than the file found.
 * A file that is written to in place changes in memory too, so this differs
 * only where the file found is not the one mapped, or its file system does not
 * keep the two together. What cannot be read tells nothing.
 */
static bool is_another(int mem, const struct maps *maps, const struct mapping *m, const struct object *obj)
{
	size_t len = obj->build_id ? strlen(obj->build_id) / 2 : 0;
	const struct mapping *at = NULL;
	unsigned char id[BUILD_ID_MAX];

	if (!len || len > sizeof(id))
		return false;
	for (size_t i = 0; i < maps->n && maps->v[i].start <= m->start; i++) {
		const struct mapping *k = &maps->v[i];

		if (k->ino == m->ino && k->dev_major == m->dev_major && k->dev_minor == m->dev_minor &&
		    k->file_off <= obj->build_id_off && obj->build_id_off - k->file_off < k->end - k->start &&
		    len <= k->end - k->start - (obj->build_id_off - k->file_off))
			at = k;
	}
	if (!at || pread(mem, id, len, at->start + (obj->build_id_off - at->file_off)) != (ssize_t)len)
		return false;
	for (size_t i = 0; i < len; i++) {
		char hex[3];

		snprintf(hex, sizeof(hex), "%02x", id[i]);
		if (memcmp(hex, obj->build_id + 2 * i, 2))
			return true;
	}
	return false;
}

/* Of a mapping that is new. What is no file, or could not be opened, keeps its name; of others the object has it. */
static struct space_range *push(struct space *s, const struct mapping *m, struct object *obj)
{
	struct space_range *r = vec_push(s);

	if (!r)
		return NULL;
	r->start = m->start;
	r->end = m->end;
	r->file_off = m->file_off;
	r->object = obj;
	if (!obj || !m->ino) {
		r->label = strdup(m->path);
		if (r->label)
			clean_name(r->label);
	}
	return r;
}

int space__refresh(struct space *s, struct objects *objects, pid_t pid, size_t *ret_new, struct err *e)
{
	_cleanup_close_ int mem = -1;
	struct maps maps = {};
	int err = maps__read(pid, &maps, e);

	*ret_new = 0;
	/* its first thread has ended */
	if (!err && !maps.n) {
		pid = process__runner(pid);
		err = pid ? maps__read(pid, &maps, e) : 0;
	}
	if (err)
		return err;
	for (size_t i = 0; i < maps.n && s->n < MAX_RANGES; i++) {
		const struct mapping *m = &maps.v[i];
		struct object *obj = NULL;
		struct space_range *r;
		struct err why = {};

		if (!m->exec || known(s, m))
			continue;
		if (mem < 0)
			mem = open_memory(pid);
		if (m->ino)
			objects__get(objects, pid, m, &obj, &why);
		else if (!strcmp(m->path, "[vdso]"))
			obj = read_vdso(objects, mem, m);
		if (m->ino && obj && is_another(mem, &maps, m, obj))
			obj->changed = true;
		r = push(s, m, obj);
		if (!r) {
			object__put(obj);
			err_done(&why);
			err = err_set(e, -ENOMEM, "out of memory");
			break;
		}
		r->why = why;
		(*ret_new)++;
	}
	maps__done(&maps);
	return err;
}

int space__add(struct space *s, struct objects *objects, pid_t pid, const struct mapping *m, bool *ret_new, struct err *e)
{
	struct space_range *r;
	struct object *obj = NULL;
	struct err why = {};

	*ret_new = false;
	if (!m->exec || known(s, m) || s->n >= MAX_RANGES)
		return 0;
	if (m->ino && objects__get(objects, pid, m, &obj, &why)) {
		pid_t tid = process__runner(pid);

		if (tid && tid != pid) {
			err_done(&why);
			objects__get(objects, tid, m, &obj, &why);
		}
	} else if (!m->ino && !strcmp(m->path, "[vdso]"))
		obj = objects__known_image(objects, "[vdso]", m->end - m->start);
	r = push(s, m, obj);
	if (!r) {
		object__put(obj);
		err_done(&why);
		return err_set(e, -ENOMEM, "out of memory");
	}
	r->why = why;
	*ret_new = true;
	return 0;
}

int space__copy(struct space *to, const struct space *from, struct err *e)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct space_range *r = &from->v[i];
		struct space_range *slot = vec_push(to);

		if (!slot)
			return err_set(e, -ENOMEM, "out of memory");
		slot->start = r->start;
		slot->end = r->end;
		slot->file_off = r->file_off;
		slot->object = r->object;
		if (r->object)
			object__hold(r->object);
		slot->label = r->label ? strdup(r->label) : NULL;
	}
	return 0;
}

const struct space_range *space__find(const struct space *s, uint64_t addr)
{
	for (size_t i = s->n; i-- > 0;)
		if (addr >= s->v[i].start && addr < s->v[i].end)
			return &s->v[i];
	return NULL;
}

void space__refresh_jit(struct space *s, pid_t pid)
{
	if (!s->jit && jitmap__open(pid, &s->jit))
		return;
	jitmap__refresh(s->jit);
}

struct object *space__find_jit(const struct space *s, const struct space_range *r, uint64_t addr)
{
	if (!s->jit || (r && (r->object ? r->object->is_elf : r->label && r->label[0] == '/')))
		return NULL;
	return jitmap__find(s->jit->jit, addr) ? s->jit : NULL;
}

void space__done(struct space *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].object)
			object__put(s->v[i].object);
		free(s->v[i].label);
		err_done(&s->v[i].why);
	}
	vec_done(s);
	object__put(s->jit);
	s->jit = NULL;
}
