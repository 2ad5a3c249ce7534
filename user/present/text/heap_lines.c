// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the words for a heap that was looked at, above its tables (heap_tables.c):
 *
 *	Probably leaked, no pointer found in 3 scans: 8,974 blocks, 2.3 MiB. 8,950
 *	are direct: nothing points to them. The other 24 are indirect: only leaked
 *	blocks point to them.
 *	They look like: ~97% text, ~3% other. Sizes: 264 B (8,974 blocks).
 *	21% of RSS is free memory that glibc keeps for later, 19.6 MiB: not a leak.
 *	malloc_trim(0), called by the program, would return 17.5 MiB.
 *	in use 64.6 MiB in 414,441 blocks, 5.3 MiB of it in 4 mappings of their own
 *	free   20.6 MiB in 4 arenas: between blocks 19.0 MiB, at the top 1.5 MiB,
 *	       in caches of threads 112.0 KiB
 *	RSS    95.5 MiB: heap 82.3 MiB, anonymous 7.2 MiB, others 6.0 MiB
 *	held   by server (redis-server) 22.0 MiB,
 *	       thread-locals or registers of bio_lazy_free 5.0 MiB
 *	read   in 312ms, while it ran
 *
 * What always holds: nothing is more than probably leaked here; what was not read, or may be wrong, is said; of a heap whose layout
 * was not recognised there are no figures.
 */
#include <stdlib.h>
#include <string.h>

#include "present/text/report_parts.h"

#define NOTABLE_BYTES (1ull << 20)
#define NOTABLE_PCT 10		/* of RSS */
#define MANY_ARENAS 3		/* more of them than a program needs that knows no threads */
#define HELD_SHOWN 5
#define SMALL_PART 100		/* one of so many parts of RSS is not worth its words */
#define PART_NAME 32
#define SENTENCES 3
#define LOST_SHOWN 3		/* types and sizes of what is lost */
#define LONG_AGO_NS (3 * SECOND_NS)	/* before the end: then it is said when it was */
#define SITE_TYPES_COLS 240
#define SAMPLED_MAX (2 * FMT_MAX + 32)

/* ---- sentences */

/* Of a trace, one screen has what was found; `malloctrace heap` and --view heap say what it means. */
static bool is_short(const struct report *r)
{
	return r->o->brief && !snapshot__is_heap(r->s);
}

/* The most common false leak of all: memory that was freed, and that the allocator has not given back. */
static void free_sentence(struct report *r, const struct snap_heap *h)
{
	/* what is not resident any more cannot be returned again */
	uint64_t trim = MIN(h->trimmable_bytes, h->free_resident_bytes), beside_main = 0;

	if (h->refused || !h->rss_bytes ||
	    h->free_resident_bytes < MAX(NOTABLE_BYTES, h->rss_bytes / 100 * NOTABLE_PCT))
		return;
	/* fewer arenas would hold less of it */
	for (size_t i = 0; i < h->n_arenas; i++)
		beside_main += h->arenas[i].main ? 0 : h->arenas[i].free_bytes;
	para__begin(&r->para, "", 0);
	para__words(&r->para, "%s of RSS is free memory that %s keeps for later, %s: not a leak.", PERCENT(h->free_resident_bytes, h->rss_bytes),
		   h->allocator ? h->allocator : "the allocator", BYTES(h->free_resident_bytes));
	if (is_short(r))
		;
	else if (trim >= h->free_resident_bytes / 4)
		para__words(&r->para, "malloc_trim(0), called by the program, would return %s.", BYTES(trim));
	else
		para__words(&r->para, "It lies %s: malloc_trim(0), called by the program, would return %s%s.",
			    h->bins_bytes > h->free_bytes / 2 ? "in pieces between blocks in use" : "at the ends of arenas", trim ? "only " : "",
			    trim ? BYTES(trim) : "nothing");
	if (!is_short(r) && h->n_arenas > MANY_ARENAS && beside_main > h->free_bytes / 2)
		para__words(&r->para, "Most of it is in %zu arenas of threads: restarted with MALLOC_ARENA_MAX=2, the program has fewer and may keep less.",
			    h->n_arenas - 1);
	para__end(&r->para);
}

