// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what all questions about objects have in common: which file, and which other files go with it. */
#include "elf/apart.h"

#include <errno.h>

#include "elf/debugfile.h"
#include "elf/debugfind.h"
#include "elf/trial.h"
#include "util/util.h"

#define PATH_BYTES_MAX (1u << 20)

static int on_wish(struct wire_in *wish, void *arg)
{
	const struct apart *a = arg;

	return debugfind__grant(wish, a->obj, a->debug_dir ? a->debug_dir : DEBUG_DIR, a->debuginfod);
}

void apart__begin(struct apart *a, enum reader_kind kind, const struct object *obj)
{
	*a = (struct apart){ .obj = obj, .call = { .kind = kind, .fd = -1 } };
	if (!obj)
		return;
	a->call.path = obj->path;
	a->call.fd = obj->fd;
	a->call.unprobed = obj->unprobed;
	a->call.part_ns = obj->remote ? TRIAL_ANSWER_NS : 0;
	a->call.on_wish = on_wish;
	wire__string(&a->args, obj->path);
}

void apart__done(struct apart *a)
{
	wire__done(&a->args);
	wire__done(&a->answer);
}

int apart__ask(struct apart *a)
{
	uint64_t begun_ns = now_ns();
	int err;

	a->call.args = &a->args;
	a->call.arg = a;
	err = reader__ask(&a->call, &a->answer);
	/* others on it would take as long each */
	if (err == READER_LOST && a->obj && a->obj->remote && now_ns() - begun_ns >= TRIAL_ANSWER_NS)
		trial__note_silence(a->obj->dev);
	a->in = wire__in(&a->answer);
	return err;
}

int apart__settle(struct apart *a)
{
	return wire_in__is_over(&a->in) ? 0 : reader__distrust(&a->call);
}

struct object *apart__object(struct reader_request *q)
{
	const char *path = wire_in__string(&q->in, PATH_BYTES_MAX);
	struct object *obj = path && q->fd >= 0 ? object__over(q->fd, path) : NULL;

	q->fd = -1;
	return obj;
}
