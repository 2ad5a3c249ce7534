// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What passes between malloctrace and a reader: what is true is taken, and of all else there is nothing but a sentence. What files are
 * said to be like is tests/unit/test_reader_answers.c.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf/debugfile.h"
#include "elf/object.h"
#include "process/process.h"
#include "reader/reader_parts.h"
#include "reader_played.h"
#include "util/util.h"

/* ---- bytes */

struct row {
	uint16_t number;
	char *name;
};

struct all {
	uint32_t number;
	bool yes;
	uint64_t raw[2];
	const char *text;
	char *own;
	char words[8];
	struct row part;
	struct row *rows;
	size_t n_rows;
	struct vec(uint32_t) plain;
	int untouched;
};

static bool is_row(const void *record)
{
	return ((const struct row *)record)->number != 13;
}

static const struct wire_field row_fields[] = { WIRE_ANY(struct row, number), WIRE_OWN(struct row, name, 5) };
static const struct wire_type row_type = WIRE_TYPE(struct row, row_fields, is_row);
static const struct wire_field all_fields[] = {
	WIRE_UPTO(struct all, number, 7),
	WIRE_BOOL(struct all, yes),
	WIRE_RAW(struct all, raw),
	WIRE_NAME(struct all, text, 5),
	WIRE_OWN(struct all, own, 5),
	WIRE_WORDS(struct all, words),
	WIRE_PART(struct all, part, &row_type),
	WIRE_LIST(struct all, rows, n_rows, &row_type),
	WIRE_PLAIN_VEC(struct all, plain),
};
static const struct wire_type all_type = WIRE_TYPE(struct all, all_fields);

static struct row two_rows[] = { { 3, (char *)"three" }, { 4, NULL } };
static uint32_t plain[] = { 5, 6, 7 };
static const struct all all = {
	.number = 7, .yes = true, .raw = { 1, 2 }, .text = "\a", .own = (char *)"o\nn", .words = "w\tds", .part = { 2, (char *)"" },
	.rows = two_rows, .n_rows = 2, .plain = { plain, 3, 3 },
};

/* Reads so many of the bytes; false: they are bad, and nothing is owned. */
static bool get_all(const struct wire *w, size_t n, struct all *ret)
{
	struct wire_in in = { .at = w->v, .end = w->v + n };

	memset(ret, 0x55, sizeof(*ret));
	return wire_in__get(&in, &all_type, ret) && wire_in__is_over(&in);
}

Test(reader, wire)
{
	wire_cleanup struct wire w = {};
	struct all got;

	wire__put(&w, &all_type, &all);
	/* cut off anywhere it is never taken for whole */
	for (size_t n = 0; n < w.n; n++) {
		cr_expect_not(get_all(&w, n, &got), "%zu bytes", n);
		cr_expect(!got.own && !got.part.name && !got.rows && !got.n_rows && !got.plain.v && !got.plain.n);
	}
	cr_assert(get_all(&w, w.n, &got));
	cr_expect(got.number == 7 && got.yes && got.raw[0] == 1 && got.raw[1] == 2);
	cr_expect_str_eq(got.text, "\a", "as it was sent");
	cr_expect_str_eq(got.own, "o?n", "clean");
	cr_expect_str_eq(got.words, "w?ds");
	cr_expect(got.part.number == 2 && !*got.part.name);
	cr_assert_eq(got.n_rows, 2);
	cr_expect(got.rows[0].number == 3 && !strcmp(got.rows[0].name, "three") && got.rows[1].number == 4 && !got.rows[1].name);
	cr_expect(got.plain.n == 3 && got.plain.room == 3 && !memcmp(got.plain.v, plain, sizeof(plain)));
	cr_expect_eq(got.untouched, 0x55555555);
	wire_type__done(&all_type, &got);
	cr_expect(!got.own && !got.rows && !got.plain.v);
}

Test(reader, wire_checks)
{
	static struct row unsane[] = { { 1, NULL }, { 13, NULL } }, long_name[] = { { 1, (char *)"longer" } };
	struct all bad[] = { all, all, all, all, all }, got;

	bad[0].number = 8;
	bad[1].text = "longer";
	bad[2].rows = unsane;
	bad[3].rows = long_name;
	bad[3].n_rows = 1;
	bad[4].part.number = 13;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		wire_cleanup struct wire w = {};

		wire__put(&w, &all_type, &bad[i]);
		cr_expect_not(get_all(&w, w.n, &got), "%zu", i);
		cr_expect(!got.own && !got.rows && !got.plain.v, "%zu", i);
	}
}