/* What may be among those that no pointer was found to. */
static void search_doubts(struct report *r, const struct snap_unreached *u)
{
	if (!u->blocks)
		return;
	if (u->swapped_bytes)
		para__words(&r->para, "%s were swapped out and not searched: blocks that only these bytes point to may be among them.", BYTES(u->swapped_bytes));
	if (u->passed_over_bytes)
		para__words(&r->para, "%s of address space was not searched, too much for a kernel before 6.7: blocks that only it points to may be among them.",
			    BYTES(u->passed_over_bytes));
	if (u->unread_shared_bytes)
		para__words(&r->para, "%s of shared memory and files that the process does not map now were not searched: blocks that only these point to may be among them.",
			    BYTES(u->unread_shared_bytes));
	if (u->async_io)
		para__words(&r->para, "The process uses asynchronous I/O (Linux AIO or io_uring): blocks that only a pending request points to may be among them.");
	if (u->kept_in_part)
		para__words(&r->para,
			    "Some of what the kernel keeps for the process (epoll, timers) was not searched: blocks that only it points to may be among them.");
	if (u->unread_threads)
		para__words(&r->para, "Registers of %s thread%s could not be read, those of the others once: a block that only a register points to may be among them.",
			    EXACT(u->unread_threads), plural(u->unread_threads));
	else if (snap_unreached__lacks_registers(u))
		para__words(&r->para, "Registers could not be read: a block that only a register points to may be among them.");
}

void report__search_doubts(struct report *r, const struct snap_heap *h)
{
	para__begin(&r->para, "", 0);
	search_doubts(r, &h->unreached);
	para__end(&r->para);
}

/* "8,950 are direct: nothing points to them. The other 24 are indirect: only leaked blocks point to them." */
static void direct_words(struct report *r, const struct snap_unreached *u)
{
	uint64_t others = u->blocks - MIN(u->direct_blocks, u->blocks);
	bool one = u->direct_blocks == 1;

	if (!others || is_short(r))
		return;
	para__words(&r->para, "%s %s direct: nothing points to %s.", EXACT(u->direct_blocks), one ? "is" : "are", one ? "it" : "them");
	if (others == 1)
		para__words(&r->para, "The other one is indirect: only leaked blocks point to it.");
	else
		para__words(&r->para, "The other %s are indirect: only leaked blocks point to them.", EXACT(others));
}

/* What is not known of the blocks there. */
static uint64_t unread_bytes(const struct snap_heap *h)
{
	return heap__was_searched(h) ? h->swapped_bytes + h->broken_bytes + h->passed_over_bytes : 0;
}

/* Where no line below says it (doubt_lines()). */
static void unread_words(struct report *r, uint64_t bytes)
{
	if (bytes && is_short(r))
		para__words(&r->para, "%s could not be read: whether blocks there are reachable is not known.",
			    BYTES(bytes));
}

static void unreached_sentence(struct report *r, const struct snap_heap *h, const char *who)
{
	const struct snap_unreached *u = &h->unreached;

	if (h->search_interrupted)
		report__line(r, "The search for pointers was interrupted: "
				"which blocks are unreachable is not known.");
	if (!heap__was_searched(h))
		return;
	para__begin(&r->para, "", 0);
	if (u->blocks) {
		para__words(&r->para, "%s%s%s leaked, no pointer found in %u scan%s: %s block%s, %s.", who, *who ? "p" : "P",
			    snap_unreached__is_partial(u) ? "erhaps" : "robably", u->scans, plural(u->scans), EXACT(u->blocks), plural(u->blocks),
			    BYTES(u->bytes));
		direct_words(r, u);
	} else {
		para__words(&r->para, "Every block that was searched is reachable (%u scan%s).", u->scans,
			    plural(u->scans));
		unread_words(r, unread_bytes(h));
	}
	if (h->at_ns && r->s->duration_ns > h->at_ns + LONG_AGO_NS && !is_short(r))
		para__words(&r->para, "The search was at %s.", DURATION(h->at_ns));
	if (h->older_known && h->older_unreached_blocks && is_short(r))
		para__words(&r->para, "%s predate%s the trace.", h->older_unreached_blocks == u->blocks ? "All" : EXACT(h->older_unreached_blocks),
			    h->older_unreached_blocks == 1 && u->blocks > 1 ? "s" : "");
	else if (h->older_known && h->older_unreached_blocks)
		para__words(&r->para, "%s of them %s older than the trace.", h->older_unreached_blocks == u->blocks ? "All" : EXACT(h->older_unreached_blocks),
			    h->older_unreached_blocks == 1 && u->blocks > 1 ? "is" : "are");
	if (h->sites_unknown)
		para__words(&r->para, "Their call stacks are not known: the trace records only part of the blocks.");
	if (h->refused && u->scans)
		para__words(&r->para, "Only traced blocks were searched: the others of %s are not known.", h->allocator ? h->allocator : "this allocator");
	search_doubts(r, u);
	para__end(&r->para);
}

