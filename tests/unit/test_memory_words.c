// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Where resident memory is, in words and in files: what is an estimate is told so, everywhere, and nothing else is. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "files/export.h"
#include "model/group.h"
#include "present/caveats.h"
#include "sample_snapshot.h"
#include "util/util.h"
#include "written.h"

static char *text_of(const struct snapshot *s, const char *format)
{
	return written__as(s, format, &(struct export_opts){ .report = { .width = 200 } }, NULL);
}

static struct snapshot *sample(bool heap, bool large)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE | SAMPLE_HEAP);
	struct snap_memory *m = (struct snap_memory *)&s->processes[0].memory;

	m->heap_estimated = heap;
	m->large_estimated = large;
	return s;
}

static const struct {
	bool heap, large;
	const char *where, *grown, *free;
} looks[] = {
	{ false, false, "heap 79.0 MiB of 90.0 MiB mapped (3 arenas beside it), other anonymous 10.0 MiB, files 6.9 MiB",
	  "heap +30.0 MiB, other anonymous +3.0 MiB, files -1.0 MiB", "overhead 643.8 KiB (1.7%), free or older than the trace 41.4 MiB" },
	{ true, false, "heap ~79.0 MiB of 90.0 MiB mapped (3 arenas beside it), other anonymous 10.0 MiB, files ~6.9 MiB",
	  "heap ~+30.0 MiB, other anonymous +3.0 MiB, files ~-1.0 MiB", "overhead 643.8 KiB (1.7%), free or older than the trace ~41.4 MiB" },
	{ false, true, "heap 79.0 MiB of 90.0 MiB mapped (3 arenas beside it), other anonymous ~10.0 MiB, files ~6.9 MiB",
	  "heap +30.0 MiB, other anonymous ~+3.0 MiB, files ~-1.0 MiB", "overhead 643.8 KiB (1.7%), free or older than the trace 41.4 MiB" },
};

/* Lines of a paragraph as one. */
static void flatten(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++)
		if (*p != '\n' && !(*p == ' ' && to > text && to[-1] == ' '))
			*to++ = *p;
		else if (*p == '\n' && to > text && to[-1] != ' ')
			*to++ = ' ';
	*to = 0;
}

Test(memory_words, estimates_are_marked)
{
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		struct snapshot *s = sample(looks[i].heap, looks[i].large);
		_cleanup_free_ char *text = text_of(s, "text"), *html = text_of(s, "html");

		flatten(text);
		cr_expect(strstr(text, looks[i].where), "%zu: %s", i, text);
		cr_expect(strstr(text, looks[i].grown), "%zu: %s", i, text);
		cr_expect(strstr(text, looks[i].free), "%zu: %s", i, text);
		cr_expect_eq(strstr(html, "\"heap_estimated\":true") != NULL, looks[i].heap, "%zu", i);
		cr_expect_eq(strstr(html, "\"other_estimated\":true") != NULL, looks[i].large, "%zu", i);
		snapshot__free(s);
	}
}

/* Usable sizes have pages in them that nobody touched: blocks may be more than what is resident. */
Test(memory_words, more_is_live_than_is_resident)
{
	static const struct {
		uint64_t resident, unsure;
		const char *words;
	} t[] = {
		{ 64 << 20, 0, "live blocks explain 38.0 MiB of 64.0 MiB anonymous memory" },
		{ 20 << 20, 0, "live blocks are 38.0 MiB, and 20.0 MiB of anonymous memory is resident: the rest was never touched, is swapped out or in huge pages" },
		{ 20 << 20, 7, "is resident: the rest was never touched, is swapped out or in huge pages, or was freed" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct snapshot *s = sample(false, false);
		struct snap_memory *m = (struct snap_memory *)&s->processes[0].memory;
		_cleanup_free_ char *text = NULL;

		m->sized_blocks = 0;
		m->heap_resident = t[i].resident;
		m->large_resident = 0;
		s->reading.unsure_blocks = t[i].unsure;
		text = text_of(s, "text");
		flatten(text);
		cr_expect(strstr(text, t[i].words), "%zu: %s", i, text);
		snapshot__free(s);
	}
}

Test(memory_words, estimates_survive_files_and_groups)
{
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		struct snapshot *s = sample(looks[i].heap, looks[i].large), *read = written__read_back(s);
		struct snapshot *by = snapshot__group(read, grouping__find("none"));

		cr_expect_eq(read->processes[0].memory.heap_estimated, looks[i].heap);
		cr_expect_eq(read->processes[0].memory.large_estimated, looks[i].large);
		cr_expect_eq(read->processes[0].memory.seen_ns, 12000000000);
		cr_expect_eq(by->processes[0].memory.heap_estimated, looks[i].heap);
		cr_expect_eq(by->processes[0].memory.large_estimated, looks[i].large);
		cr_expect_eq(by->processes[0].memory.seen_ns, 12000000000);
		snapshot__free(by);
		snapshot__free(read);
		snapshot__free(s);
	}
}

/* What a process had when it was last looked at, and when that was; nothing of blocks, which are those of its end. */
Test(memory_words, of_one_that_has_ended)
{
	struct snapshot *s = sample(false, false);
	_cleanup_free_ char *text = NULL;

	((struct snap_process *)s->processes)[0].ended = true;
	text = text_of(s, "text");
	flatten(text);
	cr_expect(strstr(text, "RSS last seen at 12.0s, heap 79.0 MiB of 90.0 MiB mapped (3 arenas beside it), other anonymous 10.0 MiB, files 6.9 MiB"),
		  "%s", text);
	cr_expect_not(strstr(text, "free or older than the trace"));
	snapshot__free(s);
}

/* What a look found in one process is not said of a row of several. */
Test(memory_words, of_several_in_one_row)
{
	for (uint32_t members = 1; members < 3; members++) {
		struct snapshot *s = sample(false, false);
		_cleanup_free_ char *text = NULL;

		sample__add_heap(s, 0, HEAP_OLDER);
		((struct snap_process *)s->processes)[0].n_members = members;
		text = text_of(s, "text");
		flatten(text);
		cr_expect_eq(strstr(text, "overhead 643.8 KiB (1.7%), free 20.") != NULL, members == 1, "%s", text);
		cr_expect_eq(strstr(text, "overhead 643.8 KiB (1.7%), free or older than the trace 41.4 MiB") != NULL, members > 1, "%s", text);
		snapshot__free(s);
	}
}

/* A row of which some have ended: what these held is not in the heap of those that run. */
Test(memory_words, of_a_row_of_which_some_have_ended)
{
	struct snapshot *s = sample(false, false);
	struct snap_process *p = (struct snap_process *)s->processes;
	_cleanup_free_ char *text = NULL;

	p->n_members = 4;
	p->n_ended = 3;
	p->ended_live_bytes = p->c.live_bytes - (2 << 20);
	text = text_of(s, "text");
	flatten(text);
	cr_expect(strstr(text, "live 2.0 MiB in "), "%s", text);
	cr_expect(strstr(text, "heap traced blocks 2.0 MiB, "), "%s", text);
	cr_expect(strstr(text, "LIVE by bytes, with what ended processes held ("), "%s", text);
	snapshot__free(s);
}
