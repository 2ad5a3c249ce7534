// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The numbers of functions' code. What is known of it is relative to a point, so one
 * number does for all that look alike, wherever they are mapped, and is never given
 * back: the files of a machine have some hundred different ones.
 *
 * Windows of --overhead put links in place from a thread of their own: hence the lock.
 */
#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "malloctrace.skel.h"
#include "probe/codes.h"
#include "probe/kernel.h"
#include "util/util.h"

struct codes {
	pthread_mutex_t lock;
	struct vec(struct mt_code) all;	/* number 1 is the first */
};

struct codes *codes__new(void)
{
	struct codes *c = calloc(1, sizeof(*c));

	if (c)
		pthread_mutex_init(&c->lock, NULL);
	return c;
}

void codes__free(struct codes *c)
{
	if (!c)
		return;
	vec_done(&c->all);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static uint32_t find(const struct codes *c, const struct mt_code *code)
{
	for (size_t i = 0; i < c->all.n; i++)
		if (!memcmp(&c->all.v[i], code, sizeof(*code)))
			return (uint32_t)i + 1;
	return 0;
}

static uint32_t add(struct kernel *k, const struct mt_code *code)
{
	uint32_t number = (uint32_t)k->codes->all.n + 1;
	struct mt_code *slot;

	if (number >= MT_MAX_CODES || bpf_map__update_elem(k->skel->maps.codes, &number, sizeof(number), code, sizeof(*code), BPF_ANY))
		return 0;
	slot = vec_push(&k->codes->all);
	if (!slot)
		return 0;
	*slot = *code;
	return number;
}

static void move(struct mt_code_range *r, int32_t by)
{
	if (r->from == r->to)
		return;
	r->from -= by;
	r->to -= by;
}

uint32_t codes__number(struct kernel *k, const struct mt_code *of_function, int32_t point)
{
	struct mt_code code = *of_function;
	uint32_t number;

	if (!code.n && code.shutdown.from == code.shutdown.to)
		return 0;
	for (uint32_t i = 0; i < code.n; i++)
		move(&code.range[i], point);
	move(&code.shutdown, point);
	pthread_mutex_lock(&k->codes->lock);
	number = find(k->codes, &code);
	if (!number)
		number = add(k, &code);
	pthread_mutex_unlock(&k->codes->lock);
	return number;
}
