// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * One profile or two, a NUL between them, from anywhere: what is made of them keeps their sums, and can be written. Groups,
 * tags, a diff in each of its formats, and pages; nothing in a page may end its script.
 */
#include "files/diff_files.h"
#include "files/export.h"
#include "files/json/json_read.h"
#include "model/diff.h"
#include "model/group.h"
#include "model/join.h"
#include "model/tags.h"
#include "fuzz.h"

/* As many elements end as begin: what is in a profile begins and ends none. */
static void check_page(const char *text, size_t len)
{
	size_t n_begin = 0, n_end = 0;

	for (const char *at = text; (at = memmem(at, (size_t)(text + len - at), "<script", 7)); at++)
		n_begin++;
	for (const char *at = text; (at = memmem(at, (size_t)(text + len - at), "</script>", 9)); at++)
		n_end++;
	if (!n_begin || n_begin != n_end)
		abort();
}

static void write_page(const struct snapshot *s, const struct export_compared *compared)
{
	struct export_opts o = { .report = { .older_ns = s->recording.older_ns }, .compared = compared };
	_cleanup_free_ char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int err = html__write(out, s, &o, NULL);

	fclose(out);
	if (!err)
		check_page(text, len);
}

static void grouped(const struct snapshot *s)
{
	for (size_t i = 0; i < n_groupings; i++) {
		struct snapshot *g = grouping__changes(&groupings[i]) ? snapshot__group(s, &groupings[i]) : NULL;

		if (g && (g->n_processes > s->n_processes || g->n_sites > s->n_sites))
			abort();
		snapshot__free(g);
	}
}

static void tagged(struct snapshot *s)
{
	struct tagger t = { .threads = true };
	_cleanup_free_ struct tag_sum *sums = NULL;

	if (tagger__add(&t, "main", "main") || tagger__add(&t, "a.out:f", "a.out:f"))
		abort();
	snapshot__tag(s, &t);
	sums = tags__add_up(s);
	tagger__done(&t);
}

static void compared(const struct snapshot *a, const struct snapshot *b)
{
	static const char *const formats[] = { "text", "json", "folded", "html" };
	const struct metric *m = metric__preset(a->known & b->known);
	struct diff_opts how = { .before = "a", .after = "b", .top = 10, .width = 80, .estimated = a->estimated || b->estimated };
	struct diff d;

	if (snapshots__check_alike(a, b, "a", "b", "compared", NULL) || !m || m->needs & ~(a->known & b->known))
		return;
	diff__init(&d, a, b, m);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		const struct diff_format *f = diff_format__find(formats[i]);
		_cleanup_free_ char *text = NULL;
		size_t len;
		FILE *out;

		if (f->needs & ~(a->known & b->known))
			continue;
		out = open_memstream(&text, &len);
		if (!f->write(out, &d, &how) && !fflush(out) && !strcmp(formats[i], "html"))
			check_page(text, len);
		fclose(out);
	}
	diff__done(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *nul = len ? memchr(data, 0, len) : NULL;
	size_t first = nul ? (size_t)(nul - data) : len;
	struct snapshot *a = NULL, *b = NULL;

	if (json_read__text((const char *)data, first, &a, NULL))
		return 0;
	write_page(a, NULL);
	grouped(a);
	if (!nul || json_read__text((const char *)nul + 1, len - first - 1, &b, NULL))
		b = NULL;
	compared(a, b ? b : a);
	if (b)
		compared(b, a);
	tagged(a);
	write_page(a, NULL);
	snapshot__free(a);
	snapshot__free(b);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	put_profiles();
	return 0;
}
