// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the lines of a report about what was not seen, what was lost, and who was killed:
 *
 *	BLIND  shopd (1432): no allocation seen in 1.20s of CPU time, in which it grew by 64.0 MiB
 *	       probed: 38 functions in libc.so.6
 *	       possible allocator: shop_malloc and shop_free in shopd (--prefix shop_)
 *	idle   sleeper (1433) hardly ran: it used 1ms of CPU time while it was traced, and made
 *	       no allocation
 *
 * What always holds: each process that ran without a call that was seen is named, and where
 * nothing was seen, no line says that nothing was lost.
 */
#include <string.h>

#include "present/text/report_parts.h"
#include "util/signals.h"

#define NAMED 3

static void tell_one(struct report *r, const struct snap_process *p, const char *label)
{
	_cleanup_free_ char *owner = report__owner(r, p, r->width);

	report__item(r, label, LABEL_WIDTH, "%s: no allocation seen%s", owner, BLIND_RAN(p));
	if (p->blind.probed)
		report__item(r, "", LABEL_WIDTH, "probed: %s", p->blind.probed);
	report__item(r, "", LABEL_WIDTH, "%s%s", p->blind.candidates ? "possible allocator: " : "",
		     p->blind.candidates ?:
		     "no other mapped function has the name of an allocator: it made no call, or a stripped file has no names (--sym names functions)");
}

static void tell_idle(struct report *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->s->n_processes; i++) {
		const struct snap_process *p = &r->s->processes[i];

		_cleanup_free_ char *owner = NULL;

		if (!p->blind.is || !p->blind.idle || n++ >= NAMED)
			continue;
		owner = report__owner(r, p, r->width);
		report__item(r, n == 1 ? "idle" : "", LABEL_WIDTH,
			     "%s hardly ran: it used %s of CPU time while it was traced, and made no allocation",
			     owner, DURATION(p->blind.cpu_ns));
	}
}

/* One screen has two lines for it: of the process that grew most, and how many others there are. */
static void tell_briefly(struct report *r, size_t n)
{
	const struct snap_process *p = blind__first(r->s);
	_cleanup_free_ char *owner = p ? report__owner(r, p, r->width / 2) : NULL;
	char more[FMT_MAX + 16] = "";

	if (!p)
		return;
	if (n > 1)
		snprintf(more, sizeof(more), "; nor of %s more", EXACT(n - 1));
	report__item(r, "BLIND", LABEL_WIDTH, "%s: no allocation seen%s%s", owner ? owner : "", BLIND_RAN(p), more);
	report__item(r, "", LABEL_WIDTH, p->blind.candidates ? "--full names functions that look like an allocator" : "it made none, or its allocator is not known: --sym names functions");
}

void report__blind_lines(struct report *r)
{
	size_t n = blind__n(r->s), told = 0;

	if (r->o->brief) {
		tell_briefly(r, n);
		tell_idle(r);
		return;
	}
	for (size_t i = 0; i < r->s->n_processes && told < NAMED; i++)
		if (r->s->processes[i].blind.is && !r->s->processes[i].blind.idle)
			tell_one(r, &r->s->processes[i], told++ ? "" : "BLIND");
	if (n > told)
		report__item(r, "", LABEL_WIDTH, "nor in %s more", EXACT(n - told));
	tell_idle(r);
}

/* ---- growth that no call explains */

/*
 * The line about a process that grew by more than the calls that were seen explain:
 *
 *	UNSEEN hider (1432) grew by 150.0 MiB, and the calls that were seen explain 20.0 MiB of it: at least
 *	       130.0 MiB of its heap came from unseen calls
 */

