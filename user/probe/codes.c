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
#include "util/hash.h"
#include "util/util.h"

struct entry {
	struct mt_code code;
	uint32_t next;		/* number of another one with the same hash, 0: none */
	bool refused;		/* the kernel did not take it */
};

struct codes {
	pthread_mutex_t lock;
	/* number 1 is the first; those from MT_MAX_CODES on found no room in the kernel */
	struct vec(struct entry) all;
	struct hash by_content;	/* the number of the last one with a hash */
	uint64_t n_refused;
};

struct codes *codes__new(void)
{
	struct codes *c = xcalloc(1, sizeof(*c));

	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void codes__free(struct codes *c)
{
	if (!c)
		return;
	vec_done(&c->all);
	hash__done(&c->by_content);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static uint64_t hash_of(const struct mt_code *code)
{
	uint64_t hash = 0, word;

	for (size_t i = 0; i < sizeof(*code); i += sizeof(word)) {
		memcpy(&word, (const char *)code + i, sizeof(word));
		hash = hash__mix(hash, word);
	}
	return hash;
}

uint32_t codes__find(struct codes *c, const struct mt_code *code, bool *ret_new)
{
	uint64_t hash = hash_of(code);
	uint32_t first = (uint32_t)(uintptr_t)hash__get(&c->by_content, hash);

	*ret_new = false;
	for (uint32_t number = first; number; number = c->all.v[number - 1].next)
		if (!memcmp(&c->all.v[number - 1].code, code, sizeof(*code)))
			return number < MT_MAX_CODES && !c->all.v[number - 1].refused ? number : 0;
	*vec_push(&c->all) = (struct entry){ .code = *code, .next = first };
	hash__put(&c->by_content, hash, (void *)(uintptr_t)c->all.n);
	*ret_new = true;
	return c->all.n < MT_MAX_CODES ? (uint32_t)c->all.n : 0;
}

uint64_t codes__n_full(struct codes *c)
{
	uint64_t n;

	pthread_mutex_lock(&c->lock);
	n = c->n_refused + (c->all.n >= MT_MAX_CODES ? c->all.n - (MT_MAX_CODES - 1) : 0);
	pthread_mutex_unlock(&c->lock);
	return n;
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
	bool is_new;

	if (!code.n && code.shutdown.from == code.shutdown.to)
		return 0;
	for (uint32_t i = 0; i < code.n; i++)
		move(&code.range[i], point);
	move(&code.shutdown, point);
	pthread_mutex_lock(&k->codes->lock);
	number = codes__find(k->codes, &code, &is_new);
	/* what the array has no element for is reported as full, and so is what is not in it */
	if (number && is_new && bpf_map__update_elem(k->skel->maps.codes, &number, sizeof(number), &code, sizeof(code), BPF_ANY)) {
		k->codes->all.v[number - 1].refused = true;
		k->codes->n_refused++;
		number = 0;
	}
	pthread_mutex_unlock(&k->codes->lock);
	return number;
}
