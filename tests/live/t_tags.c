// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* --tag: whose an allocation is, exact to the block, while it is recorded and afterwards. */
#include "lt.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static json_t *tag_named(struct test *t, json_t *root, const char *name)
{
	json_t *tag;
	size_t i;

	json_array_foreach(jget(root, "tags"), i, tag)
		if (name ? !strcmp(jstr(tag, "name"), name) : json_is_null(jget(tag, "name")))
			return tag;
	must(t, false, "tag %s, wanted, got none", name ? name : "without a name");
	return NULL;
}

static uint64_t note(struct test *t, const struct fx *f, const char *owner, const char *what)
{
	char key[32];

	snprintf(key, sizeof(key), "%s_%s", owner, what);
	return ledger__note(t, &f->led, key);
}

/* name NULL: what has no tag; owners are the ledger's, up to two of them */
static void want_tag(struct test *t, json_t *root, const struct fx *f, const char *name, const char *owner, const char *also)
{
	static const struct {
		const char *key, *note;
	} rows[] = { { "alloc_calls", "allocs" }, { "alloc_bytes", "bytes" }, { "live_bytes", "kept" } };
	json_t *tag = tag_named(t, root, name);

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t n = note(t, f, owner, rows[i].note) + (also ? note(t, f, also, rows[i].note) : 0);
		char what[96];

		snprintf(what, sizeof(what), "%s of tag %s", rows[i].key, name ? name : "(none)");
		want_eq(t, what, n, ju64(t, tag, rows[i].key));
	}
}

/* The sites that name a tag add up to it. */
static void want_sites(struct test *t, json_t *root)
{
	json_t *tag, *site;
	size_t i, k;

	json_array_foreach(jget(root, "tags"), i, tag) {
		uint64_t bytes = 0, n = 0;

		json_array_foreach(jget(root, "sites"), k, site)
			if (json_equal(jget(site, "tag"), jget(tag, "name"))) {
				bytes += ju64(t, site, "alloc_bytes");
				n++;
			}
		want_eq(t, "bytes of a tag's sites", ju64(t, tag, "alloc_bytes"), bytes);
		want_eq(t, "sites of a tag", ju64(t, tag, "sites"), n);
	}
}

static void functions(struct test *t, const char *name, const char *method)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, name, "400", NULL);
	root = trace(t, &f, 0, "--tag", "handle_get", "--tag", "handle_put", "--tag", "parse_inline", "--unwind", method, NULL);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ONLY | LED_TEMP);
	want_tag(t, root, &f, "handle_get", "get", NULL);
	want_tag(t, root, &f, "handle_put", "put", NULL);
	want_tag(t, root, &f, "parse_inline", "inlined", NULL);
	want_tag(t, root, &f, NULL, "nobody", NULL);
	want_sites(t, root);
	want_u64(t, tag_named(t, root, "handle_get"), "entered", note(t, &f, "get", "calls"));
	want_u64(t, tag_named(t, root, "handle_put"), "entered", note(t, &f, "put", "calls"));
	want(t, json_is_null(jget(tag_named(t, root, "parse_inline"), "entered")), "calls of an inlined function, wanted null");
	fx__quit(t, &f);
}

TEST(tags_functions) { functions(t, "tags", "auto"); }
TEST(tags_functions_nofp) { functions(t, "tags.nofp", "table"); }

/* A function that begins nowhere: --within finds it as --tag does. */
TEST(tags_within_inlined_everywhere)
{
	struct fx f;
	json_t *root;

	fx__start(t, &f, "tags", "100", NULL);
	root = trace(t, &f, 0, "--within", "parse_inline", NULL);
	want_u64(t, root, "totals.alloc_calls", note(t, &f, "inlined", "allocs"));
	want_u64(t, root, "totals.alloc_bytes", note(t, &f, "inlined", "bytes"));
	want_u64(t, root, "totals.live_bytes", note(t, &f, "inlined", "kept"));
	fx__quit(t, &f);
}

