// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What passes between malloctrace and a reader: what is true is taken, and of all else there is nothing but a sentence. What files are
 * said to be like is tests/unit/test_reader_answers.c.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/debugfind.h"
#include "elf/object.h"
#include "process/process.h"
#include "reader/unread.h"
#include "reader_played.h"
#include "util/util.h"

/* ---- bytes */

Test(reader, wire)
{
	wire_cleanup struct wire w = {};
	struct wire_in in;

	wire__u64(&w, 7);
	wire__string(&w, "seven");
	wire__string(&w, NULL);
	wire__string(&w, "");
	wire__u64(&w, 1);
	in = wire__in(&w);
	cr_expect_eq(wire_in__u64(&in), 7);
	cr_expect_str_eq(wire_in__string(&in, 5), "seven");
	cr_expect_null(wire_in__string(&in, 5));
	cr_expect_not(in.bad);
	cr_expect_str_eq(wire_in__string(&in, 5), "");
	cr_expect(wire_in__bool(&in));
	cr_expect(wire_in__is_over(&in));
	/* cut off anywhere it is never taken for whole */
	for (size_t n = 0; n < w.n; n++) {
		in = (struct wire_in){ w.v, w.v + n, false };
		wire_in__u64(&in);
		wire_in__string(&in, 5);
		wire_in__string(&in, 5);
		wire_in__string(&in, 5);
		wire_in__bool(&in);
		cr_expect(in.bad, "%zu bytes", n);
	}
}

Test(reader, wire_checks)
{
	wire_cleanup struct wire w = {};
	struct wire_in in;

	wire__u64(&w, 3);
	wire__bytes(&w, "a\0b", 4);
	in = wire__in(&w);
	cr_expect_null(wire_in__string(&in, 9));
	cr_expect(in.bad, "a NUL inside");
	in = wire__in(&w);
	cr_expect_null(wire_in__string(&in, 2));
	cr_expect(in.bad, "too long");
	in = wire__in(&w);
	cr_expect_eq(wire_in__count(&in, 8), 0);
	cr_expect(in.bad, "more than there is room for");
	in = wire__in(&w);
	cr_expect_not(wire_in__bool(&in));
	cr_expect(in.bad);
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
	return (struct reader_call){ .kind = READ_HEADERS, .path = "/a/file", .fd = fd, .args = args };
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
	c.kind = READ_NAMES;
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
	c.kind = READ_HEADERS;
	c.unprobed = true;
	readers__end_at(1);
	cr_expect_eq(reader__ask(&c, &answer), -EINTR);
	cr_expect_eq(readers__n_unread(), 0);
	c.unprobed = false;
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

/* ---- wishes */

static int grant(int kind, unsigned int nth, const char *text, const char *path)
{
	wire_cleanup struct wire w = {};
	struct object obj = { .path = (char *)path, .fd = -1 };
	struct wire_in in;
	int fd;

	wire__u64(&w, kind);
	wire__u64(&w, nth);
	wire__string(&w, text);
	in = wire__in(&w);
	fd = debugfind__grant(&in, &obj, "/usr/lib/debug", NULL);
	if (fd >= 0)
		close(fd);
	return MIN(fd, 0);
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
	cr_expect_eq(grant(WISH_LINK, 0, "elf", path), 0);
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
