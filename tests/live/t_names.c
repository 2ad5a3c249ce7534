// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Where names come from when the file at a path does not have them: a runtime's
 * list of the code it made, a program that was removed, a debuginfod server.
 */
#include "lt.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER 65534
#define ANOTHER 65533

/* The frame that called the function, in a site's stack; NULL: no site has them. */
static json_t *caller_of(json_t *root, const char *function)
{
	json_t *s, *frame;
	size_t i, k;

	json_array_foreach(jget(root, "sites"), i, s)
		json_array_foreach(jget(s, "stack"), k, frame)
			if (!strcmp(jstr(frame, "function"), function))
				return json_array_get(jget(s, "stack"), k + 1);
	return NULL;
}

/* ---- code that the program made itself */

static char list[64], second_name[256];

static void remove_list(void)
{
	unlink(list);
	unlink(second_name);
}

/* Traces one call through the made code; the name is there, or the frame without one. */
static void want_jitted(struct test *t, struct fx *f, const char *of_whom, bool named)
{
	json_t *root = trace(t, f, 0, NULL), *frame = caller_of(root, "alloc_here");
	const char *got = json_string_value(jget(frame, "function"));

	want(t, frame != NULL, "%s: the caller of alloc_here, wanted one, got none", of_whom);
	want(t, named ? got && !strcmp(got, "jitted_function") : !got, "%s: its function, wanted %s, got '%s'", of_whom,
	     named ? "jitted_function" : "none", got ? got : "none");
	json_decref(root);
}

/*
 * A list is believed if it is the process's user's: another could give names to code that is not
 * his. One of root may be any file of root, which the process has mounted there.
 */
TEST(names_jit)
{
	const char *program = in_dir(t, "names"), *elsewhere = in_dir(t, "elsewhere.map");
	struct spawn s = { .argv = { program, "jit" }, .uid = USER };
	struct fx f;

	/* a copy: the checkout may lie where that user cannot go */
	copy_file(t, fixture("names"), program);
	fx__start_as(t, &f, &s);
	snprintf(list, sizeof(list), "/tmp/perf-%d.map", f.c.pid);
	snprintf(second_name, sizeof(second_name), "/tmp/perf-%d.map.second", f.c.pid);
	unlink(list);		/* of a process that had this pid before */
	atexit(remove_list);
	want_jitted(t, &f, "a list of the program's user", true);
	must(t, !chown(list, ANOTHER, ANOTHER), "chown %s: %s", list, strerror(errno));
	want_jitted(t, &f, "a list of another user", false);
	must(t, !chown(list, 0, 0), "chown %s: %s", list, strerror(errno));
	want_jitted(t, &f, "a list of root", false);
	must(t, !chown(list, USER, USER), "chown %s: %s", list, strerror(errno));
	must(t, !link(list, second_name), "link %s: %s", second_name, strerror(errno));
	want_jitted(t, &f, "a list with two names", false);
	must(t, !unlink(second_name), "unlink %s: %s", second_name, strerror(errno));
	copy_file(t, list, elsewhere);
	must(t, !unlink(list) && !symlink(elsewhere, list), "symlink %s: %s", list, strerror(errno));
	want_jitted(t, &f, "a link to a list", false);
	fx__quit(t, &f);
}

/* ---- a program that is no longer there */

static void want_gone(struct test *t, json_t *root, const struct ledger *l, const char *when)
{
	json_t *frame = caller_of(root, "alloc_here");
	const char *file = strrchr(jstr(frame, "file"), '/');

	want(t, !strcmp(jstr(frame, "function"), "gone_here"), "%s: the caller of alloc_here, wanted gone_here, got '%s'", when,
	     jstr(frame, "function"));
	want(t, !strcmp(file ? file + 1 : jstr(frame, "file"), "names.c"), "%s: file, wanted names.c, got '%s'", when, jstr(frame, "file"));
	want_u64(t, frame, "line", ledger__note(t, l, "line"));
	want(t, caller_of(root, "gone_here") && !strcmp(jstr(caller_of(root, "gone_here"), "function"), "work_and_leave"),
	     "%s: the caller of gone_here, wanted work_and_leave, got '%s'", when, jstr(caller_of(root, "gone_here"), "function"));
	want_bool(t, root, "processes[0].ended", true);
}

