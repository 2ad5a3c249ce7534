// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The first sentence of a report, about programs that know whether they grow and by which function
 * (tests/fixtures/sentences.c). Three kinds of sentence are wrong: an all-clear for a program that grows,
 * an alarm for one that does not, and an alarm that names another function first. How severe an alarm is
 * depends on how long the program was traced: each is accepted.
 */
#include "sentence.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TICKS "750"
#define AT_ONCE 4

enum answer {
	CALM,			/* nothing grows, or it is too early to know */
	NAMES,			/* the guilty function is named first */
	NOT_CALM,		/* it grows so unevenly that no sentence but an all-clear is wrong */
};

static const struct program {
	const char *name;
	enum answer answer;
	const char *guilty;	/* begins what the alarm is about */
	unsigned int checks;	/* of its ledger */
} programs[] = {
	{ "warm_up", CALM, NULL, LED_ALL },
	{ "lru", CALM, NULL, LED_ALL },
	{ "ttl", CALM, NULL, LED_ALL },
	{ "saw", CALM, NULL, LED_ALL },
	{ "pool", CALM, NULL, LED_ALL },
	{ "shrink", CALM, NULL, LED_ALL },
	{ "batch", CALM, NULL, LED_ALL },
	{ "start_up", CALM, NULL, LED_ALL },
	{ "handoff", CALM, NULL, LED_REALLOC },
	{ "beside_churn", NAMES, "ticket_here (sentences.c:", LED_ALL },
	{ "forget", NAMES, "session_here (sentences.c:", LED_ALL },
	{ "own_stacks", NAMES, "scattered_here (sentences.c:", LED_ALL },
	{ "vector", NAMES, "vector_here (sentences.c:", LED_ALL },
	{ "doubling", NOT_CALM, "vector_here (sentences.c:", LED_ALL },
	{ "wrapper", NAMES, "load_config (sentences.c:", LED_ALL },
	{ "map", NAMES, "RSS +", LED_ALL },
	{ "two_leaks", NAMES, "session_here (sentences.c:", LED_ALL },
	{ "kept_and_leak", NAMES, "kept_here (sentences.c:", LED_ALL },
	{ "late", NAMES, "late_here (sentences.c:", LED_ALL },
	{ "thread_leak", NAMES, "thread_here (sentences.c:", LED_REALLOC },
};
#define N_PROGRAMS (sizeof(programs) / sizeof(*programs))

struct run {
	const struct program *p;
	struct fx f;
	struct mt m;
};

static void begin(struct test *t, struct run *r, const struct program *p)
{
	r->p = p;
	fx__start(t, &r->f, "sentences", p->name, TICKS, NULL);
	mt__start(t, &r->m, "-p", pid_arg(r->f.c.pid), "--batch", "-o", in_dir(t, "%s.json", p->name), NULL);
}

/* The table above says what the program itself does. */
static void want_truth(struct test *t, const struct run *r)
{
	const struct ledger *l = &r->f.led;

	if (r->p->answer == CALM)
		want(t, ledger__note(t, l, "most_after") <= ledger__note(t, l, "most_before"),
		     "the table says that it does not grow, its ledger that it does");
	else
		want(t, ledger__note(t, l, "least_after") > ledger__note(t, l, "least_before"),
		     "the table says that it grows, its ledger that it does not");
}

static void want_sentence(struct test *t, const struct run *r, const char *sentence)
{
	const char *whom = sentence__about(sentence);

	want(t, *sentence, "no sentence at all");
	if (r->p->answer == CALM)
		want(t, !whom, "false alarm: %.300s", sentence);
	else
		want(t, !sentence__is_all_clear(sentence), "false all-clear: %.300s", sentence);
	if (r->p->answer == NAMES || (r->p->answer == NOT_CALM && whom))
		want(t, whom && !strncmp(whom, r->p->guilty, strlen(r->p->guilty)), "wanted %s, got: %.300s",
		     r->p->guilty, sentence);
}

static void end(struct test *t, struct run *r)
{
	const char *file = in_dir(t, "%s.json", r->p->name), *report;
	json_t *root;

	about(t, "%s: ", r->p->name);
	mt__stop(t, &r->m, 0, 0);
	root = load_json(t, file);
	want_ledger(t, root, process_of(t, root, r->f.c.pid, 0), &r->f.led, r->p->checks);
	json_decref(root);
	want_truth(t, r);
	report = report_of(t, file);
	want_sentence(t, r, sentence__find(report));
	want_one_screen(t, report);
	if (r->p->answer == NAMES && strchr(r->p->guilty, '(')) {
		char function[32] = "";

		strncpy(function, r->p->guilty, strcspn(r->p->guilty, " "));
		want_one_row(t, report, function);
	}
	fx__quit(t, &r->f);
	about(t, "%s", "");
}

