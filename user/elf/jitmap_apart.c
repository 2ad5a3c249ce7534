// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* A JIT's list and mangled names, asked of a reader. Owns nothing beyond a call. */
#include <errno.h>
#include <string.h>

#include "elf/apart.h"
#include "elf/demangle.h"
#include "elf/jitmap.h"
#include "util/util.h"

/* ---- lists */

static void put_function(uint64_t start, uint64_t end, const char *name, void *arg)
{
	wire__u64(arg, start);
	wire__u64(arg, end);
	wire__string(arg, name);
}

int jitmap_apart__serve(struct reader_request *q)
{
	uint64_t from = wire_in__u64(&q->in);
	struct object *obj;
	int err = jitmap__over(q->fd, "", &obj);

	q->fd = -1;
	if (err)
		return err;
	jitmap__skip(obj->jit, from);
	jitmap__refresh(obj);
	/* begun anew meanwhile: it will be asked for from its beginning */
	if (jitmap__read_bytes(obj->jit) < from) {
		wire__u64(&q->out, from);
	} else {
		wire__u64(&q->out, jitmap__read_bytes(obj->jit));
		jitmap__each(obj->jit, put_function, &q->out);
	}
	object__put(obj);
	return 0;
}

uint64_t jitmap_apart__read(int fd, const char *path, uint64_t from, void (*fn)(uint64_t start, uint64_t end, const char *name, void *arg), void *arg)
{
	apart_cleanup struct apart a;
	struct wire_in functions;
	uint64_t upto, start = 0, end = 0;
	const char *name = NULL;

	apart__begin(&a, READ_JIT_LIST, NULL);
	a.call.fd = fd;
	a.call.path = path;
	wire__u64(&a.args, from);
	if (apart__ask(&a))
		return 0;
	upto = wire_in__u64(&a.in);
	a.in.bad |= upto < from;
	functions = a.in;
	for (int pass = 0; pass < 2; pass++) {
		struct wire_in *in = pass ? &functions : &a.in;

		while (in->at < in->end && !in->bad) {
			start = wire_in__u64(in);
			end = wire_in__u64(in);
			name = wire_in__string(in, JITMAP_NAME_MAX);
			in->bad |= !name || !*name || start >= end;
			if (pass && !in->bad)
				fn(start, end, name, arg);
		}
		/* nothing is taken of what is not all in order */
		if (!pass && apart__settle(&a))
			return 0;
	}
	return upto;
}

/* ---- names */

int demangle_apart__serve(struct reader_request *q)
{
	const char *name = wire_in__string(&q->in, DEMANGLE_IN_MAX);
	char buf[DEMANGLE_OUT_MAX + 1];

	if (!name)
		return -EINVAL;
	demangle(name, buf);
	wire__string(&q->out, buf);
	return 0;
}

bool demangle_apart(const char *name, char *buf, size_t size)
{
	apart_cleanup struct apart a;
	const char *readable;

	apart__begin(&a, READ_DEMANGLED, NULL);
	wire__string(&a.args, name);
	if (apart__ask(&a))
		return false;
	readable = wire_in__string(&a.in, size - 1);
	if (apart__settle(&a) || !readable)
		return false;
	strcpy(buf, readable);
	clean_name(buf);
	return true;
}
