// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Lines of --events: how they look, and that their columns stand below each other. */
#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

#include "golden.h"
#include "present/text/call_lines.h"
#include "sample_snapshot.h"
#include "util/text.h"
#include "util/util.h"

static void utc(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
}

TestSuite(call_lines, .init = utc);

#define AT 1767323002123456000	/* 2026-01-02 03:03:22.123456 */

static const struct call_line rows[] = {
	{ AT, 4321, 4321, "web", MT_TOLD_ALLOC, "malloc", 40, 0xaaaad2a012c0, UINT64_MAX, "token_make < session_open < main", NULL },
	{ AT + 999000, 4321, 4194303, "worker-thread-1", MT_TOLD_ALLOC, "aligned_alloc", 1ull << 40, 0x1000, UINT64_MAX, "a < b", NULL },
	{ AT + 543210, 4321, 4321, "web", MT_TOLD_FREE, "free", 40, 0xaaaad2a012c0, 543210, "token_make < session_open < main", NULL },
	{ AT + 543210, 4321, 4321, "web", MT_TOLD_FREE, "operator delete[]", 40, 0xffffffffffff, 86400000000000, "token_make", "drop < main" },
	{ AT + 876544000, 4321, 4321, "web", MT_TOLD_FREE, "realloc", 40, 0xaaaad2a012c0, 0, "token_make", NULL },
	{ AT + 876545000, 4321, 4321, "web", MT_TOLD_ALLOC, "realloc", 80, 0xaaaad2a012c0, UINT64_MAX, "token_grow", NULL },
	{ AT + 900000000, 4321, 4321, "web", MT_TOLD_FAILED, "malloc", 4611686018427387903, 0, UINT64_MAX, "make_all", NULL },
	{ AT + 900000000, 4321, 4321, "web", MT_TOLD_FAILED, "malloc", UINT64_MAX, 0, UINT64_MAX, "make_all", NULL },
	{ AT + 900000000, 4321, 4321, "web", MT_TOLD_UNSIZED, "strdup", 0, 0, UINT64_MAX, "make_all", NULL },
	{ AT + 900000000, 4321, 4321, "web", MT_TOLD_UNKNOWN, "free", 0, 0xaaaad2a00000, UINT64_MAX, NULL, NULL },
	{ AT + 900000000, 4321, 4321, "web", MT_TOLD_UNSEEN, NULL, 100, 0xaaaad2a00000, 12000000, "token_make", NULL },
	/* --mode count */
	{ AT + 900000000, 4321, 4321, "", MT_TOLD_ALLOC, "malloc", 0, 0, UINT64_MAX, "[no stack]", NULL },
	/* names that are too long, and wide ones */
	{ AT + 900000000, 4321, 4321, "\u5de5\u4eba", MT_TOLD_ALLOC, "mi_heap_malloc_aligned_at", 1, 0x2000, UINT64_MAX, NULL, NULL },
};

static char *written(bool pids, size_t *ret_len)
{
	struct call_lines l = { .pids = pids };
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_len);

	call_lines__header(&l, out);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		call_lines__put(&l, &rows[i], out);
	fclose(out);
	return text;
}

Test(call_lines, looks)
{
	_cleanup_free_ char *one = NULL, *several = NULL;
	size_t len;

	one = written(false, &len);
	golden__check("events.txt", one, len);
	several = written(true, &len);
	golden__check("events-processes.txt", several, len);
}

/* The site begins in one column, whatever stands before it. */
Test(call_lines, columns_stand_below_each_other)
{
	_cleanup_free_ char *text = NULL;
	size_t len, at, i = 0;
	char *line, *rest;

	text = written(true, &len);
	rest = text;
	line = strsep(&rest, "\n");
	at = (size_t)(strstr(line, "SITE") - line);
	for (; (line = strsep(&rest, "\n")) && *line; i++) {
		const char *site = rows[i].site ? rows[i].site : "[";
		const char *found = line + text_head(line, at);

		cr_expect(!strncmp(found, site, strlen(site)), "line %zu has '%s' where its site belongs", i + 1, found);
	}
	cr_expect_eq(i, ARRAY_SIZE(rows));
}

Test(call_lines, gaps)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	call_lines__gap(out, 1204, "the ring was full");
	call_lines__gap(out, 1, "the ring was full");
	fclose(out);
	cr_expect_str_eq(text, "... 1,204 events not shown: the ring was full\n"
			       "... 1 event not shown: the ring was full\n");
	free(text);
}

/* Of each stack of the sample: it begins with the telling frame, and names three at most. */
Test(call_lines, sites)
{
	struct snapshot *s = sample__new(0);
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; i < s->n_sites; i++) {
		_cleanup_free_ char *site = call_line__site(s, &s->sites[i]);

		fprintf(out, "%s\n", site);
	}
	fclose(out);
	golden__check("events-sites.txt", text, len);
	free(text);
	snapshot__free(s);
}
