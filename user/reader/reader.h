/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Readers: processes without rights that parse what targets control, so that a mistake in a parser costs names and not the
 * machine. A request has a kind, plain bytes and a descriptor; the answer is plain bytes, which the caller checks. A reader
 * that dies, answers nonsense or takes too long is ended: its file is told once, is not read again, and the next request gets
 * a new reader.
 *
 *	malloctrace ──fork, exec──> the starter: has read nothing, is a user of its own, and forks
 *	     │                          ├─> a reader
 *	     └────── a socket each ─────┴─> a reader
 *
 * The starter is what a new reader is made of: small, alone, and still as it was when nothing had been read. Of malloctrace itself
 * that would be a copy of all its memory for each.
 */
#ifndef MT_READER_H
#define MT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "reader/wire.h"
#include "util/err.h"

/* What can be asked for; who answers is in the table of cli/commands.c. */
enum reader_kind { READ_FILE, READ_NAMES, READ_JIT_LIST, READ_PLAN, READ_SPOTS, N_READER_KINDS };

/* ---- of malloctrace */

/*
 * A file, or with path NULL all that follow, is not read. Once for each, by any thread. in_figures: what would have been probed
 * in it is not, and that is more than names.
 */
typedef void readers_lost_fn(const char *path, const char *why, bool in_figures);

/* From now on nothing hostile is parsed in this process. Without this call, as in tests and in readers themselves, it is. */
void readers__set_apart(readers_lost_fn *on_lost);
bool readers__are_apart(void);
/* The starter begins to come up; else the first request waits for that, too. */
void readers__prepare(void);
/* Is there one at all? Else the reason. Where an end is asked for meanwhile, it is not known yet: 0. */
int readers__need(struct err *e);
/* Files whose probes are missing as they were not read: each counts once. */
uint64_t readers__n_unread(void);
bool readers__has_lost(int fd);	/* is it one of them? */
/* One that could not be given to any reader: it counts and is told as those whose reader failed. */
void readers__count_unread(uint64_t dev, uint64_t ino);	/* that alone */
void readers__lose_file(const char *path, uint64_t dev, uint64_t ino, const char *why, bool in_figures);
void readers__end(void);
/* Somebody waits for a thread that may wait for a reader: what takes long comes to nothing meanwhile. In pairs. */
void readers__hurry(bool on);
/* The user wants to see the end: what is not answered at that time (now_ns()) comes to nothing, and so does what is asked after it. 0: no such time. */
void readers__end_at(uint64_t ns);
/* Is whatever began then to come to nothing? */
bool readers__is_end(uint64_t begun_ns);
/* Another process of ours, which is no reader: it is one of those below from now on. At most 4. */
void readers__claim(pid_t pid);
/* The starter and all readers there are; how many. One that is being made is waited for. */
size_t readers__pids(pid_t *v, size_t room);
/* Is it one of them? If not, and *ret_parent is not 0, each child of that one is ours, too: it is being made. Waits for no process. */
bool readers__own(pid_t pid, pid_t *ret_parent);

/* One that is its user's alone, and keeps what it has read from request to request. */
struct reader;
struct reader *reader__new(void);
void reader__free(struct reader *r);

struct reader_call {
	enum reader_kind kind;
	struct reader *reader;	/* NULL: any */
	const char *path;	/* of the file, for messages; NULL: there is none, and nothing to be lost */
	int fd;			/* the file; -1: none */
	bool in_figures;	/* without an answer the file has no probes, or not all */
	const struct wire *args;
	uint64_t part_ns;	/* how long the next part of the answer is waited for; 0: 10 s */
	/* The reader wants a file that goes with this one: a descriptor, which is closed when it was sent, or -errno. NULL: there are none. */
	int (*on_wish)(struct wire_in *wish, void *arg);
	void *arg;
	/* set by reader__ask() */
	struct reader *by;
	pid_t pid;
};

#define READER_LOST (-121)	/* EREMOTEIO */

/*
 * The answer, whole; 0, or the negative errno that goes with it. READER_LOST: there is none, which has been told, or makes no
 * difference to anybody; -EINTR: an end is asked for.
 */
int reader__ask(struct reader_call *c, struct wire *ret);
/* The answer makes no sense: its reader is ended, its file lost. READER_LOST */
int reader__distrust(const struct reader_call *c);

/* ---- of a reader */

#define READER_CHILD_NAME "malloctrace-reader"	/* argv[0] */

struct reader_request {
	const char *path;	/* of the file; NULL: there is none */
	int fd;			/* -1: none. Closed after the request, unless it was set to -1 */
	struct err e;		/* the sentence that goes with a negative errno */
	struct wire out;	/* parts of the answer that are sent ahead */
	bool sent;		/* to be set where all of it is in out */
	bool tired;		/* to be set where so much is kept that a new reader is better */
};

/* A kind of question: one table for both sides. */
struct reader_question {
	enum reader_kind kind;
	const struct wire_type *args, *answer;
	/* In the sandbox: args can be trusted, ret is all zero. 0 or a negative errno, which goes with the answer. */
	int (*serve)(struct reader_request *q, const void *args, void *ret);
};

/* The whole life of a starter and of its readers. */
int reader_child__main(const struct reader_question *const questions[N_READER_KINDS]);
bool reader_child__is(void);	/* is this process one? */
/* Has malloctrace look for a file that goes with the one that is read. A descriptor, or -errno. */
int reader_child__wish(const struct wire *wish);
/* What there is of the answer goes off, and the time that may be taken begins anew. */
void reader_child__flush(struct reader_request *q);

/* ---- between the two; for tests, too */

enum reader_frame { FRAME_PART, FRAME_WISH, FRAME_DONE, FRAME_TIRED, N_READER_FRAMES };

struct reader_head {		/* before each message, in both directions */
	uint32_t what;		/* enum reader_kind, or enum reader_frame */
	int32_t err;		/* 0 or a negative errno: of the whole answer, or of a wish */
	uint64_t len;		/* bytes that follow */
};

struct starter_request {
	int32_t end;		/* the reader that is to be ended; 0: a new one, whose end of its socket comes along */
};

#define READERS_MAX 64		/* of one starter, with those that were killed and have not died yet */
#define READERS_ALL_TAKEN (-87)	/* EUSERS: what fork(2) says is something else */

struct starter_answer {
	int32_t pid;		/* of the new one, or a negative errno */
	int32_t status;		/* of the one that was ended, as of waitpid */
};

/* A part of the bytes, and a descriptor that goes with the first of them, or -1; as sendmsg(2) and recvmsg(2) return. */
ssize_t reader_socket__put(int fd, const void *bytes, size_t n, int passed, int flags);
ssize_t reader_socket__get(int fd, void *bytes, size_t n, int *ret_passed, int flags);

/* For tests: the next answer comes from this socket, which is taken, and no process is started. */
void readers__lend(int fd);
/* Or the starter is at the other end of this one; pid: a child of the test's, which is ended with it, or 0. */
void readers__lend_starter(int fd, pid_t pid);

#endif