COMPARATOR(by_lost_bytes, struct snap_class *const,
	   ORDER((*b)->bytes, (*a)->bytes) ?: ORDER((*a)->usable, (*b)->usable))

/* "1,000 B (3,721 blocks)": those with the most bytes */
static void lost_sizes(struct report *r, const struct snap_unreached *u)
{
	_cleanup_free_ const struct snap_class **v = xcalloc(u->n_classes + 1, sizeof(*v));
	size_t n = MIN(u->n_classes, (size_t)LOST_SHOWN);

	if (!n)
		return;
	for (size_t i = 0; i < u->n_classes; i++)
		v[i] = &u->classes[i];
	qsort(v, u->n_classes, sizeof(*v), by_lost_bytes);
	for (size_t i = 0; i < n; i++) {
		char size[CELL_MAX];

		para__words(&r->para, "%s%s%s (%s block%s)%s", i ? "" : "Sizes: ", heap__size_words(size, v[i]), v[i]->below ? "" : " B", EXACT(v[i]->blocks),
			    plural(v[i]->blocks), i + 1 < n ? "," : n < u->n_classes ? "" : ".");
	}
	if (n < u->n_classes)
		para__words(&r->para, "and %zu more.", u->n_classes - n);
}

COMPARATOR(by_share, struct snap_share, ORDER(b->share, a->share) ?: strcmp(a->name, b->name))

/* What is lost: TYPES of a size are those of all its blocks. */
static void lost_looks(struct report *r, const struct snap_heap *h)
{
	const struct snap_unreached *u = &h->unreached;
	struct snap_share v[LOST_SHOWN];
	size_t n = MIN(u->n_types, ARRAY_SIZE(v));
	_cleanup_free_ char *text = NULL;
	bool estimated = false;

	if (!u->blocks)
		return;
	for (size_t i = 0; i < n; i++) {
		v[i] = (struct snap_share){ u->types[i].name, (double)MIN(u->types[i].blocks, u->blocks) / (double)u->blocks, u->types[i].is_class };
		estimated |= u->types[i].estimated;
	}
	qsort(v, n, sizeof(*v), by_share);
	text = heap__types_text(v, n, SITE_TYPES_COLS);
	para__begin(&r->para, "", 0);
	if (n && text && *text)
		para__words(&r->para, "They look like: %s%s%s.", estimated ? "about " : "", text, n < u->n_types ? ", and others" : "");
	lost_sizes(r, u);
	para__end(&r->para);
}

/* ---- figures */

static void in_use_line(struct report *r, const struct snap_heap *h)
{
	para__begin(&r->para, "in use", LABEL_WIDTH);
	para__item(&r->para, "%s in %s block%s", BYTES(h->bytes), EXACT(h->blocks), plural(h->blocks));
	if (h->mapped_blocks)
		para__item(&r->para, "%s of it in %s mapping%s of %s own", BYTES(h->mapped_bytes), EXACT(h->mapped_blocks), plural(h->mapped_blocks),
			   h->mapped_blocks == 1 ? "its" : "their");
	para__end(&r->para);
}

static void older_line(struct report *r, const struct snap_heap *h)
{
	if (!h->older_known)
		return;
	para__begin(&r->para, "older", LABEL_WIDTH);
	para__item(&r->para, "%s in %s block%s %s older than the trace", BYTES(h->older_bytes), EXACT(h->older_blocks), plural(h->older_blocks),
		   h->older_blocks == 1 ? "is" : "are");
	if (heap__was_searched(h) && h->older_unreached_blocks)
		para__item(&r->para, "no pointer to %s of them (%s)", EXACT(h->older_unreached_blocks), BYTES(h->older_unreached_bytes));
	if (h->older_unsure_blocks)
		para__item(&r->para, "at most %s of them may be younger", EXACT(h->older_unsure_blocks));
	para__end(&r->para);
}