/* A slip of a finger fails at the start; a function that is inlined everywhere is none. */
TEST(tags_not_found)
{
	const char *pid;
	struct fx f;
	struct mt m;

	fx__start(t, &f, "tags", "10", NULL);
	pid = pid_arg(f.c.pid);
	want_eq(t, "exit status", 1, mt__run(t, &m, "-p", pid, "-d", "1", "--tag", "handle_gte", NULL));
	want(t, strstr(m.c.errs.s, "--tag handle_gte: no such function"), "that there is none, wanted in: %s", m.c.errs.s);
	want_eq(t, "exit status", 1, mt__run(t, &m, "-p", pid, "-d", "1", "--tag", "parse_inlin", NULL));
	want_eq(t, "exit status with what is inlined", 0, mt__run(t, &m, "-p", pid, "-d", "100ms", "--tag", "parse_inline", NULL));
	want_eq(t, "exit status of what is inlined elsewhere", 1, mt__run(t, &m, "-p", pid, "-d", "1", "--tag", "libc.so.6:parse_inline", NULL));
	/* later files are not known yet, so the end says it */
	want_eq(t, "exit status of a command", 0, mt__run(t, &m, "--tag", "no_such_thing", "--", "/bin/true", NULL));
	want(t, strstr(m.c.errs.s, "--tag no_such_thing: no stack of the trace has such a function"), "that there is none, wanted in: %s",
	     m.c.errs.s);
	fx__quit(t, &f);
}

