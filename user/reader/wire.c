// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the bytes of a struct wire. Both sides are one program, so a number is as the machine has it. */
#include "reader/wire.h"

#include <stdlib.h>
#include <string.h>

#include "util/util.h"

#define NO_STRING UINT64_MAX

void wire__bytes(struct wire *w, const void *bytes, size_t n)
{
	if (w->failed || !n)
		return;
	if (n > w->room - w->n) {
		size_t room = MAX(w->room * 2, w->n + n + 256);
		unsigned char *v = realloc(w->v, room);

		if (!v) {
			w->failed = true;
			return;
		}
		w->v = v;
		w->room = room;
	}
	memcpy(w->v + w->n, bytes, n);
	w->n += n;
}

void wire__u64(struct wire *w, uint64_t v)
{
	wire__bytes(w, &v, sizeof(v));
}

void wire__string(struct wire *w, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	wire__u64(w, s ? n : NO_STRING);
	if (s)
		wire__bytes(w, s, n + 1);
}

void wire__done(struct wire *w)
{
	free(w->v);
	*w = (struct wire){};
}

const void *wire_in__bytes(struct wire_in *in, size_t n)
{
	const unsigned char *at = in->at;

	if (in->bad || n > (size_t)(in->end - at)) {
		in->bad = true;
		return NULL;
	}
	in->at += n;
	return at;
}

uint64_t wire_in__u64(struct wire_in *in)
{
	const void *bytes = wire_in__bytes(in, sizeof(uint64_t));
	uint64_t v = 0;

	if (bytes)
		memcpy(&v, bytes, sizeof(v));
	return v;
}

uint64_t wire_in__upto(struct wire_in *in, uint64_t most)
{
	uint64_t v = wire_in__u64(in);

	in->bad |= v > most;
	return in->bad ? 0 : v;
}

bool wire_in__bool(struct wire_in *in)
{
	return wire_in__upto(in, 1);
}

size_t wire_in__count(struct wire_in *in, size_t bytes_each)
{
	return wire_in__upto(in, (size_t)(in->end - in->at) / bytes_each);
}

const char *wire_in__string(struct wire_in *in, size_t most)
{
	uint64_t n = wire_in__u64(in);
	const char *s;

	if (in->bad || n == NO_STRING)
		return NULL;
	in->bad = n > most;
	s = wire_in__bytes(in, in->bad ? 0 : n + 1);
	if (s && !in->bad && memchr(s, 0, n + 1) != s + n)
		in->bad = true;
	return in->bad ? NULL : s;
}

bool wire_in__is_over(const struct wire_in *in)
{
	return !in->bad && in->at == in->end;
}