void report__unexplained_lines(struct report *r)
{
	size_t told = 0;

	for (size_t i = 0; i < r->s->n_processes && told < NAMED; i++) {
		const struct snap_process *p = &r->s->processes[i];
		_cleanup_free_ char *owner = NULL;

		if (!p->memory.unexplained_bytes)
			continue;
		owner = report__owner(r, p, r->width);
		report__item(r, told++ ? "" : "UNSEEN", LABEL_WIDTH, "%s %s", owner, UNEXPLAINED(p));
	}
}

/* ---- losses and edges */

/*
 * What a report's header says of losses and edges, and of many processes who lost. What always holds: that there are none
 * is said only where calls were seen, and on request.
 */

#define LOUD_WIDTH 8	/* "LOSSES: " */
#define WHO_NAMED 3		/* processes in a line that says who did something */
#define WHO_MAX (2 * FMT_MAX)

/* A line for each counter that is not zero, the label before the first. */
static void counter_lines(struct report *r, const char *label, size_t indent, const struct snap_counter *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!v[i].n)
			continue;
		report__item(r, label, indent, "%s %s", EXACT(v[i].n), v[i].says);
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

/* The caller's. */
static struct amounts *add_up(const struct snapshot *s)
{
	struct amounts *rows = xcalloc(s->n_processes + 1, sizeof(*rows));

	for (size_t i = 0; i < s->n_processes; i++) {
		const struct snap_process *p = &s->processes[i];

		rows[i].of[LOST] = p->lost_blocks + p->lost_stacks + p->missed_frees;
		rows[i].of[LOST_BLOCKS] = p->lost_blocks;
		rows[i].of[LOST_STACKS] = p->lost_stacks;
		/* what those have that ended holds no room: others get it. But stacks that hold nothing any more took theirs, when it was short */
		rows[i].of[HELD_BLOCKS] = p->ended ? 0 : p->c.live_blocks;
	}
	for (size_t i = 0; i < s->n_sites; i++)
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
		snprintf(buf, WHO_MAX, "%.48s (%d)", name, p->pid);
	else
		snprintf(buf, WHO_MAX, "%.48s", name);
	return buf;
}

/* Whoever lost is not always who took the room. */
static void who_took(struct report *r, const char *words, const char *what, const struct amounts *rows, enum amount lost, enum amount held)
{
	size_t n = r->s->n_processes, most = next_most(rows, n, held, NULL, 0);
	char who[WHO_MAX];
	uint64_t all = 0;

	if (most == n || next_most(rows, n, lost, NULL, 0) == n)
		return;
	for (size_t i = 0; i < n; i++)
		all += rows[i].of[held];
	report__item(r, "", LOUD_WIDTH, "%s %s: %s of %s %s", words, name_of(r, most, who),
		     EXACT(rows[most].of[held]), EXACT(all), what);
}

/*
 *	by stress (1501): 1,100 blocks, 3 allocations without a stack
 *	by redis-server (1432): 104 blocks
 *	most room is held by stress (1501): 3,900,000 of 4,000,000 live blocks
 *	most stacks came from cc1 (15154): 4,210 of 19,333 stacks
 */
static void who_lost(struct report *r)
{
	_cleanup_free_ struct amounts *rows = NULL;
	char who[WHO_MAX + 8];
	size_t named[WHO_NAMED], row;

	if (report__is_one(r))
		return;
	rows = add_up(r->s);
	for (size_t n = 0; n < WHO_NAMED && (row = next_most(rows, r->s->n_processes, LOST, named, n)) < r->s->n_processes; n++) {
		uint64_t blocks = rows[row].of[LOST_BLOCKS], stacks = rows[row].of[LOST_STACKS], frees = r->s->processes[row].missed_frees;

		named[n] = row;
		para__begin(&r->para, "", LOUD_WIDTH);
		memcpy(who, "by ", 4);
		name_of(r, row, who + 3);
		if (blocks)
			para__item(&r->para, "%s: %s block%s", who, EXACT(blocks), plural(blocks));
		if (stacks)
			para__item(&r->para, "%s%s%s allocation%s without a stack", blocks ? "" : who, blocks ? "" : ": ",
				   EXACT(stacks), plural(stacks));
		if (frees)
			para__item(&r->para, "%s%s%s free%s that %s missed%s", blocks || stacks ? "" : who, blocks || stacks ? "" : ": ",
				   EXACT(frees), plural(frees), frees == 1 ? "was" : "were", r->s->processes[row].unseen_ns ? ", of a process that ran before it was probed" : "");
		para__end(&r->para);
	}
	who_took(r, "most room is held by", "live blocks", rows, LOST_BLOCKS, HELD_BLOCKS);
	who_took(r, "most came from", "stacks", rows, LOST_STACKS, STACKS);
}