static void free_line(struct report *r, const struct snap_heap *h)
{
	const struct {
		const char *what;
		uint64_t bytes;
	} kinds[] = { { "between blocks", h->bins_bytes }, { "at the top", h->top_bytes }, { "in caches of threads", h->tcache_bytes } };
	char arenas[FMT_MAX + 16] = "";

	if (h->n_arenas > 1)
		snprintf(arenas, sizeof(arenas), " in %zu arenas", h->n_arenas);
	para__begin(&r->para, "free", LABEL_WIDTH);
	para__item(&r->para, "%s%s", BYTES(h->free_bytes), arenas);
	r->para.led = h->bins_bytes || h->top_bytes || h->tcache_bytes;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].bytes)
			para__item(&r->para, "%s %s", kinds[i].what, BYTES(kinds[i].bytes));
	if (h->free_resident_bytes < h->free_bytes)
		para__item(&r->para, "%s of it resident", BYTES(h->free_resident_bytes));
	para__end(&r->para);
}

static const char *const kind_words[N_PART_KINDS] = {
	[PART_HEAP] = "heap (with headers and free memory)", [PART_STACK] = "stacks", [PART_GLOBAL] = "global variables", [PART_TLS] = "thread-local variables",
	[PART_CODE] = "code", [PART_FILE] = "mapped files", [PART_SHARED] = "shared memory", [PART_ANON] = "anonymous", [PART_OTHER] = "unclassified",
};

/* By kind; what lies in which of them is a table. */
static void rss_line(struct report *r, const struct snap_heap *h)
{
	uint64_t sums[N_PART_KINDS] = {}, others = 0;
	bool done[N_PART_KINDS] = {};

	if (!h->rss_bytes)
		return;
	for (size_t i = 0; i < h->n_parts; i++)
		sums[h->parts[i].kind] += h->parts[i].resident_bytes;
	para__begin(&r->para, "RSS", LABEL_WIDTH);
	para__item(&r->para, "%s", BYTES(h->rss_bytes));
	r->para.led = true;
	for (size_t n = 0; n < N_PART_KINDS; n++) {
		size_t most = N_PART_KINDS;

		for (size_t k = 0; k < N_PART_KINDS; k++)
			if (!done[k] && sums[k] && (most == N_PART_KINDS || sums[k] > sums[most]))
				most = k;
		if (most == N_PART_KINDS)
			break;
		done[most] = true;
		/* the table has all of them */
		if (n >= 2 && sums[most] < h->rss_bytes / SMALL_PART) {
			others += sums[most];
			continue;
		}
		para__item(&r->para, "%s %s", kind_words[most], BYTES(sums[most]));
	}
	if (others)
		para__item(&r->para, "smaller parts %s", BYTES(others));
	if (h->swap_bytes)
		para__words(&r->para, "(not in RSS: page tables %s and %s swapped out)", BYTES(h->page_table_bytes), BYTES(h->swap_bytes));
	else if (h->page_table_bytes)
		para__words(&r->para, "(not in RSS: page tables %s)", BYTES(h->page_table_bytes));
	para__end(&r->para);
}

/* "server (redis-server)", "thread-locals or registers of bio_lazy_free", "the stack of redis-server", "/dev/shm/queue" */
static char *root_words(const struct snap_root *root, size_t width)
{
	const char *module = root->kind == ROOT_GLOBAL && root->module ? path_basename(root->module) : NULL;
	_cleanup_free_ char *name = text_shorten(root->name ? root->name : "?", width);

	return xasprintf("%s%s%s%s%s", root_kind__before(root->kind), name, module ? " (" : "", module ? module : "", module ? ")" : "");
}

