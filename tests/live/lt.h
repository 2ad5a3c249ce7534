/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What live tests are written with. A test runs in a process of its own, with
 * a directory of its own; whatever it starts dies with it. A check that fails
 * is told and the test goes on; must_ functions end the test.
 */
#ifndef LT_H
#define LT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct test {			/* in memory shared with its keeper */
	const char *name;
	char dir[128];		/* an empty directory, removed after the test */
	unsigned int n_checks, n_failed;
	unsigned int n_told;	/* failed checks, since about() */
	char about[1024];
	char skip[256];
};

struct test_def {
	const char *name;
	void (*run)(struct test *t);
	unsigned int limit_s;	/* if more than the usual one */
	bool alone;
	const char *file;
	int line;
};

/*
 * Tests run side by side. TEST_ALONE is for those that would disturb others or be disturbed: they trace everybody, or whoever
 * has a fixture's name; they measure time or memory; they change what all share, such as a file that others run from; they want
 * malloctrace to be in time, as for code that is called as soon as it is loaded.
 */
#define TEST(id) TEST_AS(id, .alone = false)
#define TEST_ALONE(id) TEST_AS(id, .alone = true)
#define TEST_LIMIT(id, seconds) TEST_AS(id, .limit_s = seconds)
#define TEST_AS(id, ...)										\
	static void test_##id(struct test *t);							\
	static struct test_def def_##id = { .name = #id, .run = test_##id, .file = __FILE__, .line = __LINE__, __VA_ARGS__ };	\
	static struct test_def *defp_##id __attribute__((section("lt_tests"), used)) = &def_##id;	\
	static void test_##id(struct test *t)

/* set by the command line */
extern const char *lt_bin, *lt_fixtures;
extern unsigned int lt_scale_pct;

uint64_t scaled(uint64_t n);	/* n at --scale, at least 1 */
/* How long to wait for what has to come: s, and as long as the test has. Only what hangs is to fail of it. */
unsigned int patience_s(unsigned int s);

/* ---- checks */
#define LT_PRINTF(a, b) __attribute__((format(printf, a, b)))
bool want(struct test *t, bool ok, const char *fmt, ...) LT_PRINTF(3, 4);
void must(struct test *t, bool ok, const char *fmt, ...) LT_PRINTF(3, 4);
/* Of a test that is many: what the next checks are of. A failed one begins with it, and as many are told of each. "": all of the test. */
void about(struct test *t, const char *fmt, ...) LT_PRINTF(2, 3);
_Noreturn void skip(struct test *t, const char *fmt, ...) LT_PRINTF(2, 3);
bool want_eq(struct test *t, const char *what, uint64_t wanted, uint64_t got);

/* ---- processes */
struct text {
	char *s;		/* zero-terminated, never NULL once read */
	size_t n, room;
};

struct spawn {
	const char *argv[192];
	const char *env[4];	/* NAME=VALUE, on top of the runner's own */
	const char *root;	/* chroot */
	uid_t uid;		/* 0: as the runner */
	int (*become)(const void *arg);	/* in the child, last before exec; not 0: it cannot be done */
	const void *become_arg;
	bool no_aslr;
	bool plain_out;		/* standard output is a file to be read at the end, not a pipe */
};

struct child {
	pid_t pid;
	int in, out, err;	/* -1: not ours */
	bool reaped;
	int status;		/* as of waitpid */
	struct text outs, errs;
	size_t err_seen;	/* up to here errs was searched */
};

