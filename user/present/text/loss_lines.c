// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns what a report's header says of losses and edges, and of many processes who lost. What always holds: that there are none
 * is said only where calls were seen.
 */
#include <errno.h>
#include <string.h>

#include "present/blind.h"
#include "present/text/report_parts.h"
#include "present/unexplained_words.h"
#include "util/text.h"
#include "util/util.h"

#define LOUD_WIDTH 8	/* "LOSSES: " */
#define NAMED 3		/* processes in a line that says who did something */
#define WHO_MAX (2 * FMT_MAX)

/* A line for each counter that is not zero, the label before the first. */
static void counter_lines(struct report *r, const char *label, size_t indent, const struct snap_counter *v, size_t n)
{
	char a[FMT_MAX];

	for (size_t i = 0; i < n; i++) {
		if (!v[i].n)
			continue;
		para__begin(&r->para, label, indent);
		para__item(&r->para, "%s %s", fmt_exact(a, v[i].n), v[i].says);
		para__end(&r->para);
		label = "";
	}
}

void report__edge_lines(struct report *r)
{
	counter_lines(r, "edges", LABEL_WIDTH, r->s->edges, r->s->n_edges);
}

/* ---- of many processes, who */

enum amount { LOST, LOST_BLOCKS, LOST_STACKS, HELD_BLOCKS, STACKS, N_AMOUNTS };

/* A row for each process. */
struct amounts {
	uint64_t of[N_AMOUNTS];
};

/* The caller's; NULL without memory. */
static struct amounts *add_up(const struct snapshot *s)
{
	struct amounts *rows = calloc(s->n_processes + 1, sizeof(*rows));

	for (size_t i = 0; rows && i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		rows[i].of[LOST] = p->lost_blocks + p->lost_stacks + p->missed_frees;
		rows[i].of[LOST_BLOCKS] = p->lost_blocks;
		rows[i].of[LOST_STACKS] = p->lost_stacks;
		/* what those have that ended holds no room: others get it. But stacks that hold nothing any more took theirs, when it was short */
		rows[i].of[HELD_BLOCKS] = p->ended ? 0 : p->c.live_blocks;
	}
	for (size_t i = 0; rows && i < s->n_sites; i++)
		rows[s->sites[i].process].of[STACKS] += MAX(s->sites[i].evicted_stacks, 1u);
	return rows;
}

static bool was_named(const size_t *named, size_t n, size_t row)
{
	for (size_t i = 0; i < n; i++)
		if (named[i] == row)
			return true;
	return false;
}

/* The row with the most, but for those that were named already; n_processes: no more that has any. */
static size_t next_most(const struct amounts *rows, size_t n_processes, enum amount a, const size_t *named, size_t n_named)
{
	size_t most = n_processes;

	for (size_t i = 0; i < n_processes; i++)
		if (rows[i].of[a] && (most == n_processes || rows[i].of[a] > rows[most].of[a]) && !was_named(named, n_named, i))
			most = i;
	return most;
}

static const char *name_of(const struct report *r, size_t row, char buf[static WHO_MAX])
{
	const struct snap_process *p = &r->s->processes[row];
	_cleanup_free_ char *name = text_shorten(p->comm, 24);

	if (p->pid > 0)
		snprintf(buf, WHO_MAX, "%.48s (%d)", name ? name : "", p->pid);
	else
		snprintf(buf, WHO_MAX, "%.48s", name ? name : "");
	return buf;
}

/* Whoever lost is not always who took the room. */
static void who_took(struct report *r, const char *words, const char *what, const struct amounts *rows, enum amount lost, enum amount held)
{
	size_t n = r->s->n_processes, most = next_most(rows, n, held, NULL, 0);
	char who[WHO_MAX], a[FMT_MAX], b[FMT_MAX];
	uint64_t all = 0;

	if (most == n || next_most(rows, n, lost, NULL, 0) == n)
		return;
	for (size_t i = 0; i < n; i++)
		all += rows[i].of[held];
	para__begin(&r->para, "", LOUD_WIDTH);
	para__item(&r->para, "%s %s: %s of %s %s", words, name_of(r, most, who), fmt_exact(a, rows[most].of[held]),
		   fmt_exact(b, all), what);
	para__end(&r->para);
}

/*
 *	by stress (1501): 1,100 blocks, 3 allocations without a stack
 *	by redis-server (1432): 104 blocks
 *	most room is held by stress (1501): 3,900,000 of 4,000,000 live blocks
 *	most came of cc1 (15154): 4,210 of 19,333 stacks
 */
static int who_lost(struct report *r)
{
	_cleanup_free_ struct amounts *rows = NULL;
	char who[WHO_MAX + 8], a[FMT_MAX];
	size_t named[NAMED], row;

	if (report__is_one(r))
		return 0;
	rows = add_up(r->s);
	if (!rows)
		return -ENOMEM;
	for (size_t n = 0; n < NAMED && (row = next_most(rows, r->s->n_processes, LOST, named, n)) < r->s->n_processes; n++) {
		uint64_t blocks = rows[row].of[LOST_BLOCKS], stacks = rows[row].of[LOST_STACKS], frees = r->s->processes[row].missed_frees;

		named[n] = row;
		para__begin(&r->para, "", LOUD_WIDTH);
		memcpy(who, "by ", 4);
		name_of(r, row, who + 3);
		if (blocks)
			para__item(&r->para, "%s: %s block%s", who, fmt_exact(a, blocks), plural(blocks));
		if (stacks)
			para__item(&r->para, "%s%s%s allocation%s without a stack", blocks ? "" : who, blocks ? "" : ": ",
				   fmt_exact(a, stacks), plural(stacks));
		if (frees)
			para__item(&r->para, "%s%s%s free%s that nobody saw%s", blocks || stacks ? "" : who, blocks || stacks ? "" : ": ",
				   fmt_exact(a, frees), plural(frees), r->s->processes[row].unseen_ns ? ", of a process that ran before it was probed" : "");
		para__end(&r->para);
	}
	who_took(r, "most room is held by", "live blocks", rows, LOST_BLOCKS, HELD_BLOCKS);
	who_took(r, "most came of", "stacks", rows, LOST_STACKS, STACKS);
	return 0;
}

/* ---- the whole */

int report__losses(struct report *r)
{
	char a[FMT_MAX];
	int err;

	if (!r->s->losses_total) {
		fprintf(r->out, "losses %s\n", blind__n(r->s) == report__n_processes(r, false) ? "not known: nothing was seen" :
				     unexplained__most(r->s) ? "none that was counted" : "none");
		return 0;
	}
	fputc('\n', r->out);
	counter_lines(r, "LOSSES:", LOUD_WIDTH, r->s->losses, r->s->n_losses);
	err = who_lost(r);
	para__begin(&r->para, "", LOUD_WIDTH);
	para__item(&r->para, "%s lost in all: the figures are not exact", fmt_exact(a, r->s->losses_total));
	para__end(&r->para);
	return err;
}