Test(reader, wire_numbers)
{
	wire_cleanup struct wire w = {}, text = {};
	struct all got;
	struct wire_in in;
	uint64_t *count;

	wire__put(&w, &all_type, &all);
	w.v[4] = 2;
	cr_expect_not(get_all(&w, w.n, &got), "neither true nor false");
	w.v[4] = 1;
	/* of the last rows: more than there are bytes for */
	count = (uint64_t *)(w.v + w.n - sizeof(plain) - 8);
	cr_assert_eq(*count, 3);
	for (size_t i = 0; i < 3; i++) {
		*count = (uint64_t[]){ 4, UINT64_MAX / 4 + 1, UINT64_MAX }[i];
		cr_expect_not(get_all(&w, w.n, &got), "%zu", i);
		cr_expect_null(got.plain.v);
	}
	wire__u64(&text, 3);
	wire__bytes(&text, "a\0b", 4);
	in = wire__in(&text);
	cr_expect_null(wire_in__string(&in, 9));
	cr_expect(in.bad, "a NUL inside");
}

/* ---- conversations */

/* The starter's end. */
static int play_starter(pid_t pid)
{
	int pair[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	readers__lend_starter(pair[0], pid);
	return pair[1];
}

static struct reader_call call_about(int fd, const struct wire *args)
{
	return (struct reader_call){ .kind = READ_FILE, .in_figures = true, .path = "/a/file", .fd = fd, .args = args };
}

Test(reader, parts_are_joined)
{
	wire_cleanup struct wire args = {}, answer = {};
	struct reader_call c = call_about(-1, &args);

	readers__set_apart(on_lost);
	play_reader();
	say_frame(FRAME_PART, 0, "ab", 2);
	say_frame(FRAME_DONE, -ENOENT, "cd", 2);
	cr_expect_eq(reader__ask(&c, &answer), -ENOENT);
	cr_expect_eq(answer.n, 4);
	cr_expect_eq(memcmp(answer.v, "abcd", 4), 0);
	cr_expect_eq(n_told, 0);
}

static const struct {
	const char *name;
	uint32_t what;
	int err;
	uint64_t len;
	bool hang_up;
	const char *says;
} liars[] = {
	{ "one that dies in a part", FRAME_PART, 0, 1000, true, "its reader ended" },
	{ "one that dies in the middle", FRAME_DONE, 0, 1000, true, "its reader ended" },
	{ "a frame that there is not", N_READER_FRAMES, 0, 0, false, "its reader's answer made no sense" },
	{ "an answer without end", FRAME_DONE, 0, UINT64_MAX, false, "its reader's answer made no sense" },
	{ "empty parts without end", FRAME_PART, 0, 0, false, "its reader's answer made no sense" },
	{ "no error", FRAME_DONE, 1, 0, false, "its reader's answer made no sense" },
	{ "an error that there is not", FRAME_DONE, INT32_MIN, 0, false, "its reader's answer made no sense" },
	{ "a wish where there are none", FRAME_WISH, 0, 8, false, "its reader's answer made no sense" },
	{ "no memory", FRAME_DONE, -ENOMEM, 0, false, "its reader ran out of memory" },
	{ "lost already", FRAME_DONE, READER_LOST, 0, false, "its reader's answer made no sense" },
	{ "an end that nobody asked for", FRAME_DONE, -EINTR, 0, false, "its reader's answer made no sense" },
};

Test(reader, liars)
{
	readers__set_apart(on_lost);
	for (size_t i = 0; i < ARRAY_SIZE(liars); i++) {
		wire_cleanup struct wire args = {}, answer = {};
		int fd = memfd_create("file", 0);
		struct reader_call c = call_about(fd, &args);
		char want[256];

		play_reader();
		say_frame(liars[i].what, liars[i].err, NULL, liars[i].len);
		if (liars[i].hang_up)
			shutdown(peer, SHUT_RDWR);
		n_told = 0;
		cr_expect_eq(reader__ask(&c, &answer), READER_LOST, "%s", liars[i].name);
		cr_expect_eq(n_told, 1, "%s", liars[i].name);
		snprintf(want, sizeof(want), "/a/file: %s", liars[i].says);
		cr_expect_str_eq(told, want, "%s", liars[i].name);
		/* it has no probes now, and that counts once */
		cr_expect(told_figures, "%s", liars[i].name);
		cr_expect_eq(readers__n_unread(), i + 1, "%s", liars[i].name);
		cr_expect(readers__has_lost(fd), "%s", liars[i].name);
		/* it is not read again, whoever answers, and not told again */
		play_reader();
		say_frame(FRAME_DONE, 0, NULL, 0);
		cr_expect_eq(reader__ask(&c, &answer), READER_LOST, "%s", liars[i].name);
		cr_expect_eq(n_told, 1, "%s", liars[i].name);
		cr_expect_eq(readers__n_unread(), i + 1, "%s", liars[i].name);
		/* others are */
		c.fd = memfd_create("other", 0);
		cr_expect_eq(reader__ask(&c, &answer), 0, "%s", liars[i].name);
		cr_expect_not(readers__has_lost(c.fd), "%s", liars[i].name);
		close(c.fd);
		close(fd);
	}
}

/* A file that lacks names alone has all its probes. */
Test(reader, names_are_no_figures)
{
	wire_cleanup struct wire args = {}, answer = {};
	struct reader_call c = call_about(memfd_create("file", 0), &args);

	readers__set_apart(on_lost);
	c.in_figures = false;
	play_reader();
	shutdown(peer, SHUT_RDWR);
	cr_expect_eq(reader__ask(&c, &answer), READER_LOST);
	cr_expect_eq(n_told, 1);
	cr_expect_not(told_figures);
	cr_expect_eq(readers__n_unread(), 0);
	cr_expect_not(readers__has_lost(c.fd));
}

/* Nor does a look at a heap that had no time to read what the process maps, all of which has its probes. */
Test(reader, a_look_at_a_heap_is_no_figure)
{
	wire_cleanup struct wire args = {}, answer = {};
	struct reader_call c = call_about(memfd_create("file", 0), &args);

	readers__set_apart(on_lost);
	c.in_figures = false;
	readers__end_at(1);
	cr_expect_eq(reader__ask(&c, &answer), -EINTR);
	cr_expect_eq(readers__n_unread(), 0);
	c.in_figures = true;
	cr_expect_eq(reader__ask(&c, &answer), -EINTR);
	cr_expect_eq(readers__n_unread(), 1);
}

/* A file that no reader was given is told once, however often a heap is looked at; if it is to have probes, too, that is more. */
Test(reader, lost_files_are_told_once)
{
	readers__set_apart(on_lost);
	readers__lose_file("/a/file", 1, 2, "silent", false);
	readers__lose_file("/a/file", 1, 2, "silent", false);
	cr_expect_eq(n_told, 1);
	cr_expect_not(told_figures);
	cr_expect_eq(readers__n_unread(), 0);
	readers__lose_file("/a/file", 1, 2, "silent", true);
	cr_expect_eq(n_told, 2);
	cr_expect(told_figures);
	cr_expect_eq(readers__n_unread(), 1);
	readers__lose_file("/a/file", 1, 2, "silent", true);
	readers__lose_file("/a/file", 1, 2, "silent", false);
	cr_expect_eq(n_told, 2);
	/* others are others, and what was told with probes needs no telling without */
	readers__lose_file("/b/file", 1, 3, "silent", true);
	readers__lose_file("/b/file", 1, 3, "silent", false);
	cr_expect_eq(n_told, 3);
	cr_expect_eq(readers__n_unread(), 2);
}

/* One that does not answer is waited for until the end, and nobody is asked after it. */
Test(reader, end_of_waiting)
{
	wire_cleanup struct wire args = {}, answer = {};
	struct reader_call c = call_about(memfd_create("file", 0), &args);
	uint64_t from_ns = now_ns();

	readers__set_apart(on_lost);
	play_reader();
	readers__end_at(from_ns + 300 * MS_NS);
	cr_expect_eq(reader__ask(&c, &answer), -EINTR);
	/* not the ten seconds that an answer may take */
	cr_expect(now_ns() - from_ns >= 300 * MS_NS && now_ns() - from_ns < 5 * SECOND_NS);
	/* its allocators are not known; what it is may still be read for its names */
	cr_expect_eq(readers__n_unread(), 1);
	cr_expect_eq(n_told, 0);
	play_reader();
	say_frame(FRAME_DONE, 0, NULL, 0);
	cr_expect_eq(reader__ask(&c, &answer), -EINTR);
	readers__end_at(0);
	cr_expect_eq(reader__ask(&c, &answer), 0);
}

/* ---- readers that talk without end */

static void *talk_in_parts(void *arg)
{
	const struct {
		struct reader_head head;
		char byte;
	} __attribute__((packed)) part = { { FRAME_PART, 0, 1 }, 'a' };

	while (send(peer, &part, sizeof(part), MSG_NOSIGNAL) == (ssize_t)sizeof(part))
		;
	return NULL;
}

/* Slowly, but never so that there is nothing for as long as an end is looked for. */
static void *talk_in_bytes(void *arg)
{
	const struct reader_head head = { FRAME_DONE, 0, 1000000 };
	const struct timespec pause = { 0, 10 * (long)MS_NS };

	send(peer, &head, sizeof(head), MSG_NOSIGNAL);
	while (send(peer, "a", 1, MSG_NOSIGNAL) == 1)
		nanosleep(&pause, NULL);
	return NULL;
}

Test(reader, end_of_talking, .timeout = 30)
{
	static void *(*const talkers[])(void *) = { talk_in_parts, talk_in_bytes };

	readers__set_apart(on_lost);
	for (size_t i = 0; i < 2 * ARRAY_SIZE(talkers); i++) {
		bool hurry = i >= ARRAY_SIZE(talkers);
		wire_cleanup struct wire args = {}, answer = {};
		struct reader_call c = call_about(memfd_create("file", 0), &args);
		uint64_t from_ns = now_ns();
		pthread_t thread;

		play_reader();
		readers__end_at(hurry ? 0 : from_ns + 300 * MS_NS);
		if (hurry)
			readers__hurry(true);
		cr_assert_eq(pthread_create(&thread, NULL, talkers[i % ARRAY_SIZE(talkers)], NULL), 0);
		cr_expect_eq(reader__ask(&c, &answer), -EINTR, "talker %zu", i);
		/* not the ten or sixty seconds that an answer may take */
		cr_expect_lt(now_ns() - from_ns, 5 * SECOND_NS, "talker %zu", i);
		cr_assert_eq(pthread_join(thread, NULL), 0);
		if (hurry)
			readers__hurry(false);
		close(c.fd);
	}
	cr_expect_eq(n_told, 0, "%s", told);
}

/* How long the next part is waited for is up to the call, and the number in the sentence is its own. */
Test(reader, time_of_a_part)
{
	wire_cleanup struct wire args = {}, answer = {};
	struct reader_call c = call_about(memfd_create("file", 0), &args);
	uint64_t from_ns = now_ns();

	readers__set_apart(on_lost);
	play_reader();
	c.part_ns = SECOND_NS;
	cr_expect_eq(reader__ask(&c, &answer), READER_LOST);
	/* not the ten seconds that others have */
	cr_expect(now_ns() - from_ns >= SECOND_NS && now_ns() - from_ns < 9 * SECOND_NS);
	cr_expect_str_eq(told, "/a/file: it took its reader more than 1 s");
}

/* Two reasons for which the starter makes none: the kernel's, and its own. */
Test(reader, starter_makes_none)
{
	static const struct {
		int err;
		const char *says;
	} reasons[] = {
		{ -EAGAIN, "all: no process can be made for that: Resource temporarily unavailable: too many for this user (ulimit -u, RLIMIT_NPROC) or for its cgroup (pids.max)" },
		{ READERS_ALL_TAKEN, "all: no process can be made for that: there are 64, the most there can be; one that waits for a file system that does not answer ends when that does" },
	};

	readers__set_apart(on_lost);
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		wire_cleanup struct wire args = {}, answer = {};
		struct reader_call c = call_about(-1, &args);
		struct reader *r = reader__new();
		int starter = play_starter(0);

		c.reader = r;
		cr_assert_eq(write(starter, &(struct starter_answer){ .pid = reasons[i].err }, sizeof(struct starter_answer)), (ssize_t)sizeof(struct starter_answer));
		n_told = 0;
		unread__begin_anew();
		cr_expect_eq(reader__ask(&c, &answer), READER_LOST);
		cr_expect_eq(n_told, 1);
		cr_expect_str_eq(told, reasons[i].says);
		reader__free(r);
		close(starter);
	}
}