/* The program has ended before malloctrace can look at it again. */
static void gone(struct test *t, const char *when)
{
	const char *program = in_dir(t, "%s", when);
	struct spawn s = { .argv = { program, when } };
	struct fx f;
	struct mt m;
	json_t *root;

	copy_file(t, fixture("names"), program);
	fx__start_as(t, &f, &s);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--json", NULL);
	mt__wait_attached(t, &m);
	child__kill(t, &m.c, SIGSTOP);
	fx__send(t, &f, 'g');
	want_eq(t, "the fixture's exit status", 0, (uint64_t)child__wait(t, &f.c));
	fx__read_ledger(t, &f);
	want(t, access(program, F_OK) && errno == ENOENT, "%s is still there", program);
	child__kill(t, &m.c, SIGCONT);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	want_gone(t, root, &f.led, when);
	json_decref(root);
}

TEST(names_gone)
{
	gone(t, "gone-before");
	gone(t, "gone-after");
}

TEST(names_gone_command)
{
	const char *program = in_dir(t, "names"), *path = in_dir(t, "ledger");
	struct ledger l;
	struct mt m;
	json_t *root;
	char *text;

	copy_file(t, fixture("names"), program);
	mt__start(t, &m, "--json", "--", program, "--auto", path, "gone-before", NULL);
	root = mt__stop_json(t, &m, 0, 0);
	want_lossless(t, root);
	text = read_all(path, NULL);
	must(t, text && ledger__parse(&l, text), "the program left no ledger");
	want(t, access(program, F_OK) && errno == ENOENT, "%s is still there", program);
	want_gone(t, root, &l, "-- CMD");
	free(text);
}

/* ---- a debuginfod server */

#define BUILD_ID "6d616c6c6f6374726163652d6e616d6573"	/* names.nodebug's, see live.mk */

struct server {			/* in memory shared with the process that answers */
	unsigned int n_wanted;	/* requests for BUILD_ID */
	bool drips;		/* it has every file, and sends two bytes of it a second */
	unsigned int n_drops;
};

static int listen_here(struct test *t, char *url, size_t room)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	must(t, fd >= 0 && !bind(fd, (struct sockaddr *)&a, len) && !listen(fd, 64) && !getsockname(fd, (struct sockaddr *)&a, &len),
	     "a socket on 127.0.0.1: %s", strerror(errno));
	snprintf(url, room, "DEBUGINFOD_URLS=http://127.0.0.1:%u", ntohs(a.sin_port));
	return fd;
}

static void drip(int fd, struct server *server)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\nConnection: close\r\n\r\n";

	if (write(fd, head, sizeof(head) - 1) < 0)
		_exit(1);
	while (send(fd, "x", 1, MSG_NOSIGNAL) == 1) {
		server->n_drops++;
		poll(NULL, 0, 500);
	}
}

/* Reads one request and has nothing to give. It is counted before it is answered: whoever got the answer finds it counted. */
static void answer(int fd, struct server *server)
{
	static const char none[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
	char text[8192];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(text) - 1 && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0) {
		n += (size_t)got;
		text[n] = 0;
		if (strstr(text, "\r\n\r\n"))
			break;
	}
	server->n_wanted += n && !strncmp(text, "GET /buildid/" BUILD_ID "/debuginfo ", strlen("GET /buildid/" BUILD_ID "/debuginfo "));
	if (server->drips)
		drip(fd, server);
	else if (write(fd, none, sizeof(none) - 1) < 0)
		_exit(1);
	close(fd);
}

static void serve(struct test *t, int fd, struct server *server)
{
	pid_t pid = fork();

	must(t, pid >= 0, "fork: %s", strerror(errno));
	if (pid)
		return;		/* it ends with the test */
	must(t, !fcntl(fd, F_SETFL, 0), "fcntl: %s", strerror(errno));
	for (;;) {
		int c = accept(fd, NULL, NULL);

		if (c < 0)
			_exit(1);
		answer(c, server);
	}
}

