// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns lines of a target's memory that were read lately: links between chunks lead here and there, and a call of the
 * kernel for each word would take most of the time. A line is as it was when it was read.
 */
#include <errno.h>
#include <string.h>

#include "heap/glibc_parts.h"

#define LINE_BYTES 4096ull	/* no more than a page of any kernel */
#define N_LINES 4096

struct lines {
	struct target *t;
	uint64_t line_of[N_LINES];	/* address / LINE_BYTES + 1; 0: none */
	bool absent[N_LINES];
	char bytes[N_LINES][LINE_BYTES];
};

int lines__new(struct target *t, struct lines **ret)
{
	struct lines *l = malloc(sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->t = t;
	lines__forget(l);
	*ret = l;
	return 0;
}

void lines__free(struct lines *l)
{
	free(l);
}

void lines__forget(struct lines *l)
{
	memset(l->line_of, 0, sizeof(l->line_of));
}

static size_t line_at(struct lines *l, uint64_t addr)
{
	uint64_t line = addr / LINE_BYTES;
	size_t i = line % N_LINES;

	if (l->line_of[i] == line + 1)
		return i;
	l->absent[i] = !target__read(l->t, line * LINE_BYTES, l->bytes[i], LINE_BYTES);
	l->line_of[i] = line + 1;
	return i;
}

bool lines__word(struct lines *l, uint64_t addr, uint64_t *ret)
{
	size_t i;

	if (addr % sizeof(*ret))
		return false;
	i = line_at(l, addr);
	if (l->absent[i])
		return false;
	memcpy(ret, l->bytes[i] + addr % LINE_BYTES, sizeof(*ret));
	return true;
}
