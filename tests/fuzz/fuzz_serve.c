// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What strangers ask `serve` for, and what it says of processes whose names anybody chose. The first byte is what is asked for, the
 * first line the header Host, the rest key=value&key=value; or, one beyond, a profile, of which metrics are made: whatever is in it,
 * they are lines of text in UTF-8, each of them a comment or a series with its value.
 */
#include "files/json/json_read.h"
#include "model/narrow.h"
#include "model/since.h"
#include "serve/serve.h"
#include "fuzz.h"

static struct snapshot *sample;

/* ---- a request */

static void check_ask(const struct serve_ask *a)
{
	if (a->seconds > SERVE_SECONDS_MAX || a->pid < 0 || !memchr(a->comm, 0, sizeof(a->comm)) || !memchr(a->cgroup, 0, sizeof(a->cgroup)) ||
	    !memchr(a->container, 0, sizeof(a->container)) || !memchr(a->pod, 0, sizeof(a->pod)))
		abort();
}

static void narrowed(const struct serve_ask *a)
{
	struct narrowing n = { .pid = a->pid, .comm = a->comm, .cgroup = a->cgroup, .container = *a->container ? a->container : NULL,
			       .pod = *a->pod ? a->pod : NULL };
	struct snapshot *s = snapshot__narrow(sample, &n), *since = s ? snapshot__since(sample, s) : NULL;

	if (!s || !since || s->n_processes > sample->n_processes || s->n_sites > sample->n_sites || since->n_sites > s->n_sites)
		abort();
	snapshot__free(since);
	snapshot__free(s);
}

static void asked(uint32_t what, char *text)
{
	struct serve_ask a = { .what = what };
	char *line = strchr(text, '\n'), *save = NULL;

	if (line)
		*line++ = '\0';
	web_query__is_local(text);
	for (char *word = line ? strtok_r(line, "&", &save) : NULL; word; word = strtok_r(NULL, "&", &save)) {
		char *value = strchr(word, '=');

		if (value)
			*value++ = '\0';
		web_query__take(&a, word, value ? value : "");
		check_ask(&a);
	}
	narrowed(&a);
}

/* ---- metrics */

/* The bytes of the character at s; 0: it is none. */
static size_t utf8_len(const unsigned char *s)
{
	size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) || (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

static void check_line(const char *line)
{
	bool quoted = false;
	const char *space = strrchr(line, ' ');
	char *end;

	for (const char *s = line; *s; s += utf8_len((const unsigned char *)s)) {
		if (!utf8_len((const unsigned char *)s) || (unsigned char)*s < ' ')
			abort();
		if (*s == '\\' && quoted)
			s++;
		else if (*s == '"')
			quoted = !quoted;
	}
	if (*line == '#')
		return;
	if (quoted || !space || strncmp(line, "malloctrace_", 12))
		abort();
	strtod(space + 1, &end);
	if (*end || end == space + 1)
		abort();
}

static void check_metrics(const char *text, size_t len)
{
	struct metrics_own own = {};
	struct metrics *m = metrics__new();
	struct snapshot *s = NULL;
	char *out = NULL, *save = NULL;
	size_t n;
	FILE *f;

	if (!m || json_read__text(text, len, &s, NULL)) {
		metrics__free(m);
		return;
	}
	f = open_memstream(&out, &n);
	if (!f)
		abort();
	metrics__write(m, f, s, &own);
	if (fclose(f))
		abort();
	for (char *line = strtok_r(out, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		check_line(line);
	free(out);
	metrics__free(m);
	snapshot__free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = len ? text_of(data + 1, len - 1) : NULL;

	if (!text)
		return 0;
	if (data[0] % (N_SERVED + 1) == N_SERVED)
		check_metrics(text, len - 1);
	else
		asked(data[0] % (N_SERVED + 1), text);
	free(text);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	_cleanup_free_ char *profile = NULL;
	size_t n;

	if (read_small_file("tests/golden/sample.json", &profile, &n) || json_read__text(profile, n, &sample, NULL))
		abort();
	put_text_seed("heap", SERVE_HEAP, "localhost:9464\nseconds=10&pid=1432&comm=ngin*");
	put_text_seed("page", SERVE_PAGE, "[::1]:9464\ncgroup=/system.slice&pod=shop/cart-0&container=0123abcd");
	put_text_seed("metrics", SERVE_METRICS, "127.0.0.1\ndebug=1");
	put_seed("profile", N_SERVED, profile, n);
	return 0;
}