/* Traces the program without debug info from its start to its end; option may be NULL. */
static void trace_nodebug(struct test *t, struct mt *m, const char *url, const char *option)
{
	static char cache[256];
	struct spawn s = { .argv = { lt_bin, "--json", "--", fixture("names.nodebug"), "--auto", in_dir(t, "ledger"), "plain" },
			   .env = { url, cache, "no_proxy=127.0.0.1" } };

	if (option) {
		memmove(&s.argv[3], &s.argv[2], 6 * sizeof(*s.argv));
		s.argv[2] = option;
	}
	snprintf(cache, sizeof(cache), "DEBUGINFOD_CACHE_PATH=%s", in_dir(t, "cache"));
	mt__start_v(t, m, &s);
}

static void want_plain(struct test *t, json_t *root)
{
	json_t *frame = caller_of(root, "alloc_here");

	want_lossless(t, root);
	want(t, !strcmp(jstr(frame, "function"), "gone_here"), "the caller of alloc_here, wanted gone_here, got '%s'", jstr(frame, "function"));
	want(t, !jget(frame, "line") || json_is_null(jget(frame, "line")), "a line, wanted none of a program without debug info");
}

/* A connection is in the socket's queue before the one who makes it goes on. */
TEST(debuginfod_silent)
{
	char url[64];
	int fd = listen_here(t, url, sizeof(url)), c;
	struct mt m;

	trace_nodebug(t, &m, url, NULL);
	want_plain(t, mt__stop_json(t, &m, 0, 0));
	c = accept(fd, NULL, NULL);
	want(t, c < 0 && errno == EAGAIN, "without --debuginfod: connections to the server, wanted none, got one");
}