/* A profile that was recorded without tags gets them, and others than it has; and keeps those it has. */
TEST(tags_of_a_saved_profile)
{
	const char *plain = in_dir(t, "plain.json"), *tagged = in_dir(t, "tagged.json");
	struct fx f;
	struct mt m, r;
	json_t *root;

	fx__start(t, &f, "tags", "200", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", plain, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, plain);
	want(t, !jget(root, "tags"), "tags without --tag, wanted none");
	want_eq(t, "exit", 0, mt__run(t, &r, "report", plain, "--tag", "tags:handle_get", "--tag", "handle_put", "-o", tagged, "-q", NULL));
	root = load_json(t, tagged);
	want_invariants(t, root);
	want_tag(t, root, &f, "tags:handle_get", "get", NULL);
	want_tag(t, root, &f, "handle_put", "put", NULL);
	want_tag(t, root, &f, NULL, "nobody", "inlined");
	want(t, json_is_null(jget(tag_named(t, root, "handle_put"), "entered")), "calls of a function that was not probed, wanted null");
	/* the view comes by itself, before what is live */
	want_eq(t, "exit", 0, mt__run(t, &r, "report", tagged, NULL));
	want(t, strstr(r.c.outs.s, "\nTAGS by live bytes (2 tags, ") && strstr(r.c.outs.s, "\nLIVE") > strstr(r.c.outs.s, "\nTAGS"),
	     "tags, then live, wanted, got\n%s", r.c.outs.s);
	want_eq(t, "exit", 0, mt__run(t, &r, "report", tagged, "--view", "tags", "--tag", "libc.so:handle_get", NULL));
	want(t, strstr(r.c.outs.s, "TAGS by live bytes (1 tag, 0% of bytes)"), "another binary's function, wanted nothing in it, got\n%s",
	     r.c.outs.s);
	want_eq(t, "exit without threads", 1, mt__run(t, &r, "report", plain, "--tag", "thread", NULL));
	want(t, strstr(r.c.errs.s, "--tag thread: the trace did not separate threads"), "why not, wanted, got\n%s", r.c.errs.s);
	fx__quit(t, &f);
}

/* What no function owns is the thread's; threads whose names differ in numbers are one. */
TEST(tags_threads)
{
	struct fx f;
	json_t *root, *workers, *io;
	uint64_t bytes;

	fx__start(t, &f, "tags", "300", "threads", NULL);
	root = trace(t, &f, 0, "--tag", "handle_get", "--tag", "handle_put", "--tag", "thread", NULL);
	want_tag(t, root, &f, "handle_get", "get", NULL);
	want_tag(t, root, &f, "handle_put", "put", NULL);
	want_u64(t, tag_named(t, root, "handle_get"), "entered", note(t, &f, "get", "calls"));
	workers = tag_named(t, root, "worker-*");
	io = tag_named(t, root, "io");
	want_bool(t, workers, "thread", true);
	bytes = note(t, &f, "nobody", "bytes") + note(t, &f, "inlined", "bytes");
	want_eq(t, "bytes of three of four threads", bytes / 4 * 3, ju64(t, workers, "alloc_bytes"));
	want_eq(t, "bytes of the fourth", bytes / 4, ju64(t, io, "alloc_bytes"));
	/* pthread_create is called by the first thread */
	want(t, ju64(t, tag_named(t, root, "tags"), "alloc_calls") > 0, "what the first thread allocated, wanted as a tag");
	want_sites(t, root);
	fx__quit(t, &f);
}

/* What a thread allocated under a name belongs to that name: as a tag, and in the table of threads. */
static void renamed(struct test *t, const char *how, const char *option, const char *value)
{
	static const char *const names[] = { "loading", "serving", "closing" };
	bool tags = !strcmp(value, "thread") && !strcmp(option, "--tag");
	struct fx f;
	json_t *root, *thread;
	size_t i;

	fx__start(t, &f, "tags", "100", how, NULL);
	root = trace(t, &f, 0, option, value, NULL);
	want_u64(t, root, "edges.renamed_unkept", 0);
	for (unsigned int k = 0; k < 3; k++) {
		uint64_t n = ledger__note(t, &f.led, names[k]), calls = 0, of_sites = 0;
		json_t *site;

		if (tags)
			want_u64(t, tag_named(t, root, names[k]), "alloc_calls", n);
		json_array_foreach(jget(root, "processes[0].threads"), i, thread)
			calls += strcmp(jstr(thread, "comm"), names[k]) ? 0 : ju64(t, thread, "totals.alloc_calls");
		want_eq(t, names[k], n, calls);
		json_array_foreach(jget(root, "sites"), i, site)
			if (json_is_string(jget(site, "thread")) && !strcmp(jstr(site, "thread"), names[k]))
				of_sites += ju64(t, site, "alloc_calls");
		want_eq(t, "calls of its sites", strcmp(value, "thread") ? 0 : n, of_sites);
	}
	fx__quit(t, &f);
}

TEST(tags_renamed_thread) { renamed(t, "renamed", "--tag", "thread"); }
TEST(tags_renamed_thread_stays) { renamed(t, "renamed-stays", "--tag", "thread"); }
TEST(tags_renamed_by_thread) { renamed(t, "renamed-stays", "--by", "thread"); }
TEST(tags_renamed_in_count) { renamed(t, "renamed", "--mode", "count"); }
TEST(tags_renamed_view) { renamed(t, "renamed-stays", "--view", "threads"); }

/* Tags of a process and of the child that it forks, at the instant of a mark that either of them calls. */
TEST(tags_at_marks_of_children)
{
	enum { N = 10 };
	unsigned int n_whole = 0, n_of_child = 0;
	json_t *root, *mark;
	struct fx f;
	struct mt m;
	size_t i;

	fx__start(t, &f, "tags", "60", "marks", NULL);
	mt__start(t, &m, "-f", "-p", pid_arg(f.c.pid), "-o", in_dir(t, "m.json"), "--tag", "handle_get", "--tag", "handle_put", "--mark",
		  "marked_here", NULL);
	mt__wait_attached(t, &m);
	for (unsigned int n = 1; n <= N; n++) {
		char line[64];

		fx__go(t, &f);
		snprintf(line, sizeof(line), "mark marked_here #%u", n);
		child__wait_err(t, &m.c, "malloctrace: mark", line, patience_s(20));
		root = load_json(t, in_dir(t, "m.%u.json", n));
		want_invariants(t, root);
		want_lossless(t, root);
		want_sites(t, root);
		/* once in a while a mark comes while another cut is taken */
		if (strstr(jstr(root, "trigger"), "later"))
			continue;
		n_whole++;
		want_eq(t, "processes", 2, json_array_size(jget(root, "processes")));
		want_tag(t, root, &f, "handle_get", "get", NULL);
		want_tag(t, root, &f, "handle_put", "put", NULL);
		want_tag(t, root, &f, NULL, "nobody", "inlined");
		want_u64(t, tag_named(t, root, "handle_get"), "entered", note(t, &f, "get", "calls"));
		want_u64(t, tag_named(t, root, "handle_put"), "entered", note(t, &f, "put", "calls"));
	}
	want(t, n_whole > 0, "marks with a snapshot of their own instant, wanted some");
	mt__stop(t, &m, SIGINT, 0);
	root = load_json(t, in_dir(t, "m.json"));
	want_u64(t, root, "marks_seen", N);
	json_array_foreach(jget(root, "marks"), i, mark)
		n_of_child += ju64(t, mark, "tid") != (uint64_t)f.c.pid;
	want_eq(t, "marks of the child", N / 2, n_of_child);
	fx__quit(t, &f);
}
