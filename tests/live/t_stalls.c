// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What stands still, and what is full: nothing is counted wrong, no file is half. */
#include "lt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STALL_MS 30000	/* how long is what is tried */
#define OLD "what was there before"

/* malloctrace stands still while its target works, or its target does in the midst of its work. */
static void stall(struct test *t, bool target)
{
	struct fx f;
	struct mt m;
	json_t *root;

	fx__start(t, &f, "basic", "family", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	if (target)
		kill(f.c.pid, SIGSTOP);
	else
		child__kill(t, &m.c, SIGSTOP);
	fx__send(t, &f, 'g');
	poll(NULL, 0, STALL_MS);
	kill(target ? f.c.pid : m.c.pid, SIGCONT);
	fx__read_ledger(t, &f);
	root = mt__stop_json(t, &m, SIGINT, 0);
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want(t, ju64(t, root, "duration_ns") >= STALL_MS * 1000000ull, "duration_ns, wanted half a minute and more");
	want_unprobed(t, f.c.pid);
	fx__quit(t, &f);
}

/* The wall clock is set, by hours, at each reading of it: figures, durations and ages go by another one. */
static void set_clock(struct test *t, const char *step)
{
	static char preload[4200];
	struct spawn how = { .argv = { lt_bin, "-p", NULL, "--json", "-d", "2s" }, .env = { preload, step } };
	time_t began = time(NULL);
	struct tm wall = {};
	json_t *root;
	struct fx f;
	struct mt m;

	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", fixture("libclock.so"));
	fx__start(t, &f, "basic", "family", NULL);
	how.argv[2] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &how);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	root = mt__stop_json(t, &m, 0, 0);
	must(t, strptime(jstr(root, "wall_now"), "%FT%T", &wall), "wall_now: '%s'", jstr(root, "wall_now"));
	want(t, labs(timegm(&wall) - began) > 1000, "wall_now, wanted one of its steps, got %s", jstr(root, "wall_now"));
	want_lossless(t, root);
	want_ledger(t, root, process_of(t, root, f.c.pid, 0), &f.led, LED_ALL);
	want(t, ju64(t, root, "duration_ns") / 1000000000 <= (uint64_t)(time(NULL) - began) + 1, "duration_ns, wanted no more than has passed, got %llu",
	     (unsigned long long)ju64(t, root, "duration_ns"));
	want(t, ju64(t, root, "processes[0].age_at_attach_ns") / 1000000000 <= (uint64_t)(time(NULL) - began) + 1, "age_at_attach_ns, wanted no more than has passed, got %llu",
	     (unsigned long long)ju64(t, root, "processes[0].age_at_attach_ns"));
	json_decref(root);
	want_unprobed(t, f.c.pid);
	fx__quit(t, &f);
}

TEST(clock_is_put_forward) { set_clock(t, "CLOCK_STEP=10000"); }
TEST(clock_is_put_back) { set_clock(t, "CLOCK_STEP=-10000"); }

TEST(stalls_malloctrace) { stall(t, false); }
TEST(stalls_target) { stall(t, true); }

/* A disk of some pages: each format is refused in words, and what was there is as it was. */
TEST(disk_full)
{
	static const char *const suffixes[] = { ".txt", ".json", ".html", ".folded", ".pb.gz", ".speedscope.json", ".dhat.json", ".massif", ".callgrind", ".dot" };
	const char *disk = in_dir(t, "disk"), *profile = in_dir(t, "x.json");
	struct fx f;
	struct mt m;

	must(t, !mkdir(disk, 0700), "mkdir: %s", strerror(errno));
	if (mount("none", disk, "tmpfs", 0, "size=64k"))
		skip(t, "no file system can be mounted: %s", strerror(errno));
	fx__start(t, &f, "basic", "stacks", "2000", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "-o", profile, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	fx__quit(t, &f);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
		const char *out = in_dir(t, "disk/out%s", suffixes[i]), *filler = in_dir(t, "disk/filler");
		FILE *old = fopen(out, "w"), *fill = fopen(filler, "w");
		char *is;

		must(t, old && fill && fputs(OLD, old) >= 0 && !fclose(old), "no file: %s", strerror(errno));
		while (fputc('x', fill) != EOF)
			;
		fclose(fill);
		want_eq(t, suffixes[i], 1, (uint64_t)mt__run(t, &m, "report", profile, "-q", "-o", out, NULL));
		want(t, strstr(m.c.errs.s, strerror(ENOSPC)) != NULL, "%s: why, wanted, got: %s", suffixes[i], m.c.errs.s);
		is = read_all(out, NULL);
		want(t, is && !strcmp(is, OLD), "%s: the old file, wanted, got: %.100s", suffixes[i], is ?: "none");
		free(is);
		unlink(out);
		unlink(filler);
	}
	want(t, !rmdir(disk) || errno == EBUSY, "the disk");
	must(t, !umount(disk) && !rmdir(disk), "umount: %s", strerror(errno));
}
