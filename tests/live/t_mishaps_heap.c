// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Faults on purpose where each run is another one: `malloctrace heap` of a program at rest. As in t_mishaps.c, what is shown with
 * status 0 is what there is, and all else is said in words.
 */
#include "mishap.h"

#include <inttypes.h>
#include <string.h>

#define SOME_LOOKS 8

/* When and how it was looked: of a program that does nothing, all else is the same each time. Where registers are not told, it is stopped for them. */
static const char *const ways[] = { "wall_now", "started", "age_at_attach_ns", "paused_ns", "looked_ns", "registers", "root_bytes", "scans", NULL };
/* Who it is, as far as the kernel tells. */
static const char *const descriptions[] = { "comm", "exe", "cgroup", "container", "unit", "container_pid", NULL };
/* What has names of a file, which may be missing if it is said that it could not be read. */
static const char *const named[] = { "parts", "types", NULL };
/* What changes as the program runs. */
static const char *const resident[] = { "rss_bytes", "page_table_bytes", "resident_bytes", "parts", "types", NULL };

static bool is_in(const char *const *list, const char *key)
{
	while (*list && strcmp(*list, key))
		list++;
	return *list;
}

/* Where two of them differ, and how; false: nowhere. */
static bool differ(json_t *a, json_t *b, const char *const *without, char *where, size_t room)
{
	size_t n = strlen(where), i;
	json_t *value, *theirs;
	const char *key;

	if (json_is_object(a) && json_is_object(b)) {
		json_object_foreach(a, key, value) {
			snprintf(where + n, room - n, ".%s", key);
			if (is_in(ways, key) || is_in(descriptions, key) || is_in(without, key))
				continue;
			if ((theirs = json_object_get(b, key)) == NULL || differ(value, theirs, without, where, room))
				return true;
		}
		where[n] = 0;
		return json_object_size(a) != json_object_size(b);
	}
	if (json_is_array(a) && json_is_array(b)) {
		json_array_foreach(a, i, value) {
			snprintf(where + n, room - n, "[%zu]", i);
			if (differ(value, json_array_get(b, i), without, where, room))
				return true;
		}
		where[n] = 0;
		return json_array_size(a) != json_array_size(b);
	}
	if (json_equal(a, b))
		return false;
	snprintf(where + n, room - n, ": %.400s, wanted %.400s", json_dumps(b, JSON_COMPACT | JSON_ENCODE_ANY) ?: "nothing",
		 json_dumps(a, JSON_COMPACT | JSON_ENCODE_ANY) ?: "nothing");
	return true;
}

struct heap_look {
	int status;
	json_t *root;
	char *said;
};

static struct heap_look look_once(struct test *t, struct mishap *m, enum mishap_kind kind, pid_t pid, uint64_t at)
{
	struct spawn how = { .argv = { lt_bin, "heap", "-p", pid_arg(pid), "--reachable", "--json" } };
	struct heap_look l;
	struct mt mt;

	mishap__ask(t, m, at, false);
	mishap__prepare(t, m, kind, &how);
	mt__start_v(t, &mt, &how);
	mishap__begun();
	l.status = child__wait(t, &mt.c);
	mishap__has_been(t, m);
	l.root = json_loads(mt.c.outs.s, 0, NULL);
	l.said = mt.c.errs.s;
	free(mt.c.outs.s);
	return l;
}

static void heap_look__done(struct heap_look *l)
{
	json_decref(l->root);
	free(l->said);
}

static uint64_t rss_of(struct test *t, const struct heap_look *l)
{
	return ju64(t, l->root, "heap[0].rss_bytes");
}

static uint64_t resident_in_parts(json_t *root)
{
	uint64_t sum = 0;
	json_t *part;
	size_t i;

	json_array_foreach(jget(root, "heap[0].parts"), i, part)
		sum += (uint64_t)json_integer_value(json_object_get(part, "resident_bytes"));
	return sum;
}

/*
 * Resident pages come and go while a program does nothing: a stop, which some faults lead to, makes it run for a moment, and whoever
 * probes libc meanwhile changes pages of it. All of them are some part's.
 */
static bool differ_from(struct test *t, const struct heap_look *wanted, const struct heap_look *got, char *where, size_t room)
{
	static const char *const nothing[] = { NULL };
	bool moved = rss_of(t, wanted) != rss_of(t, got), unnamed = strstr(got->said, "could not be read");

	where[0] = 0;
	want_eq(t, "resident bytes of all parts", rss_of(t, got), resident_in_parts(got->root));
	return differ(wanted->root, got->root, moved ? resident : unnamed ? named : nothing, where, room);
}

struct looks {
	struct mishap *m;
	enum mishap_kind kind;
	struct fx f;
	struct heap_look wanted;
};

static void fail_once(struct test *t, struct looks *l, uint64_t at)
{
	struct heap_look got = look_once(t, l->m, l->kind, l->f.c.pid, at);
	bool failed = l->m->n_failed;
	char where[2048] = "";

	if (failed)
		want(t, got.status < 124 && (!got.status || strstr(got.said, "malloctrace: ")), "status %d, stderr: %.600s", got.status, got.said);
	if (failed && !got.status)
		want(t, !differ_from(t, &l->wanted, &got, where, sizeof(where)), "status 0, and another heap, at %s; stderr: %.300s", where, got.said);
	want_state(t, l->f.c.pid, 'S');
	heap_look__done(&got);
}

static void every_look(struct test *t, enum mishap_kind kind)
{
	struct looks l = { .m = mishap__new(t), .kind = kind };
	struct walk w;

	fx__start(t, &l.f, "kept", NULL);
	fx__go(t, &l.f);
	l.wanted = look_once(t, l.m, kind, l.f.c.pid, 0);
	must(t, !l.wanted.status && l.wanted.root, "no look without a fault: %d, %s", l.wanted.status, l.wanted.said);
	must(t, l.m->n_calls > 0, "no call was counted");
	want_u64(t, l.wanted.root, "heap[0].unreached.blocks", 10);
	w = mishap__walk(l.m, SOME_LOOKS);
	do
		fail_once(t, &l, w.at);
	while (walk__next(&w, l.m));
	walk__tell(&w, "heap", kind);
	heap_look__done(&l.wanted);
	fx__quit(t, &l.f);
}

TEST(mishaps_heap_files) { every_look(t, MISHAP_FILES); }
TEST(mishaps_heap_kernel) { every_look(t, MISHAP_KERNEL); }
TEST(mishaps_heap_writes) { every_look(t, MISHAP_WRITES); }
TEST(mishaps_heap_others) { every_look(t, MISHAP_OTHERS); }