static void *start_poor_readers(void *starter)
{
	struct starter_request q;
	int passed;

	while (reader_socket__get((int)(intptr_t)starter, &q, sizeof(q), &passed, 0) > 0) {
		struct starter_answer a = q.end ? (struct starter_answer){ .status = ENOMEM << 8 } : (struct starter_answer){ .pid = INT32_MAX };

		if (passed >= 0)
			close(passed);
		reader_socket__put((int)(intptr_t)starter, &a, sizeof(a), -1, 0);
	}
	return NULL;
}

/* A reader that ends without memory, and the fresh one after it: their status says so. */
Test(reader, readers_without_memory)
{
	wire_cleanup struct wire args = {}, answer = {};
	struct reader_call c = call_about(memfd_create("file", 0), &args);
	int starter = play_starter(0);
	pthread_t thread;

	readers__set_apart(on_lost);
	cr_assert_eq(pthread_create(&thread, NULL, start_poor_readers, (void *)(intptr_t)starter), 0);
	cr_expect_eq(reader__ask(&c, &answer), READER_LOST);
	cr_expect_str_eq(told, "/a/file: its reader ran out of memory");
	shutdown(starter, SHUT_RDWR);
	cr_assert_eq(pthread_join(thread, NULL), 0);
}

#define N_PLAYED 16
#define READ_WISHING READ_NAMES	/* wants another file as well */

