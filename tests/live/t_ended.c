// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* -a: what runs and what has ended, in files and in the report; nothing is lost where many rows become one. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"

static const struct {
	enum led_count count;
	const char *key;
} compared[] = {
	{ LED_ALLOC_CALLS, "alloc_calls" },
	{ LED_ALLOC_BYTES, "alloc_bytes" },
	{ LED_FREE_CALLS, "free_calls" },
	{ LED_FREE_BYTES, "free_bytes" },
};

struct led_sum {
	char name[64];
	uint64_t v[LED_N];
};

/* What all ledgers of a directory come to, by site. How many sites there are. */
static size_t add_ledgers(struct test *t, const char *dir, struct led_sum *v, size_t room, unsigned int *ret_n)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	size_t n = 0;

	must(t, d != NULL, "%s: %s", dir, strerror(errno));
	*ret_n = 0;
	while ((entry = readdir(d))) {
		struct ledger l;
		char path[512], *text;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		text = read_all(path, NULL);
		must(t, text && ledger__parse(&l, text), "a ledger that makes no sense: %s", path);
		if (getenv("LIVE_TESTS_WRONG") && l.n)
			l.site[0].v[LED_ALLOC_CALLS]++;
		for (unsigned int i = 0; i < l.n; i++) {
			size_t at = 0;

			while (at < n && strcmp(v[at].name, l.site[i].name))
				at++;
			must(t, at < room, "more sites than expected");
			n += at == n;
			snprintf(v[at].name, sizeof(v[at].name), "%s", l.site[i].name);
			for (size_t k = 0; k < LED_N; k++)
				v[at].v[k] += l.site[i].v[k];
		}
		free(text);
		(*ret_n)++;
	}
	closedir(d);
	return n;
}

/* Twenty-one programs that are over soon are a row of the file, exactly what they were together; one that goes on is another. */
TEST_ALONE(all_that_ended_are_one_row)
{
	const char *dir = ledgers(t), *path = in_dir(t, "x.json");
	json_t *root, *p, *s, *row = NULL, *runs = NULL;
	uint64_t live_blocks = 0, live_bytes = 0, ended = 0;
	struct led_sum sums[16] = {};
	struct fx f, before;
	unsigned int n_ledgers, told;
	struct mt m;
	char *line;
	size_t i, n;

	fx__start(t, &before, "group", t->dir, "hold", NULL);
	mt__start(t, &m, "-a", "--batch", "--depth", "8", "--no-inlines", "--no-source", "-o", path, NULL);
	mt__wait_attached(t, &m);
	fx__start(t, &f, "group", dir, "spawn", "10", NULL);
	fx__go(t, &f);
	fx__quit(t, &f);
	child__kill(t, &m.c, SIGINT);
	child__wait(t, &m.c);
	fx__quit(t, &before);
	root = load_json(t, path);
	json_array_foreach(jget(root, "processes"), i, p) {
		ended += !json_is_true(jget(p, "ended")) ? 0 : json_is_null(jget(p, "members")) ? 1 : ju64(t, p, "members");
		if (strcmp(jstr(p, "exe"), fixture("group")))
			continue;
		if (json_is_true(jget(p, "ended")) && !json_is_null(jget(p, "members"))) {
			must(t, !row, "two rows of what ended");
			row = p;
		} else if (!json_is_true(jget(p, "ended"))) {
			runs = p;
		} else {
			want(t, false, "a process that ended by itself: id %" PRIu64, ju64(t, p, "id"));
		}
	}
	must(t, row && runs, "wanted a row of those that ended, and one of the process that runs");
	want_eq(t, "pid of the one that runs", (uint64_t)before.c.pid, ju64(t, runs, "pid"));
	want(t, json_is_null(jget(row, "pid")), "pid of several, wanted null");
	n = add_ledgers(t, dir, sums, sizeof(sums) / sizeof(*sums), &n_ledgers);
	want_eq(t, "ledgers", 21, n_ledgers);
	want_eq(t, "members", n_ledgers, ju64(t, row, "members"));
	want_eq(t, "ended_members", n_ledgers, ju64(t, row, "ended_members"));
	for (size_t k = 0; k < n; k++)
		for (size_t c = 0; c < sizeof(compared) / sizeof(*compared); c++)
			want_eq(t, sums[k].name, sums[k].v[compared[c].count], site_sum(t, root, row, sums[k].name, compared[c].key));
	json_array_foreach(jget(root, "sites"), i, s)
		if (ju64(t, s, "process") == ju64(t, row, "id")) {
			live_blocks += ju64(t, s, "live_blocks");
			live_bytes += ju64(t, s, "live_bytes");
		}
	want_eq(t, "live blocks of its sites", live_blocks, ju64(t, row, "totals.live_blocks"));
	want_eq(t, "live bytes of its sites", live_bytes, ju64(t, row, "totals.live_bytes"));
	want_eq(t, "allocated less freed", live_bytes, ju64(t, row, "totals.alloc_bytes") - ju64(t, row, "totals.free_bytes"));

	/* and the report tells of as many as the file has */
	line = strstr(m.c.outs.s, "\nended  ");
	must(t, line && sscanf(line, "\nended  %u, held ", &told) == 1, "a line of those that ended, got:\n%.1500s", m.c.outs.s);
	want_eq(t, "processes that ended", ended, told);
	want(t, strstr(m.c.outs.s, "\nmemory "), "a line of the machine's memory, got:\n%.1500s", m.c.outs.s);
	want(t, ju64(t, root, "machine.memory_bytes") > ju64(t, root, "machine.free_bytes"), "the machine's memory");
	json_decref(root);
}