/* Of /proc/PID/stat; waits for it: on the way into a state a process runs for an instant. */
char state_of(pid_t pid);	/* 0: there is no such process */
void want_state(struct test *t, pid_t pid, char state);
void child__start(struct test *t, struct child *c, const struct spawn *s);
/* Reads up to and including the next line that starts with prefix (or, from errs, also holds also): lines before it are passed over. */
void child__wait_err(struct test *t, struct child *c, const char *prefix, const char *also, unsigned int limit_s);
void child__drain(struct child *c);	/* takes what it has said by now */
/* Such a line anywhere behind `from`, for lines whose order nobody knows; nothing is passed over. Returns where it ends. */
size_t child__see_err(struct test *t, struct child *c, size_t from, const char *prefix, const char *also, unsigned int limit_s);
void child__wait_out(struct test *t, struct child *c, const char *text, unsigned int times);	/* until a pipe has brought it so often */
int child__wait(struct test *t, struct child *c);	/* all output, then the exit status, 128+N for a signal */
int child__wait_for(struct test *t, struct child *c, unsigned int limit_s);
void child__kill(struct test *t, struct child *c, int sig);

/* ---- fixtures */
#define LED_MAX_SITES 64

enum led_count {
	LED_ALLOC_CALLS, LED_ALLOC_BYTES, LED_FREE_CALLS, LED_FREE_BYTES, LED_REALLOC_CALLS, LED_TEMP_CALLS, LED_FAILED_CALLS,
	LED_PEAK_BYTES, LED_AT_PEAK_BYTES, LED_MIN_SIZE, LED_MAX_SIZE, LED_N
};

struct led_site {
	char name[64], func[64];
	uint64_t v[LED_N];
};

struct ledger {
	struct led_site site[LED_MAX_SITES];
	unsigned int n;
	uint64_t peak_bytes, unknown_frees;
	bool one_thread;
	struct {
		char key[32];
		uint64_t v;
	} note[192];
	unsigned int n_notes;
};

struct fx {
	struct child c;
	struct ledger led;
};

const char *fixture(const char *name);	/* its path; valid until the next eight calls */
bool fixture_there(const char *name);
/* Starts a fixture and waits until it is ready. Arguments end with NULL. */
void fx__start(struct test *t, struct fx *f, const char *name, ...);
void fx__start_as(struct test *t, struct fx *f, struct spawn *s);
/* With another allocator, NULL: with none; skips the test if it is not on this machine. */
void fx__start_preloaded(struct test *t, struct fx *f, const char *library, const char *name, const char *what);
void fx__wait_ready(struct test *t, struct fx *f);
void fx__line(struct test *t, struct fx *f, char *line, size_t size);	/* the next one that it says */
void fx__wait_line(struct test *t, struct fx *f, const char *wanted);
void fx__send(struct test *t, struct fx *f, char c);
void fx__go(struct test *t, struct fx *f);		/* lets it work, then reads its ledger */
void fx__read_ledger(struct test *t, struct fx *f);
void fx__quit(struct test *t, struct fx *f);		/* it must end with 0 */
bool ledger__parse(struct ledger *l, const char *text);
uint64_t ledger__note(struct test *t, const struct ledger *l, const char *key);
uint64_t ledger__sum(const struct ledger *l, enum led_count which);
const struct led_site *ledger__site(struct test *t, const struct ledger *l, const char *name);

/* ---- malloctrace */
struct mt {
	struct child c;
};

/* Arguments end with NULL; "PID" formats need a buffer: see pid_arg(). */
void mt__start(struct test *t, struct mt *m, const char *arg, ...);
void mt__start_v(struct test *t, struct mt *m, struct spawn *s);
void mt__wait_attached(struct test *t, struct mt *m);
/* Ends the trace (sig 0: waits for it to end by itself); the exit status must be as wanted. */
void mt__stop(struct test *t, struct mt *m, int sig, int want_exit);
/* The same, and its standard output as JSON with all invariants checked. */
json_t *mt__stop_json(struct test *t, struct mt *m, int sig, int want_exit);
const char *pid_arg(pid_t pid);
const char *number_arg(uint64_t n);	/* holds for some calls more */
/* Runs to its end without being told, e.g. bad input: returns the exit status. */
int mt__run(struct test *t, struct mt *m, const char *arg, ...);