static int wish_on(int socket)
{
	struct reader_head head = { .what = FRAME_WISH, .len = 1 };
	int passed;

	cr_assert(write(socket, &head, sizeof(head)) > 0 && write(socket, "", 1) > 0);
	cr_assert(reader_socket__get(socket, &head, sizeof(head), &passed, 0) > 0);
	cr_assert(!head.err && passed >= 0);
	return passed;
}

/* Readers whose answer is their number, up from 1. */
static void *play_readers(void *arg)
{
	struct pollfd at[1 + N_PLAYED] = { { .fd = (int)(intptr_t)arg, .events = POLLIN } };
	nfds_t n = 1;

	while (poll(at, n, -1) > 0 && !(at[0].revents & POLLHUP)) {
		struct reader_head head, done = { .what = FRAME_DONE, .len = 1 };
		struct starter_request q;
		int passed = -1;

		for (nfds_t i = 1; i < n; i++) {
			char number = (char)i;

			bool asked = at[i].revents && reader_socket__get(at[i].fd, &head, sizeof(head),
									 &passed, 0) > 0;

			if (asked && head.what == READ_WISHING) {
				close(passed);
				passed = wish_on(at[i].fd);
			}
			if (asked)
				cr_assert(write(at[i].fd, &done, sizeof(done)) > 0 && write(at[i].fd, &number, 1) > 0);
			else if (at[i].revents)
				at[i].events = 0, at[i].fd = -1;
		}
		if (passed >= 0)
			close(passed);
		if (!at[0].revents || reader_socket__get(at[0].fd, &q, sizeof(q), &passed, 0) <= 0)
			continue;
		if (!q.end) {
			cr_assert_lt(n, ARRAY_SIZE(at));
			at[n++] = (struct pollfd){ .fd = passed, .events = POLLIN };
		}
		reader_socket__put(at[0].fd, &(struct starter_answer){ .pid = INT32_MAX }, sizeof(struct starter_answer), -1, 0);
	}
	return NULL;
}