static void held_line(struct report *r, const struct snap_heap *h)
{
	size_t n = MIN(h->n_roots, r->o->top ? r->top : HELD_SHOWN);
	uint64_t rest = 0, all = 0, by_stacks = 0;

	para__begin(&r->para, "held", LABEL_WIDTH);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *who = root_words(&h->roots[i], PART_NAME);

		para__item(&r->para, "%s%s %s", i ? "" : "by ", who ? who : "?", BYTES(h->roots[i].bytes));
	}
	for (size_t i = 0; i < h->n_roots; i++) {
		rest += i < n ? 0 : h->roots[i].bytes;
		all += h->roots[i].bytes;
		by_stacks += h->roots[i].kind == ROOT_STACK ? h->roots[i].bytes : 0;
	}
	if (rest)
		para__item(&r->para, "%zu other%s %s", h->n_roots - n, plural(h->n_roots - n), BYTES(rest));
	/* the classic false hold */
	if (by_stacks > all / SMALL_PART)
		para__item(&r->para, "what only a stack holds may be held by a stale pointer");
	para__end(&r->para);
}

/* ---- how sure it is */

static void read_line(struct report *r, const struct snap_heap *h)
{
	para__begin(&r->para, "read", LABEL_WIDTH);
	para__item(&r->para, "in %s", DURATION(h->looked_ns));
	if (h->paused_ns)
		para__item(&r->para, "the process was stopped for %s", DURATION(h->paused_ns));
	else
		para__item(&r->para, "while it ran");
	if (h->at_ns)
		para__item(&r->para, "%s after the trace's start", DURATION(h->at_ns));
	para__end(&r->para);
}

static void doubt_lines(struct report *r, const struct snap_heap *h)
{
	if (h->unsure_blocks) {
		if (h->rested)
			report__item(r, "unsure", LABEL_WIDTH, "nothing ran while it was read, yet the heap is inconsistent: the program overwrote it, or threads wait within malloc or free; at most %s block%s may be wrong",
				    EXACT(h->unsure_blocks), plural(h->unsure_blocks));
		/* --pause reads registers, too; without it, a stop may have been for these alone */
		else if (h->paused_ns && !strcmp(h->unreached.registers ?: "read", "read"))
			report__item(r, "unsure", LABEL_WIDTH, "at each stop threads were within malloc or free, or part of the heap could not be read: at most %s block%s may be shown as in use "
					      "but be free, or the reverse", EXACT(h->unsure_blocks), plural(h->unsure_blocks));
		else
			report__item(r, "unsure", LABEL_WIDTH, "blocks allocated or freed during these %s may be missing or extra; at most %s others may be shown as in use "
				     "but be free, or the reverse%s", DURATION(h->looked_ns),
					EXACT(h->unsure_blocks), h->at_ns ? "" : " (--pause: exact figures)");
	}
	para__begin(&r->para, "unread", LABEL_WIDTH);
	if (h->swapped_bytes)
		para__item(&r->para, "%s is swapped out", BYTES(h->swapped_bytes));
	if (h->broken_bytes)
		para__item(&r->para, "%s has no recognisable blocks", BYTES(h->broken_bytes));
	if (h->passed_over_bytes)
		para__item(&r->para, "%s of address space, too much for a kernel before 6.7", BYTES(h->passed_over_bytes));
	para__end(&r->para);
}

void report__heap_lines(struct report *r, const struct snap_heap *h)
{
	if (h->refused)
		report__line(r, "%s", h->refused);
	/* what may be lost before what is not */
	if (h->unreached.blocks) {
		unreached_sentence(r, h, "");
		lost_looks(r, h);
	}
	free_sentence(r, h);
	if (!h->unreached.blocks)
		unreached_sentence(r, h, "");
	if (!h->refused && h->other_allocator)
		report__line(r, "The process also uses %s, whose blocks cannot be read from outside: the figures below are only glibc's.", h->other_allocator);
	if (!h->refused) {
		in_use_line(r, h);
		older_line(r, h);
		free_line(r, h);
	}
	rss_line(r, h);
	held_line(r, h);
	read_line(r, h);
	if (!h->refused)
		doubt_lines(r, h);
}

/* "Of 4 more processes, too: 1,204 blocks, 3.1 MiB (--view heap)." */
static void more_unreached(struct report *r, const struct snap_heap *const *v, size_t n)
{
	uint64_t blocks = 0, bytes = 0;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		blocks += v[i]->unreached.blocks;
		bytes += v[i]->unreached.bytes;
	}
	report__line(r, "Of %zu more process%s, too: %s block%s, %s (--view heap).", n,
		     n == 1 ? "" : "es", EXACT(blocks), plural(blocks), BYTES(bytes));
}