/* ---- the whole */

void report__losses(struct report *r)
{
	if (!r->s->losses_total) {
		if (r->o->verbose)
			fprintf(r->out, "losses %s\n", blind__n(r->s) == report__n_processes(r, false) ? "not known: nothing was seen" :
				unexplained__most(r->s) ? "none that was counted" : "none");
		return;
	}
	fputc('\n', r->out);
	counter_lines(r, "LOSSES:", LOUD_WIDTH, r->s->losses, r->s->n_losses);
	who_lost(r);
	report__item(r, "", LOUD_WIDTH, "%s lost in all: figures are not exact", EXACT(r->s->losses_total));
}

/* ---- ends */

/*
 * How ends are told:
 *
 *	died   killed by the kernel: out of memory, it held 38.0 MiB in 31,744 blocks
 *	died   stress (2100) by SIGKILL: out of memory, worker (1501) by SIGSEGV, 3 more by signals
 *
 * What always holds: nothing is said of processes that ended by themselves. A row of
 * several processes tells of none of them: each has its own end.
 */

/* Who is named first: victims of the kernel, then those that held the most. */
COMPARATOR(by_end, struct snap_process *const,
	   ORDER((*b)->oom_killed, (*a)->oom_killed) ?: ORDER((*b)->c.live_bytes, (*a)->c.live_bytes) ?: ORDER(*a, *b))

static void single_line(struct report *r, const struct snap_process *p)
{
	char name[SIGNAL_NAME_MAX];

	para__begin(&r->para, "died", LABEL_WIDTH);
	if (p->oom_killed)
		para__item(&r->para, "killed by the kernel: out of memory");
	else
		para__item(&r->para, "by %s", signal_name(p->exit_signal, name));
	if (r->s->known & HAS_LIVE_BYTES)
		para__item(&r->para, "it held %s%s in %s%s block%s", report__mark(r), BYTES(p->c.live_bytes), report__mark(r),
			   EXACT(p->c.live_blocks), plural(p->c.live_blocks));
	para__end(&r->para);
}

void report__died_line(struct report *r)
{
	_cleanup_free_ const struct snap_process **v = xcalloc(r->s->n_processes + 1, sizeof(*v));
	char name[SIGNAL_NAME_MAX];
	size_t n = 0, n_named;

	for (size_t i = 0; i < r->s->n_processes; i++)
		if (r->s->processes[i].ended && r->s->processes[i].exit_signal > 0)
			v[n++] = &r->s->processes[i];
	if (n && r->s->n_processes == 1) {
		single_line(r, v[0]);
		return;
	}
	qsort(v, n, sizeof(*v), by_end);
	n_named = MIN(n, NAMED);
	para__begin(&r->para, "died", LABEL_WIDTH);
	for (size_t k = 0; k < n_named; k++) {
		_cleanup_free_ char *who = text_shorten(v[k]->comm, 24);

		para__item(&r->para, "%s (%d) by %s%s", who, (int)v[k]->pid, signal_name(v[k]->exit_signal, name),
			   v[k]->oom_killed ? ": out of memory" : "");
	}
	if (n > n_named)
		para__item(&r->para, "%s more by signals", EXACT(n - n_named));
	para__end(&r->para);
}
