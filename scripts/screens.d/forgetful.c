// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * A module of redis with a leak, for the screens of docs/FIRST-MINUTES.md: VISIT NAME keeps a note of each visit, and
 * never looks at it again. What it takes of redis's interface for modules is declared here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct context {
	int (*get_api)(const char *name, void *function);
};

typedef int (*command)(struct context *ctx, void **argv, int argc);

static int (*reply)(struct context *ctx, long long n);
static const char *(*text_of)(const void *string, size_t *len);

static struct note {
	struct note *next;
	char name[1000];
} *notes;
static long long n_visits;

static void remember_visit(const char *name, size_t len)
{
	struct note *n = calloc(1, sizeof(*n));

	if (!n)
		return;
	memcpy(n->name, name, len < sizeof(n->name) ? len : sizeof(n->name) - 1);
	n->next = notes;
	notes = n;
}

static int visit(struct context *ctx, void **argv, int argc)
{
	size_t len = 0;
	const char *name = argc > 1 ? text_of(argv[1], &len) : "";

	remember_visit(name, len);
	return reply(ctx, ++n_visits);
}

int RedisModule_OnLoad(struct context *ctx, void **argv, int argc)
{
	int (*set_attributes)(struct context *, const char *, int, int);
	int (*create_command)(struct context *, const char *, command, const char *, int, int, int);

	ctx->get_api("RedisModule_SetModuleAttribs", &set_attributes);
	ctx->get_api("RedisModule_CreateCommand", &create_command);
	ctx->get_api("RedisModule_ReplyWithLongLong", &reply);
	ctx->get_api("RedisModule_StringPtrLen", &text_of);
	set_attributes(ctx, "forgetful", 1, 1);
	return create_command(ctx, "visit", visit, "fast", 0, 0, 0);
}