/*
 * malloctrace searched 1 of 2 processes for pointers: every block that was searched is reachable.
 * 1 search was interrupted.
 */
static void search_sums(struct report *r, uint64_t n_of, bool lost)
{
	uint64_t n_searched = 0, n_interrupted = 0, unread = 0;

	for (size_t i = 0; i < r->s->n_heaps; i++) {
		n_searched += heap__was_searched(&r->s->heaps[i]);
		n_interrupted += r->s->heaps[i].search_interrupted;
		unread += unread_bytes(&r->s->heaps[i]);
	}
	if (!n_searched && !n_interrupted)
		return;
	para__begin(&r->para, "", 0);
	if (!lost || n_searched < n_of)
		para__words(&r->para, "malloctrace searched %s of %s processes for pointers%s.",
			    EXACT(n_searched), EXACT(n_of), lost || !n_searched ? "" : ": every block that was searched is reachable");
	if (n_interrupted)
		para__words(&r->para, "%s search%s interrupted.", EXACT(n_interrupted),
			    n_interrupted == 1 ? " was" : "es were");
	unread_words(r, unread);
	para__end(&r->para);
}

/* Of several processes those that may have lost something, the most first. */
void report__heap_sentences(struct report *r)
{
	_cleanup_free_ const struct snap_heap **v = report__heaps_in_order(r->s);
	/* one that was searched may have ended since */
	uint64_t n_of = MAX(report__n_processes(r, false) - report__n_processes(r, true),
			    (uint64_t)r->s->n_heaps);
	size_t n = 0;

	if (r->s->n_heaps && n_of == 1) {
		unreached_sentence(r, v[0], "");
		free_sentence(r, v[0]);
		return;
	}
	while (n < r->s->n_heaps && v[n]->unreached.blocks)
		n++;
	for (size_t i = 0; i < MIN(n, (size_t)SENTENCES); i++) {
		_cleanup_free_ char *name = text_shorten(heap__comm(r->s, v[i]), PART_NAME);
		_cleanup_free_ char *who = xasprintf("%s (%d): ", name, (int)heap__pid(r->s, v[i]));

		unreached_sentence(r, v[i], who);
	}
	more_unreached(r, v + MIN(n, (size_t)SENTENCES), n - MIN(n, (size_t)SENTENCES));
	search_sums(r, n_of, n);
}

/* ---- of a site */

/*
 *	no pointer to 31,700 of 31,720 blocks (30.9 MiB), 24 blocks are too new to have been searched,
 *	made of 98% app::Session, 2% app::Page (52 of 31,744 blocks examined), 5.9 MiB held through server (redis-server)
 */
void report__site_blocks(struct report *r, const struct snap_site *site, size_t indent)
{
	_cleanup_free_ char *held = site->held ? root_words(site->held, PART_NAME) : NULL;
	_cleanup_free_ char *types = heap__types_text(site->types, site->n_types, SITE_TYPES_COLS);
	char sampled[SAMPLED_MAX] = "";
	bool was_searched = site__was_searched(r->s, site);
	/* a verdict that goes by it says it itself */
	bool searched = was_searched && !site->trend.why_unreached;
	/* UNREACHED is of fewer blocks than BLOCKS */
	uint64_t newer = was_searched && site->c.live_blocks > site->looked_blocks ? site->c.live_blocks - site->looked_blocks : 0;

	if (site->sampled_blocks && site->sampled_blocks < site->c.live_blocks)
		snprintf(sampled, sizeof(sampled), " (%s of %s blocks examined)",
			 EXACT(site->sampled_blocks), EXACT(site->c.live_blocks));
	para__begin(&r->para, "", indent);
	if (searched && site->unreached_blocks)
		para__item(&r->para, "no pointer to %s of %s blocks (%s)", EXACT(site->unreached_blocks), EXACT(site->looked_blocks),
			   BYTES(site->unreached_bytes));
	else if (searched)
		para__item(&r->para, "a pointer to every block%s", newer ? " that was there" : "");
	if (newer)
		para__item(&r->para, "%s block%s too new to have been searched", EXACT(newer), newer == 1 ? " is" : "s are");
	if (types && *types)
		para__item(&r->para, "made of %s%s", types, sampled);
	if (held)
		para__item(&r->para, "%s held through %s", BYTES(site->held->bytes), held);
	para__end(&r->para);
}