TEST_LIMIT(sentence_of_twenty_programs, 300)
{
	struct run r[AT_ONCE];

	for (size_t i = 0; i < N_PROGRAMS; i += AT_ONCE) {
		size_t n = N_PROGRAMS - i < AT_ONCE ? N_PROGRAMS - i : AT_ONCE;

		for (size_t k = 0; k < n; k++)
			begin(t, &r[k], &programs[i + k]);
		for (size_t k = 0; k < n; k++)
			mt__wait_attached(t, &r[k].m);
		for (size_t k = 0; k < n; k++)
			fx__send(t, &r[k].f, 'g');
		/* a trace that lasts longer than the work sees the program rest */
		for (size_t k = 0; k < n; k++) {
			fx__read_ledger(t, &r[k].f);
			child__kill(t, &r[k].m.c, SIGINT);
		}
		for (size_t k = 0; k < n; k++)
			end(t, &r[k]);
	}
}

/* ---- memory that RSS does not count */

static json_t *trace_of(struct test *t, struct fx *f, const char **ret_sentence)
{
	const char *file = in_dir(t, "trace.json");
	struct mt m;

	mt__start(t, &m, "-p", pid_arg(f->c.pid), "--batch", "-o", file, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, f);
	mt__stop(t, &m, SIGINT, 0);
	*ret_sentence = sentence__find(m.c.outs.s);
	return load_json(t, file);
}

static void want_begins(struct test *t, const char *sentence, const char *with)
{
	want(t, !strncmp(sentence, with, strlen(with)), "wanted '%s...', got: %.300s", with, sentence);
}

/* Nothing of it is resident: what was mapped is in swap. */
TEST(sentence_of_a_program_that_goes_to_swap)
{
	char *swaps = read_all("/proc/swaps", NULL);
	const char *sentence;
	struct fx f;
	json_t *root;

	if (!swaps || !strchr(swaps, '/'))
		skip(t, "this machine has no swap");
	free(swaps);
	fx__start(t, &f, "sentences", "swapped", TICKS, NULL);
	root = trace_of(t, &f, &sentence);
	want_begins(t, sentence, "Growing: RSS and swap +");
	want(t, ju64(t, process_of(t, root, f.c.pid, 0), "swap_bytes") > 0, "wanted swap_bytes");
	fx__quit(t, &f);
}

/* RSS rests: as many pages of a file go as anonymous ones come. */
TEST(sentence_of_a_program_that_gives_files_for_memory)
{
	const char *sentence;
	json_t *root, *p;
	struct fx f;

	fx__start(t, &f, "sentences", "for_files", TICKS, NULL);
	root = trace_of(t, &f, &sentence);
	want_begins(t, sentence, "Growing: RSS without files +");
	p = process_of(t, root, f.c.pid, 0);
	want(t, ju64(t, p, "rss_file_bytes") < ju64(t, p, "rss_file_at_attach_bytes"), "wanted fewer pages of files");
	fx__quit(t, &f);
}

TEST(sentence_of_a_program_whose_page_tables_grow)
{
	const char *sentence;
	json_t *root, *p;
	struct fx f;

	fx__start(t, &f, "sentences", "zeros", TICKS, NULL);
	root = trace_of(t, &f, &sentence);
	want_begins(t, sentence, "Growing: page tables +");
	p = process_of(t, root, f.c.pid, 0);
	want(t, ju64(t, p, "page_table_bytes") > ju64(t, p, "page_table_at_attach_bytes"), "wanted more page tables");
	fx__quit(t, &f);
}

#define OVERCOMMIT "/proc/sys/vm/nr_overcommit_hugepages"
#define HUGE_PAGES 32

static bool set_overcommit(const char *text)
{
	int fd = open(OVERCOMMIT, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static char *overcommit_before;

static void restore_overcommit(void)
{
	set_overcommit(overcommit_before);
}

#define HUGE_BYTES (HUGE_PAGES * (2ul << 20))

/* Can that many be had now? */
static bool has_huge_pages(void)
{
	void *p = mmap(NULL, HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	return p != MAP_FAILED && !munmap(p, HUGE_BYTES);
}

/* The kernel may make some more of these pages until the program has mapped them. */
TEST_ALONE(sentence_of_a_program_with_huge_pages)
{
	char *memory = read_all("/proc/meminfo", NULL), more[24];
	const char *sentence;
	json_t *root;
	struct fx f;

	overcommit_before = read_all(OVERCOMMIT, NULL);
	if (!overcommit_before || !memory || !strstr(memory, "\nHugepagesize:       2048 kB\n"))
		skip(t, "this kernel has no huge pages of 2 MiB, or others are usual");
	snprintf(more, sizeof(more), "%lu", strtoul(overcommit_before, NULL, 10) + HUGE_PAGES);
	if (!set_overcommit(more))
		skip(t, "%s cannot be written", OVERCOMMIT);
	atexit(restore_overcommit);
	if (!has_huge_pages())
		skip(t, "%d huge pages cannot be had", HUGE_PAGES);
	fx__start(t, &f, "sentences", "huge", TICKS, NULL);
	restore_overcommit();
	root = trace_of(t, &f, &sentence);
	want_begins(t, sentence, "Growing: RSS and huge pages +");
	want_eq(t, "bytes in huge pages", ledger__note(t, &f.led, "mapped_bytes"), ju64(t, process_of(t, root, f.c.pid, 0), "hugetlb_bytes"));
	fx__quit(t, &f);
}