static int file_of(uid_t uid, mode_t mode)
{
	char path[] = "/tmp/mt-owned-XXXXXX";
	int made = mkstemp(path), fd = open(path, O_RDONLY | O_CLOEXEC);

	cr_assert(made >= 0 && fd >= 0 && !fchmod(made, mode) && !fchown(made, uid, uid));
	close(made);
	unlink(path);
	return fd;
}

static int grant_copy(struct wire_in *wish, void *arg)
{
	(void)wish;
	return fcntl(*(int *)arg, F_DUPFD_CLOEXEC, 0);
}

/* Which of them reads it? 0: none. debug: what is granted with it; -1: nothing is wanted. */
static int reader_of_both(int fd, int debug)
{
	wire_cleanup struct wire args = {}, answer = {};
	struct reader_call c = call_about(fd, &args);

	if (debug >= 0) {
		c.kind = READ_WISHING;
		c.on_wish = grant_copy;
		c.arg = &debug;
	}
	return !reader__ask(&c, &answer) && answer.n == 1 ? answer.v[0] : 0;
}

static int reader_of(int fd)
{
	return reader_of_both(fd, -1);
}

/* Whoever takes a reader over by a file of theirs does not answer for a file of somebody else's. */
Test(reader, no_reader_for_files_of_two_owners)
{
	int starter = play_starter(0), root, users[3], copy, anyones;
	pthread_t thread;

	if (geteuid())
		cr_skip_test("skipped: only root has files of others");
	root = file_of(0, 0755);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++)
		users[i] = file_of(12345 + i, 0755);
	copy = memfd_create("copy", 0);
	anyones = file_of(0, 0777);
	readers__set_apart(on_lost);
	cr_assert_eq(pthread_create(&thread, NULL, play_readers, (void *)(intptr_t)starter), 0);
	cr_expect_eq(reader_of(root), 1);
	cr_expect_eq(reader_of(users[0]), 2);
	cr_expect_eq(reader_of(users[0]), 2);
	cr_expect_eq(reader_of(users[1]), 3);
	cr_expect_eq(reader_of(root), 1);
	/* the one that rested longest ends */
	cr_expect_eq(reader_of(users[2]), 4);
	cr_expect_eq(reader_of(users[0]), 5);
	cr_expect_eq(reader_of(root), 1);
	/* of a copy it is not known whose it is, and this file may have been written to by anybody */
	cr_expect_eq(reader_of(copy), 6);
	cr_expect_eq(reader_of(copy), 7);
	cr_expect_eq(reader_of(anyones), 8);
	cr_expect_eq(reader_of(anyones), 9);
	cr_expect_eq(n_told, 0, "%s", told);
	shutdown(starter, SHUT_RDWR);
	pthread_join(thread, NULL);
}

