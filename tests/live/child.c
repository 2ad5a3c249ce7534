// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Processes that tests start: fixtures and malloctrace itself. Every wait has
 * a limit of its own, so that a failure names what did not come.
 */
#include "lt.h"

#include <errno.h>
#include <inttypes.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_S patience_s(60)

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void text__add(struct text *x, const char *s, size_t n)
{
	if (x->n + n + 1 > x->room) {
		x->room = (x->n + n + 1) * 2;
		x->s = realloc(x->s, x->room);
		if (!x->s)
			abort();
	}
	if (n)
		memcpy(x->s + x->n, s, n);
	x->n += n;
	x->s[x->n] = 0;
}

static _Noreturn void be_child(const struct spawn *s, int in, int out, int err)
{
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	signal(SIGPIPE, SIG_DFL);
	for (unsigned int i = 0; i < 4 && s->env[i]; i++)
		putenv((char *)s->env[i]);
	if (s->no_aslr)
		personality(ADDR_NO_RANDOMIZE);
	if (s->root && (chroot(s->root) || chdir("/")))
		_exit(124);
	if (s->uid && (setgid(s->uid) || setuid(s->uid)))
		_exit(124);
	if (s->become && s->become(s->become_arg))
		_exit(124);
	execvp(s->argv[0], (char *const *)s->argv);
	_exit(127);
}

char state_of(pid_t pid)
{
	char path[64], *text, *at, state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	text = read_all(path, NULL);
	at = text ? strrchr(text, ')') : NULL;
	state = at ? at[2] : 0;
	free(text);
	return state;
}

void want_state(struct test *t, pid_t pid, char state)
{
	unsigned int left_ms = patience_s(10) * 1000;

	while (state_of(pid) != state && left_ms--)
		poll(NULL, 0, 1);
	want(t, state_of(pid) == state, "process %d is in state %c, not %c", (int)pid, state_of(pid), state);
}

