// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Which instructions the kernel carries out itself, with what result, and whether that is cheaper. entry.c in
 * user/probe/ relies on it.
 */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../fixtures/emulated_cases.h"

#define NAME(name, body) "free=F_" #name,
static const char *const syms[] = { EMULATED_CASES(NAME) "free=F_stepped" };
#define N_SYMS (sizeof(syms) / sizeof(*syms))

static void with_syms(struct spawn *s, size_t at)
{
	for (size_t i = 0; i < N_SYMS; i++) {
		s->argv[at++] = "--sym";
		s->argv[at++] = syms[i];
	}
}

/* The very instruction is chosen; without this the comparison would be one of nothing. */
static void want_chosen(struct test *t)
{
	struct spawn s = { .argv = { lt_bin, "doctor", "-v", "-O", fixture("emulated") }, .plain_out = true };
	struct child c;
	char *line, *save;
	size_t n = 0;

	with_syms(&s, 5);
	child__start(t, &c, &s);
	child__wait(t, &c);
	for (line = strtok_r(c.outs.s, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char name[64], how[64];

		if (sscanf(line, " F_%63s %63s", name, how) != 2)
			continue;
		n++;
		want(t, (how[0] == '+') == !!strcmp(name, "stepped"), "point of F_%s: %s", name, line);
	}
	want_eq(t, "functions in doctor's list", N_SYMS, n);
}

TEST(emulated_like_the_processor)
{
	struct fx f;
	struct mt m;
	struct spawn s = { .argv = { lt_bin, NULL, NULL, "--json", "-O", fixture("emulated") } };
	json_t *root;

	want_chosen(t);
	fx__start(t, &f, "emulated", NULL);
	s.argv[1] = "-p";
	s.argv[2] = pid_arg(f.c.pid);
	with_syms(&s, 6);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	for (unsigned int i = 0; i < f.led.n_notes; i++)
		if (!strstr("wrong calls stepping_after", f.led.note[i].key))
			want(t, false, "%s: %llu results differ from the processor's", f.led.note[i].key,
			     (unsigned long long)f.led.note[i].v);
	want_eq(t, "results that differ", 0, ledger__note(t, &f.led, "wrong"));
	want_eq(t, "single steps", 0, ledger__note(t, &f.led, "stepping"));
	want_eq(t, "a single step is noticed", 1, ledger__note(t, &f.led, "stepping_after"));
	/* each call was seen, and once: as a free of what nobody allocated */
	want_u64(t, root, "totals.unknown_frees", ledger__note(t, &f.led, "calls") + 1);
	fx__quit(t, &f);
}

/* The ratio is about 1 : 2; less than 1 : 1.2 would make the choice of points pointless. */
TEST_ALONE(emulated_is_cheaper)
{
	struct fx f;
	struct mt m;
	struct spawn s = { .argv = { lt_bin, "-p", NULL, "--json", "-O", fixture("emulated"), "--sym", syms[0], "--sym", "free=F_stepped", "--sym",
				     "malloc=F_block", "--min-size", "100T" } };
	uint64_t emulated, stepped, returning;

	fx__start(t, &f, "emulated", "time", lt_scale_pct < 100 ? "500" : "5000", NULL);
	s.argv[2] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop_json(t, &m, SIGINT, 0);
	emulated = ledger__note(t, &f.led, "emulated_ns");
	stepped = ledger__note(t, &f.led, "stepped_ns");
	returning = ledger__note(t, &f.led, "returning_ns");
	printf("# ns of CPU time per call: emulated entry %llu, stepped entry %llu, entry and return %llu\n", (unsigned long long)emulated,
	       (unsigned long long)stepped, (unsigned long long)returning);
	want(t, stepped * 5 > emulated * 6, "a stepped entry takes %llu ns, an emulated one %llu", (unsigned long long)stepped,
	     (unsigned long long)emulated);
	fx__quit(t, &f);
}