/* Nor by the debug file of somebody else's. */
Test(reader, no_reader_for_debug_files_of_two_owners)
{
	int starter = play_starter(0), root, user;
	pthread_t thread;

	if (geteuid())
		cr_skip_test("skipped: only root has files of others");
	root = file_of(0, 0755);
	user = file_of(12345, 0755);
	readers__set_apart(on_lost);
	cr_assert_eq(pthread_create(&thread, NULL, play_readers, (void *)(intptr_t)starter), 0);
	cr_expect_eq(reader_of(root), 1);
	cr_expect_eq(reader_of_both(root, file_of(0, 0755)), 1, "of the same owner");
	cr_expect_eq(reader_of_both(root, user), 1);
	cr_expect_eq(reader_of(root), 2);
	cr_expect_eq(reader_of_both(user, root), 3);
	cr_expect_eq(reader_of(user), 4);
	cr_expect_eq(reader_of(root), 2);
	cr_expect_eq(n_told, 0, "%s", told);
	shutdown(starter, SHUT_RDWR);
	pthread_join(thread, NULL);
}

static void *ask_with(void *arg)
{
	wire_cleanup struct wire args = {}, answer = {};
	struct reader_call c = call_about(-1, &args);

	c.reader = arg;
	reader__ask(&c, &answer);
	return NULL;
}

/*
 * A starter that does not answer is waited for by whoever needs a reader: who asks whether a process is ours is told at once. The
 * one that is being made is known by its parent, which here is a child of ours with one of its own.
 */
Test(reader, own_while_the_starter_is_waited_for, .timeout = 15)
{
	struct reader *r = reader__new();
	struct starter_request q;
	pthread_t thread;
	int starter, said[2], end[2];
	pid_t pid, born;
	char c;

	cr_assert(!pipe(said) && !pipe(end));
	pid = fork();
	if (!pid) {
		close(end[1]);
		born = fork();
		if (born && write(said[1], &born, sizeof(born)) != (ssize_t)sizeof(born))
			_exit(1);
		_exit(read(end[0], &c, 1) < 0);
	}
	cr_assert_eq(read(said[0], &born, sizeof(born)), (ssize_t)sizeof(born));
	readers__set_apart(on_lost);
	starter = play_starter(pid);
	cr_expect(process__is_own(pid));
	cr_expect_not(process__is_own(born));
	cr_assert_eq(pthread_create(&thread, NULL, ask_with, r), 0);
	cr_assert_eq(read(starter, &q, sizeof(q)), (ssize_t)sizeof(q));
	cr_expect(process__is_own(pid));
	cr_expect(process__is_own(born));
	cr_expect_not(process__is_own(getppid()));
	/* had that taken until the starter was given up, nobody would read this */
	cr_assert_eq(send(starter, &(struct starter_answer){ .pid = READERS_ALL_TAKEN }, sizeof(struct starter_answer), MSG_NOSIGNAL), (ssize_t)sizeof(struct starter_answer));
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect(strstr(told, "there are 64"), "%s", told);
	cr_expect_not(process__is_own(born));
	reader__free(r);
	readers__end();
	cr_expect_not(process__is_own(pid));
}