void child__start(struct test *t, struct child *c, const struct spawn *s)
{
	int in[2], out[2] = { -1, -1 }, err[2], exec[2];
	char none;

	memset(c, 0, sizeof(*c));
	text__add(&c->outs, "", 0);
	text__add(&c->errs, "", 0);
	must(t, !pipe2(in, O_CLOEXEC) && !pipe2(err, O_CLOEXEC) && !pipe2(exec, O_CLOEXEC), "pipe: %s", strerror(errno));
	if (s->plain_out)
		out[0] = out[1] = memfd_create("stdout", MFD_CLOEXEC);
	else
		must(t, !pipe2(out, O_CLOEXEC), "pipe: %s", strerror(errno));
	fflush(NULL);
	c->pid = fork();
	must(t, c->pid >= 0, "fork: %s", strerror(errno));
	if (c->pid == 0)
		be_child(s, in[0], out[1], err[1]);
	/* closed by exec: from now on it is that program, and no copy of this one */
	close(exec[1]);
	while (read(exec[0], &none, 1) < 0 && errno == EINTR)
		;
	close(exec[0]);
	close(in[0]);
	close(err[1]);
	if (out[0] != out[1])
		close(out[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = err[0];
}

/* One read of a stream into its text; false at its end. */
static bool take(int *fd, struct text *x)
{
	char buf[65536];
	ssize_t n = read(*fd, buf, sizeof(buf));

	if (n > 0) {
		text__add(x, buf, (size_t)n);
		return true;
	}
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	close(*fd);
	*fd = -1;
	return false;
}

/* Waits until a stream of the child has something; both are drained, so that it never blocks on one. */
static bool pump(struct child *c, bool plain_out, uint64_t until_ms)
{
	struct pollfd p[2] = { { .fd = c->err, .events = POLLIN }, { .fd = plain_out ? -1 : c->out, .events = POLLIN } };
	uint64_t now = now_ms();

	if (now >= until_ms || poll(p, 2, (int)(until_ms - now)) <= 0)
		return false;
	if (p[0].revents)
		take(&c->err, &c->errs);
	if (p[1].revents)
		take(&c->out, &c->outs);
	return true;
}

static bool is_plain(const struct child *c)
{
	return c->out >= 0 && lseek(c->out, 0, SEEK_CUR) >= 0;
}

void child__drain(struct child *c)
{
	while (pump(c, is_plain(c), now_ms() + 1))
		;
}

/* The end of the first whole line of stderr from `from` on that is the wanted one, 0 if it is not there yet; *ret_next is where to go on. */
static size_t find_line(struct child *c, size_t from, const char *prefix, const char *also, size_t *ret_next)
{
	char *line = c->errs.s + from, *end;

	for (; (end = strchr(line, '\n')); line = end + 1) {
		bool found;

		*end = 0;
		found = !strncmp(line, prefix, strlen(prefix)) && (!also || strstr(line, also));
		*end = '\n';
		if (found)
			return (size_t)(end + 1 - c->errs.s);
	}
	*ret_next = (size_t)(line - c->errs.s);
	return 0;
}

size_t child__see_err(struct test *t, struct child *c, size_t from, const char *prefix, const char *also, unsigned int limit_s)
{
	uint64_t until = now_ms() + limit_s * 1000ULL;
	bool plain = is_plain(c);
	size_t found;

	while (!(found = find_line(c, from, prefix, also, &from))) {
		must(t, c->err >= 0, "stderr ended without a line '%s...%s'; it ends with: %.700s", prefix, also ? also : "", c->errs.s + (c->errs.n > 700 ? c->errs.n - 700 : 0));
		must(t, pump(c, plain, until), "no line '%s...%s' on stderr in %u s; it was: %.600s", prefix, also ? also : "",
		     limit_s, c->errs.s);
	}
	t->n_checks++;
	return found;
}

void child__wait_err(struct test *t, struct child *c, const char *prefix, const char *also, unsigned int limit_s)
{
	c->err_seen = child__see_err(t, c, c->err_seen, prefix, also, limit_s);
}

void child__wait_out(struct test *t, struct child *c, const char *text, unsigned int times)
{
	uint64_t until = now_ms() + WAIT_S * 1000ULL;
	const char *at = c->outs.s;

	for (unsigned int n = 0; n < times; n++) {
		size_t from = (size_t)(at - c->outs.s);

		while (!(at = strstr(c->outs.s + from, text)))
			must(t, c->out >= 0 && pump(c, false, until), "standard output has '%s' %u times, wanted %u; stderr: %.600s", text, n, times, c->errs.s);
		at += strlen(text);
	}
	t->n_checks++;
}

int child__wait_for(struct test *t, struct child *c, unsigned int limit_s)
{
	uint64_t until = now_ms() + limit_s * 1000ULL;
	bool plain = is_plain(c);

	if (c->in >= 0)
		close(c->in);
	c->in = -1;
	while (c->err >= 0 || (!plain && c->out >= 0))
		must(t, pump(c, plain, until), "process %d goes on after %u s; stderr: %.600s", c->pid, limit_s, c->errs.s);
	if (plain) {
		lseek(c->out, 0, SEEK_SET);
		while (take(&c->out, &c->outs))
			;
	}
	if (!c->reaped)
		must(t, waitpid(c->pid, &c->status, 0) == c->pid, "waitpid %d: %s", c->pid, strerror(errno));
	c->reaped = true;
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

int child__wait(struct test *t, struct child *c)
{
	return child__wait_for(t, c, WAIT_S);
}

void child__kill(struct test *t, struct child *c, int sig)
{
	must(t, !c->reaped && !kill(c->pid, sig), "kill %d: %s", c->pid, strerror(errno));
}

/* ---- fixtures */

const char *fixture(const char *name)
{
	static char path[8][4096];
	static unsigned int n;
	char *p = path[n++ % 8];

	snprintf(p, sizeof(path[0]), "%s/%s", lt_fixtures, name);
	return p;
}

bool fixture_there(const char *name)
{
	return access(fixture(name), R_OK) == 0;
}

/* The next line of the fixture's standard output, without its newline. */
void fx__line(struct test *t, struct fx *f, char *line, size_t room)
{
	uint64_t until = now_ms() + WAIT_S * 1000ULL;
	char *end;
	size_t n;

	while (!(end = memchr(f->c.outs.s, '\n', f->c.outs.n))) {
		must(t, f->c.out >= 0, "the fixture ended early, with %d; it said: %.200s%.300s",
		     f->c.out < 0 ? child__wait(t, &f->c) : 0, f->c.outs.s, f->c.errs.s);
		must(t, pump(&f->c, false, until), "the fixture says nothing for %u s; so far: %.300s", WAIT_S, f->c.outs.s);
	}
	n = (size_t)(end - f->c.outs.s);
	must(t, n < room, "a line of %zu bytes from the fixture", n);
	memcpy(line, f->c.outs.s, n);
	line[n] = 0;
	f->c.outs.n -= n + 1;
	memmove(f->c.outs.s, end + 1, f->c.outs.n + 1);
}

void fx__wait_line(struct test *t, struct fx *f, const char *wanted)
{
	char line[512];

	fx__line(t, f, line, sizeof(line));
	must(t, !strcmp(line, wanted), "the fixture said '%s', wanted '%s'", line, wanted);
}

void fx__wait_ready(struct test *t, struct fx *f)
{
	fx__wait_line(t, f, "ready");
}

void fx__start_as(struct test *t, struct fx *f, struct spawn *s)
{
	memset(f, 0, sizeof(*f));
	child__start(t, &f->c, s);
	fx__wait_ready(t, f);
}

static void collect(struct spawn *s, unsigned int n, va_list ap)
{
	const char *arg;

	while ((arg = va_arg(ap, const char *)) && n < 31)
		s->argv[n++] = arg;
}

void fx__start(struct test *t, struct fx *f, const char *name, ...)
{
	struct spawn s = { .argv = { fixture(name) } };
	va_list ap;

	va_start(ap, name);
	collect(&s, 1, ap);
	va_end(ap);
	fx__start_as(t, f, &s);
}

void fx__start_preloaded(struct test *t, struct fx *f, const char *library, const char *name, const char *what)
{
	struct spawn s = { .argv = { fixture(name), what } };
	char env[300];

	snprintf(env, sizeof(env), "LD_PRELOAD=%s", library ? library : "");
	s.env[0] = library ? env : NULL;
	fx__start_as(t, f, &s);
	if (strstr(f->c.errs.s, "cannot be preloaded"))
		skip(t, "no library %s", library);
}

void fx__send(struct test *t, struct fx *f, char c)
{
	must(t, write(f->c.in, &c, 1) == 1, "the fixture does not listen: %s", strerror(errno));
}

void fx__read_ledger(struct test *t, struct fx *f)
{
	struct text all = { 0 };
	char line[512];

	do {
		fx__line(t, f, line, sizeof(line));
		text__add(&all, line, strlen(line));
		text__add(&all, "\n", 1);
	} while (strcmp(line, "end"));
	must(t, ledger__parse(&f->led, all.s), "a ledger that makes no sense: %.300s", all.s);
	/* a block that never was: shows that the checks can fail */
	if (getenv("LIVE_TESTS_WRONG") && f->led.n)
		f->led.site[0].v[LED_ALLOC_CALLS]++;
	free(all.s);
}

void fx__go(struct test *t, struct fx *f)
{
	fx__send(t, f, 'g');
	fx__read_ledger(t, f);
}

void fx__quit(struct test *t, struct fx *f)
{
	want_eq(t, "the fixture's exit status", 0, (uint64_t)child__wait(t, &f->c));
}

/* ---- malloctrace */

const char *number_arg(uint64_t n)
{
	static char text[8][24];
	static unsigned int i;
	char *p = text[i++ % 8];

	snprintf(p, sizeof(text[0]), "%" PRIu64, n);
	return p;
}

const char *pid_arg(pid_t pid)
{
	return number_arg((uint64_t)pid);
}

void mt__start_v(struct test *t, struct mt *m, struct spawn *s)
{
	s->plain_out = true;
	memset(m, 0, sizeof(*m));
	child__start(t, &m->c, s);
	close(m->c.in);
	m->c.in = -1;
}

void mt__start(struct test *t, struct mt *m, const char *arg, ...)
{
	struct spawn s = { .argv = { lt_bin, arg } };
	va_list ap;

	va_start(ap, arg);
	collect(&s, 2, ap);
	va_end(ap);
	mt__start_v(t, m, &s);
}

int mt__run(struct test *t, struct mt *m, const char *arg, ...)
{
	struct spawn s = { .argv = { lt_bin, arg } };
	va_list ap;

	va_start(ap, arg);
	if (arg)
		collect(&s, 2, ap);
	va_end(ap);
	mt__start_v(t, m, &s);
	return child__wait(t, &m->c);
}

void mt__wait_attached(struct test *t, struct mt *m)
{
	child__wait_err(t, &m->c, "malloctrace: attached", NULL, WAIT_S);
}

void mt__stop(struct test *t, struct mt *m, int sig, int want_exit)
{
	int got;

	if (sig)
		child__kill(t, &m->c, sig);
	got = child__wait(t, &m->c);
	want(t, got == want_exit, "malloctrace's exit status, wanted %d, got %d; stderr: %.600s; %.500s", want_exit, got, m->c.errs.s,
	     strstr(m->c.outs.s ? m->c.outs.s : "", "\"losses\"") ?: "");
}

json_t *mt__stop_json(struct test *t, struct mt *m, int sig, int want_exit)
{
	json_error_t e;
	json_t *root;

	mt__stop(t, m, sig, want_exit);
	root = with_frames(json_loads(m->c.outs.s, JSON_REJECT_DUPLICATES, &e));
	must(t, root != NULL, "standard output is no JSON: line %d: %s; %zu bytes: %.200s; stderr: %.400s", e.line, e.text,
	     m->c.outs.n, m->c.outs.s, m->c.errs.s);
	want_invariants(t, root);
	return root;
}

/* ---- traces that end by themselves */

void period__begin(struct period *p)
{
	p->begun_ms = now_ms();
}

/* The trace began after period__begin(): what is done so much later is in it. */
void period__worked(struct period *p)
{
	p->short_ = (double)(now_ms() - p->begun_ms) >= p->s * 1000;
}

bool period__was_short(struct period *p)
{
	if (p->short_)
		p->s *= 2;
	return p->short_;
}

const char *period__arg(const struct period *p, unsigned int n)
{
	static char text[4][24];
	static unsigned int i;
	char *s = text[i++ % 4];

	snprintf(s, sizeof(text[0]), "%g", p->s / n);
	return s;
}

json_t *trace(struct test *t, struct fx *f, int want_exit, const char *extra, ...)
{
	struct spawn s = { .argv = { lt_bin, "-p", pid_arg(f->c.pid), "--json", extra } };
	struct mt m;
	json_t *root;
	va_list ap;

	va_start(ap, extra);
	if (extra)
		collect(&s, 5, ap);
	va_end(ap);
	mt__start_v(t, &m, &s);
	mt__wait_attached(t, &m);
	fx__go(t, f);
	root = mt__stop_json(t, &m, SIGINT, want_exit);
	if (!want_exit)
		want_lossless(t, root);
	want_scan(t, root);
	return root;
}

bool put_text(const char *dir, const char *file, const char *text)
{
	char path[256];
	int fd;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	return ok;
}
