// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing beyond a call. pprof removes a function that matches and all that it calls, so what always holds: a function is
 * in the expression only if no stack has it above a frame that says who wanted memory (telling.h).
 */
#include "files/export_parts.h"

#include <stdlib.h>
#include <string.h>

#include "present/telling.h"
#include "util/ids.h"
#include "util/util.h"

#define REGEX_MAX (64u << 10)

enum fact { IS_LEAF_SIDE = 1, IS_ABOVE = 2 };

struct known_frame {
	uint32_t name;		/* its number + 1; 0: none that can be used */
	bool telling;
};

struct dropping {
	const struct snapshot *s;
	struct string_ids names;
	struct vec(char *) owned;	/* names' strings */
	struct vec(unsigned char) facts;	/* by name: enum fact */
	struct vec(struct known_frame) frames;	/* of all places, one after the other */
	size_t *first;		/* by place: where its frames begin; the last one: their number */
};

/*
 * As pprof compares it: "std::vector<int>::push_back(int const&)" is "std::vector::push_back". NULL: a name that
 * pprof and this might read differently.
 */
static char *simplified(const char *name)
{
	const char *operator = strstr(name, "operator");
	char *ret, *to;
	int depth = 0;

	if (operator && strncmp(operator, "operator new", 12) && strncmp(operator, "operator delete", 15))
		return NULL;
	ret = to = xstrdup(name);
	for (; *name; name++) {
		if (*name < ' ' || *name > '~') {
			free(ret);
			return NULL;
		}
		depth += *name == '<' || *name == '(';
		if (!depth)
			*to++ = *name;
		depth -= *name == '>' || *name == ')';
	}
	*to = '\0';
	if (depth || !*ret) {
		free(ret);
		return NULL;
	}
	return ret;
}

/* The number of a function's name + 1; 0: it cannot be used. */
static uint32_t name_of(struct dropping *d, const char *function)
{
	char *name = function ? simplified(function) : NULL;
	uint32_t id;

	if (!name)
		return 0;
	string_ids__get(&d->names, name, &id);
	if (id < d->owned.n) {
		free(name);
		return id + 1;
	}
	*(char **)vec_push(&d->owned) = name;
	*(unsigned char *)vec_push(&d->facts) = 0;
	return id + 1;
}

static void take_places(struct dropping *d)
{
	d->first = xcalloc(d->s->n_places + 1, sizeof(*d->first));
	for (size_t i = 0; i < d->s->n_places; i++) {
		const struct place *place = &d->s->places[i];

		d->first[i] = d->frames.n;
		for (size_t k = 0; k < place__n_frames(place); k++) {
			struct frame f = place__frame(d->s, place, k);
			struct known_frame *to = vec_push(&d->frames);

			*to = (struct known_frame){ name_of(d, f.line ? f.line->function : NULL), frame__is_telling(&f) };
		}
		d->first[i + 1] = d->frames.n;
	}
}

static void take_site(struct dropping *d, const struct snap_site *site)
{
	bool found = false;

	for (uint32_t k = 0; k < site->n_stack; k++)
		for (size_t i = d->first[site->stack[k]]; i < d->first[site->stack[k] + 1]; i++) {
			const struct known_frame *f = &d->frames.v[i];

			found |= f->telling;
			if (f->name)
				d->facts.v[f->name - 1] |= found ? IS_ABOVE : IS_LEAF_SIDE;
		}
}

static void put_quoted(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("\\.+*?()|[]{}^$", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static char *write_regex(const struct dropping *d)
{
	char *text = NULL;
	size_t len = 0;
	bool any = false;
	FILE *out = text_stream__open(&text, &len);

	for (size_t i = 0; i < d->facts.n && ftell(out) < REGEX_MAX; i++) {
		if (d->facts.v[i] != IS_LEAF_SIDE)
			continue;
		fputs(any ? "|" : "(?:", out);
		put_quoted(out, d->names.v[i]);
		any = true;
	}
	if (any)
		fputs(")(?: const)?", out);
	text_stream__close(out);
	return text;
}

char *drop_frames__regex(const struct snapshot *s)
{
	struct dropping d = { .s = s };
	char *ret;

	take_places(&d);
	for (size_t i = 0; i < s->n_sites; i++)
		take_site(&d, &s->sites[i]);
	ret = write_regex(&d);
	string_ids__done(&d.names);
	for (size_t i = 0; i < d.owned.n; i++)
		free(d.owned.v[i]);
	vec_done(&d.owned);
	vec_done(&d.facts);
	vec_done(&d.frames);
	free(d.first);
	return ret;
}