/* Where no reader can be had nothing is read, and that is said once. */
Test(reader, none_to_be_had)
{
	wire_cleanup struct wire args = {}, answer = {};
	struct reader_call c = call_about(-1, &args);
	struct err e = {};

	readers__set_apart(on_lost);
	readers__lend(-1);
	cr_expect_eq(readers__need(&e), -ENOTSUP);
	cr_expect(strstr(err_msg(&e), "no process can be made"), "%s", err_msg(&e));
	err_done(&e);
	cr_expect_eq(reader__ask(&c, &answer), READER_LOST);
	cr_expect_eq(reader__ask(&c, &answer), READER_LOST);
	cr_expect_eq(n_told, 1);
	cr_expect_eq(strncmp(told, "all: ", 5), 0, "%s", told);
	/* each file that comes then has no probes */
	for (unsigned int i = 1; i <= 3; i++) {
		c.fd = memfd_create("file", 0);
		cr_expect_eq(reader__ask(&c, &answer), READER_LOST);
		cr_expect_eq(readers__n_unread(), i);
	}
}

/* A copy of a file could be written to, and points are verified by it. */
Test(reader, files_are_for_reading_alone)
{
	wire_cleanup struct wire args = {}, answer = {};
	struct reader_call c = call_about(memfd_create("copy", 0), &args);
	struct reader_head head;
	int given;

	cr_assert_eq(write(c.fd, ELFMAG, SELFMAG), SELFMAG);
	readers__set_apart(on_lost);
	play_reader();
	say_frame(FRAME_DONE, 0, "ab", 2);
	cr_expect_eq(reader__ask(&c, &answer), 0);
	cr_assert_eq(reader_socket__get(peer, &head, sizeof(head), &given, 0), (ssize_t)sizeof(head));
	cr_assert_geq(given, 0);
	cr_expect_eq(write(given, "", 1), -1);
	cr_expect_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, given, 0), MAP_FAILED);
	cr_expect_neq(mmap(NULL, 4096, PROT_READ, MAP_SHARED, given, 0), MAP_FAILED);
}

/* ---- one that somebody has taken over */

/* More descriptors than one with a message: none of them stays open. */
Test(reader, one_descriptor_is_taken)
{
	char room[CMSG_SPACE(2 * sizeof(int))] = {}, byte;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	int pair[2], got, before, after;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(pair)) };
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), pair, sizeof(pair));
	before = dup(0);
	close(before);
	cr_assert_eq(sendmsg(pair[0], &m, 0), 1);
	cr_assert_eq(reader_socket__get(pair[1], &byte, 1, &got, 0), 1);
	if (got >= 0)
		close(got);
	after = dup(0);
	cr_expect_eq(after, before);
}

static const struct wire_field words_fields[] = { { .kind = WIRE_NUMBER, .size = sizeof(uint64_t), .most = UINT64_MAX } };
static const struct wire_type word_type = WIRE_TYPE(uint64_t, words_fields);

/* Has its socket send signals to the process in args; ret: how often that worked. */
static int send_signals(struct reader_request *q, const void *args, void *ret)
{
	const pid_t to = (pid_t)*(const uint64_t *)args;
	const struct f_owner_ex owner = { F_OWNER_PID, to };

	(void)q;
	*(uint64_t *)ret = !fcntl(0, F_SETOWN, to) + !fcntl(0, F_SETOWN_EX, &owner) + !fcntl(0, F_SETSIG, SIGUSR1);
	return 0;
}