/*
 * A trace that ends by itself has to last until the fixture's work is done, which takes as long as the machine pleases:
 *
 *	do {
 *		period__begin(&p);
 *		(start, wait for the attachment, work)
 *		period__worked(&p);
 *		(end)
 *	} while (period__was_short(&p));
 *
 * Where the work might have come too late, all is done once more with twice the seconds.
 */
struct period {
	double s;		/* how long the trace lasts: what the test begins with, in quiet */
	uint64_t begun_ms;
	bool short_;
};
void period__begin(struct period *p);
void period__worked(struct period *p);
bool period__was_short(struct period *p);
const char *period__arg(const struct period *p, unsigned int n);	/* a part of it, as an argument; valid until the next four calls */

/*
 * The whole of most tests: attach with --json and the extra
 * arguments, let the fixture work, stop, check the invariants, that nothing
 * was lost (if want_exit is 0), and that a scan gives the same.
 */
json_t *trace(struct test *t, struct fx *f, int want_exit, const char *extra, ...);

/* ---- JSON */
json_t *jget(json_t *j, const char *path);	/* "processes[0].totals.alloc_calls"; NULL if not there */
uint64_t ju64(struct test *t, json_t *j, const char *path);	/* 0 and a failure if it is no number */
const char *jstr(json_t *j, const char *path);	/* "" if not there */
bool want_u64(struct test *t, json_t *j, const char *path, uint64_t wanted);
bool want_bool(struct test *t, json_t *j, const char *path, bool wanted);
/* A file of the kernel's, such as a cgroup's: false if it does not take that, with errno. */
bool put_text(const char *dir, const char *file, const char *text);
json_t *load_json(struct test *t, const char *path);
void wait_json(struct test *t, int watch, const char *path);	/* until a snapshot is there; watch: inotify of its directory */
/* Stacks of a profile are numbers of frames: each becomes the frame itself. */
json_t *with_frames(json_t *root);
void want_invariants(struct test *t, json_t *root);
void want_lossless(struct test *t, json_t *root);
void want_scan(struct test *t, json_t *root);
json_t *process_of(struct test *t, json_t *root, pid_t pid, unsigned int nth);	/* the nth life of a pid */

enum led_check {
	LED_STACKS = 1,		/* the site is stack[0], main is in the chain, the function's name is right */
	LED_ONLY = 2,		/* no site but the ledger's, totals equal its sums */
	LED_TEMP = 4,
	LED_PEAK = 8,
	LED_REALLOC = 16,	/* realloc_calls and failed_calls */
	LED_ALL = 31,
	LED_TOTALS = 32,	/* no sites at all, only totals */
	LED_COUNT = 64,		/* only what --mode count records */
};
void want_ledger(struct test *t, json_t *root, json_t *process, const struct ledger *l, unsigned int checks);
/* Sum of a counter over the sites of a process whose chain has this function. */
uint64_t site_sum(struct test *t, json_t *root, json_t *process, const char *function, const char *counter);

/* Bytes of a library's code in a process that differ from the file's: breakpoints. */
uint64_t changed_bytes(struct test *t, pid_t pid, const char *library);
/* The same, and the addresses of up to room instructions that are changed; others are left as they are. */
uint64_t changed_places(struct test *t, pid_t pid, const char *library, uint64_t *ret, size_t room);

/* No breakpoints in its libc, at last. */
void want_unprobed(struct test *t, pid_t pid);

/* ---- files */
void copy_file(struct test *t, const char *from, const char *to);
void make_dirs(struct test *t, const char *path);	/* all directories above the last slash */
char *read_all(const char *path, size_t *ret_n);	/* malloced, zero-terminated; NULL on error */
void remove_tree(const char *path);
const char *in_dir(struct test *t, const char *fmt, ...) LT_PRINTF(2, 3);	/* a path in the test's directory, never freed */

#endif