TEST(debuginfod_asks)
{
	struct server *server = mmap(NULL, sizeof(*server), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char url[64];
	int fd = listen_here(t, url, sizeof(url)), status;
	struct mt m;

	must(t, server != MAP_FAILED, "mmap: %s", strerror(errno));
	serve(t, fd, server);
	trace_nodebug(t, &m, url, "--debuginfod");
	status = child__wait(t, &m.c);
	if (strstr(m.c.errs.s, "libdebuginfod.so.1 cannot be loaded"))
		skip(t, "libdebuginfod.so.1 is not installed");
	must(t, status == 0, "exit status, wanted 0, got %d; stderr: %.600s", status, m.c.errs.s);
	want_plain(t, with_frames(json_loads(m.c.outs.s, 0, NULL)));
	want_eq(t, "requests for the program's debug info", 1, server->n_wanted);
	want(t, strstr(m.c.errs.s, "no server has a debug file of") && strstr(m.c.errs.s, "names.nodebug"),
	     "a line about the file that no server has, wanted one: %.600s", m.c.errs.s);
}

/* It stays to be waited for. */
static bool has_exited(struct child *c)
{
	siginfo_t info = {};

	child__drain(c);
	return !waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/* By a server that hardly sends anything: SIGTERM ends that, with the report; before: it ended the trace already. */
static void want_report_without(struct test *t, bool before, unsigned int n_drops)
{
	struct server *server = mmap(NULL, sizeof(*server), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char url[64], cache[256];
	int fd = listen_here(t, url, sizeof(url));
	struct spawn s = { .argv = { lt_bin, "--json", "--debuginfod", "-p" }, .env = { url, cache, "no_proxy=127.0.0.1" } };
	unsigned int n;
	struct fx f;
	struct mt m;

	must(t, server != MAP_FAILED, "mmap: %s", strerror(errno));
	snprintf(cache, sizeof(cache), "DEBUGINFOD_CACHE_PATH=%s", in_dir(t, "cache"));
	server->drips = true;
	serve(t, fd, server);
	fx__start(t, &f, "names.nodebug", "plain", NULL);
	s.argv[4] = pid_arg(f.c.pid);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	if (before)
		child__kill(t, &m.c, SIGTERM);
	else
		fx__quit(t, &f);
	while (!server->n_drops && !has_exited(&m.c))
		poll(NULL, 0, 10);
	if (!server->n_drops) {
		child__wait(t, &m.c);
		if (strstr(m.c.errs.s, "libdebuginfod.so.1 cannot be loaded"))
			skip(t, "libdebuginfod.so.1 is not installed");
		must(t, false, "a request to the server, wanted, got none; stderr: %.600s", m.c.errs.s);
	}
	n = server->n_drops;
	if (!before)
		child__kill(t, &m.c, SIGTERM);
	want_plain(t, mt__stop_json(t, &m, 0, 0));
	want(t, server->n_drops - n <= n_drops, "%u bytes were waited for, wanted at most %u", server->n_drops - n, n_drops);
	if (before)
		fx__quit(t, &f);
}

/* libdebuginfod asks once a second whether to go on: four bytes, with some to spare; malloctrace gives a server ten after a signal. */
TEST(debuginfod_interrupted) { want_report_without(t, false, 8); }
TEST(debuginfod_after_a_signal) { want_report_without(t, true, 16); }

/* ---- the function that a site is known by */

/* The report's row of so many bytes, up to its end; NULL: there is none. */
static char *row_of(const char *text, const char *bytes)
{
	for (const char *s = text; (s = strstr(s, bytes)); s++)
		if (s == text || s[-1] == '\n' || s[-1] == ' ')
			return strndup(s, strcspn(s, "\n"));
	return NULL;
}

/* Containers of the C++ library are passed over, what mentions them is not; all callers of a function are one row. */
TEST(names_owners)
{
	static const struct {
		const char *bytes, *name;
	} owners[] = {
		{ "97.7 KiB", "  app::Table::load" },
		{ "48.8 KiB", "  app::Cache<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >::put" },
		{ "39.1 KiB", "  app::make<int>" },
		{ "29.3 KiB", "  app::run::{lambda}" },
		{ "40.0 KiB", "  app::leaf" },
	};
	const char *page = in_dir(t, "owners.html");
	struct mt m;
	char *html;

	must(t, mt__run(t, &m, "--", fixture("owners_cxx"), "--auto", in_dir(t, "ledger"), NULL) == 0, "exit status, wanted 0: %.600s", m.c.errs.s);
	for (size_t i = 0; i < sizeof(owners) / sizeof(*owners); i++) {
		char *row = row_of(m.c.outs.s, owners[i].bytes);

		/* at 80 columns template arguments give way */
		want(t, row && (strstr(row, owners[i].name) || (strstr(owners[i].name, "Cache") && strstr(row, "  app::Cache<…>::put"))),
		     "the site of %s, wanted%s, got '%s' of %s", owners[i].bytes, owners[i].name, row ? row : "none", m.c.outs.s);
		free(row);
	}
	must(t, mt__run(t, &m, "-q", "-o", page, "--", fixture("owners_cxx"), "--auto", in_dir(t, "ledger"), NULL) == 0, "exit status, wanted 0: %.600s", m.c.errs.s);
	html = read_all(page, NULL);
	must(t, html != NULL, "no %s", page);
	want(t, strstr(html, "\"app::Table::load\"") && strstr(html, "\"app::make\\u003cint\\u003e\"") && strstr(html, "\"app::leaf \\u003c app::mid_1\""),
	     "names of sites in the page, wanted those of the report");
	free(html);
}

/* Where the program's functions have no names, that is said, with what would help; where they have, it is not. */
TEST(names_missing)
{
	static const char says[] = "100% of the program's f";
	struct fx f;
	struct mt m = {};

	must(t, mt__run(t, &m, "--", fixture("owners_cxx.stripped"), "--auto", in_dir(t, "ledger"), NULL) == 0, "exit status, wanted 0: %.600s", m.c.errs.s);
	want(t, strstr(m.c.outs.s, says) && strstr(m.c.outs.s, "owners_cxx.stripped)") && strstr(m.c.outs.s, "--debuginfod"),
	     "a line about names in the report, wanted one: %.900s", m.c.outs.s);
	must(t, mt__run(t, &m, "--", fixture("owners_cxx"), "--auto", in_dir(t, "ledger"), NULL) == 0, "exit status, wanted 0: %.600s", m.c.errs.s);
	want(t, !strstr(m.c.outs.s, says), "a line about names, wanted none: %.900s", m.c.outs.s);
	fx__start(t, &f, "owners_cxx.stripped", NULL);
	must(t, mt__run(t, &m, "doctor", "-p", pid_arg(f.c.pid), NULL) == 0, "doctor's exit status, wanted 0: %.900s", m.c.outs.s);
	want(t, strstr(m.c.outs.s, says) && strstr(m.c.outs.s, "(owners_cxx.stripped)"), "a line about names of doctor, wanted one: %.900s", m.c.outs.s);
	fx__quit(t, &f);
}

/* ---- debug information in files beside the program */

#define INLINES											\
	"#include <stdlib.h>\n"									\
	"void *kept[10];\n"									\
	"static inline __attribute__((always_inline)) void *inner(int n) { return malloc(n); }\n"	\
	"int main(void) { for (int i = 0; i < 10; i++) kept[i] = inner(100 + i); }\n"

#define UNKNOWN_INLINES "functions inlined in inlines are not shown: its .dwo files"

static uint64_t n_unknown(struct test *t, const char *path)
{
	json_t *frame;
	uint64_t n = 0;
	size_t i;

	json_array_foreach(jget(load_json(t, path), "frames"), i, frame)
		n += json_is_true(json_object_get(frame, "inlines_unknown")) &&
		     !strcmp(jstr(frame, "function"), "main");
	return n;
}

/* Inlined calls of such a program are in .dwo files, which are not read: that is said, once. */
TEST(names_split_dwarf)
{
	static const char *const flags[] = { "-gdwarf-5", "-gsplit-dwarf -gdwarf-5", "-gsplit-dwarf -gdwarf-4" };
	const char *source = in_dir(t, "inlines.c"), *program = in_dir(t, "inlines"),
		   *out = in_dir(t, "out.json");
	char cmd[1024];
	struct mt m;
	FILE *f;

	if (system("cc --version >/dev/null 2>&1"))
		skip(t, "no cc here");
	f = fopen(source, "w");
	must(t, f && fputs(INLINES, f) >= 0 && !fclose(f), "%s cannot be written", source);
	must(t, !chmod(t->dir, 0755), "%s cannot be given to others", t->dir);
	for (unsigned int i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		const char *said;

		about(t, "%s: ", flags[i]);
		snprintf(cmd, sizeof(cmd), "cd %s && cc -O1 %s -o %s %s", t->dir, flags[i], program, source);
		must(t, !system(cmd), "%s", cmd);
		want_eq(t, "exit", 0,
			(uint64_t)mt__run(t, &m, "-o", out, "--view", "allocs", "--full", "--",
					  program, NULL));
		want(t, strstr(m.c.outs.s, "inlines.c:4") || strstr(m.c.outs.s, "inlines.c:3"), "a line of the source, got %s", m.c.outs.s);
		said = strstr(m.c.errs.s, "inlines: functions inlined in it are not shown");
		want(t, !said == !i, "a word about .dwo files, got %s", m.c.errs.s);
		want(t, !said || !strstr(strchr(said, '\n'), "are not shown"), "one word, got %s", m.c.errs.s);
		want(t, i || strstr(m.c.outs.s, "inner"), "the inlined call, got %s", m.c.outs.s);
		want_eq(t, "frames of main whose inlined calls are not known", i > 0,
			n_unknown(t, out));
		/* nobody reads what the trace has said any more */
		want_eq(t, "exit of report", 0, (uint64_t)mt__run(t, &m, "report", out, NULL));
		want(t, !strstr(m.c.outs.s, UNKNOWN_INLINES) == !i,
		     "a word about .dwo files in the report, got %s", m.c.outs.s);
		want_eq(t, "exit of diff", 0, (uint64_t)mt__run(t, &m, "diff", out, out, NULL));
		want(t, !strstr(m.c.outs.s, "before: " UNKNOWN_INLINES) == !i,
		     "a word about .dwo files in the diff, got %s", m.c.outs.s);
	}
}
