// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Languages with memory of their own: what is not seen is said once, wherever somebody looks. */
#include "lt.h"

#include <signal.h>
#include <string.h>

/* A program that goes by the name of an interpreter is taken for one. */
TEST(runtime_is_named)
{
	const char *program = in_dir(t, "python3.99");
	struct fx f;
	struct mt m;
	json_t *root;

	copy_file(t, fixture("basic"), program);
	fx__start_as(t, &f, &(struct spawn){ .argv = { program, "leak", "300" } });
	mt__start(t, &m, "doctor", "-p", pid_arg(f.c.pid), NULL);
	want_eq(t, "doctor: exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, strstr(m.c.outs.s, "\n  python     seen: objects larger than 512 bytes") != NULL, "doctor: %.900s", m.c.outs.s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", in_dir(t, "heap.json"), NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	child__kill(t, &m.c, SIGINT);
	want_eq(t, "exit status", 0, (uint64_t)child__wait(t, &m.c));
	/* it made no arenas */
	want(t, !strstr(m.c.outs.s, "[arenas]") && !strstr(m.c.outs.s, "\npython "), "stdout: %.900s", m.c.outs.s);
	root = load_json(t, in_dir(t, "heap.json"));
	want(t, !strcmp(jstr(process_of(t, root, f.c.pid, 0), "runtime"), "python"), "runtime, wanted python");
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	mt__start(t, &m, "report", in_dir(t, "heap.json"), NULL);
	want_eq(t, "report: exit status", 0, (uint64_t)child__wait(t, &m.c));
	want(t, !strstr(m.c.outs.s, "[arenas]") && !strstr(m.c.outs.s, "\npython "), "report: %.900s", m.c.outs.s);
	fx__quit(t, &f);
}

/* In every kind of file that has room for words. */
TEST(runtime_in_files)
{
	static const char *const files[] = { "x.html", "x.dot", "x.callgrind", "x.massif", "x.dhat.json", "x.speedscope.json", "x.pb.gz" };
	const char *program = in_dir(t, "python3.99"), *saved = in_dir(t, "heap.json");
	struct fx f;
	struct mt m;

	copy_file(t, fixture("basic"), program);
	fx__start_as(t, &f, &(struct spawn){ .argv = { program, "leak", "300" } });
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", saved, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		const char *path = in_dir(t, "%s", files[i]), *reader = strstr(path, ".gz") ? "zcat" : "cat";
		struct child c;

		want_eq(t, "exit", 0, (uint64_t)mt__run(t, &m, "report", saved, "-o", path, "-q", NULL));
		child__start(t, &c, &(struct spawn){ .argv = { reader, path } });
		child__wait(t, &c);
		must(t, c.outs.n, "%s is empty: %.200s", path, c.errs.s);
		want(t, memmem(c.outs.s, c.outs.n, "not seen: objects of up to 512 bytes", 36) != NULL, "%s, wanted to say what is not seen", files[i]);
	}
	fx__quit(t, &f);
}

/* What has no such language says nothing of one. */
TEST(runtime_of_none)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "leak", "300", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want(t, !json_object_get(process_of(t, root, f.c.pid, 0), "runtime"), "runtime, wanted none");
	fx__quit(t, &f);
}

/* Its objects do not come from any function that could be probed: what to do instead is said. */
TEST(runtime_without_allocator)
{
	struct fx f;
	struct mt m;

	fx__start(t, &f, "nolibc.go", NULL);
	want_eq(t, "exit status", 1, (uint64_t)mt__run(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL));
	want(t, strstr(m.c.errs.s, "it is a Go program, and malloctrace does not see Go objects") && strstr(m.c.errs.s, "--mode growth"), "stderr: %s", m.c.errs.s);
	fx__quit(t, &f);
}