/* They are of one user, and the starter, too: who could end those that read other users' files would change their figures. */
Test(reader, sends_no_signal)
{
	static const struct reader_question question = { READ_FILE, &word_type, &word_type, send_signals };
	static const struct reader_question *const questions[N_READER_KINDS] = { [READ_FILE] = &question };
	wire_cleanup struct wire args = {}, answer = {};
	struct reader_call c = call_about(-1, &args);
	struct wire_in in;
	int pair[2];
	pid_t pid;

	readers__set_apart(on_lost);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	pid = fork();
	if (!pid) {
		dup2(pair[1], 0);
		_exit(reader_child__main(questions));
	}
	close(pair[1]);
	readers__lend_starter(pair[0], pid);
	wire__string(&args, NULL);
	wire__u64(&args, (uint64_t)getpid());
	cr_assert_eq(reader__ask(&c, &answer), 0, "%s", told);
	in = wire__in(&answer);
	cr_expect_eq(wire_in__u64(&in), 0);
	readers__end();
}

/* ---- wishes */

/* mapped: the file that is mapped, if that is not what has the path here. */
static int grant_of(int mapped, int kind, unsigned int nth, const char *text, const char *path)
{
	wire_cleanup struct wire w = {};
	struct object obj = { .path = (char *)path, .fd = open(path, O_RDONLY) };
	struct wire_in in;
	struct stat st;
	int fd;

	cr_assert_eq(fstat(mapped >= 0 ? mapped : obj.fd, &st), 0);
	obj.dev = st.st_dev;
	obj.ino = st.st_ino;
	wire__bytes(&w, &kind, sizeof(kind));
	wire__bytes(&w, &nth, sizeof(nth));
	wire__string(&w, text);
	in = wire__in(&w);
	fd = debugfile__grant(&in, &obj, "/usr/lib/debug", NULL);
	if (fd >= 0)
		close(fd);
	close(obj.fd);
	return MIN(fd, 0);
}

static int grant(int kind, unsigned int nth, const char *text, const char *path)
{
	return grant_of(-1, kind, nth, text, path);
}

/* The same by a user who has a capability for it. */
static int grant_as_user(const char *path)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		cap_t all = cap_get_proc();

		if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) || setresgid(12345, 12345, 12345) || setresuid(12345, 12345, 12345) || cap_set_proc(all) ||
		    !access(path, R_OK) || open(path, O_RDONLY) < 0)
			_exit(0);
		_exit(-grant(WISH_LINK, 0, "elf", path));
	}
	cr_assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return -WEXITSTATUS(status);
}

Test(reader, wishes)
{
	char dir[] = "/tmp/wishes-XXXXXX", path[64];
	int fd;

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/plain", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	cr_assert_eq(write(fd, "secret", 6), 6);
	close(fd);
	snprintf(path, sizeof(path), "%s/elf", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	cr_assert_eq(write(fd, ELFMAG "...", 7), 7);
	close(fd);
	snprintf(path, sizeof(path), "%s/object", dir);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	cr_expect_eq(grant(WISH_LINK, 0, "elf", path), 0);
	fd = open("/proc/self/exe", O_RDONLY);
	cr_expect_eq(grant_of(fd, WISH_LINK, 0, "elf", path), -ENOENT,
		     "a process has mounted the object there, for itself");
	close(fd);
	if (!geteuid())
		cr_expect_eq(grant_as_user(path), -EACCES, "a file that no process has mapped, by a capability");
	cr_assert_eq(chmod(path, 0644), 0);
	cr_expect_eq(grant(WISH_LINK, 0, "elf", path), -ENOENT, "who reads the object may not read it");
	cr_assert_eq(chmod(path, 0600), 0);
	cr_expect_eq(grant(WISH_LINK, 0, "plain", path), -ENOENT, "no ELF file");
	cr_expect_eq(grant(WISH_LINK, 0, "../../etc/passwd", path), -ENOENT);
	cr_expect_eq(grant(WISH_LINK, 1, "elf", path), -ENOENT);
	cr_expect_eq(grant(WISH_LINK, 3, "elf", path), -ENOENT);
	cr_expect_eq(grant(WISH_LINK, 4, "elf", path), -EINVAL);
	cr_expect_eq(grant(WISH_DWZ, 0, "/.dwz/../../../../../bin/sh", path), -ENOENT);
	cr_expect_eq(grant(WISH_BUILD_ID, 0, "../../../bin/sh", path), -ENOENT);
	cr_expect_eq(grant(WISH_DOWNLOAD, 0, "", path), -ENOENT);
	cr_expect_eq(grant(WISH_DOWNLOAD + 1, 0, "", path), -EINVAL);
	snprintf(path, sizeof(path), "rm -r %s", dir);
	cr_expect_eq(system(path), 0);
}
