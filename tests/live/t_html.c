// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The HTML report of a real process: the same figures as JSON has, and names that stay names. */
#include "lt.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define DATA_BEGIN "<script type=\"application/json\" id=\"data\">\n"
#define WORDS_BEGIN "<script type=\"application/json\" id=\"words\">\n"
#define SCRIPT_END "</script>"
#define IMG "<img src=x onerror=document.title='RAN'>"
#define SCRIPT "</script><script>document.title='RAN'</script>"

static json_t *element(struct test *t, const char *page, const char *tag)
{
	const char *begin = strstr(page, tag), *end = begin ? strstr(begin, SCRIPT_END) : NULL;
	json_error_t e;
	json_t *data;

	must(t, end != NULL, "the page has no data");
	begin += strlen(tag);
	data = json_loadb(begin, (size_t)(end - begin), 0, &e);
	must(t, data != NULL, "the data is no JSON: line %d: %s", e.line, e.text);
	return data;
}

static bool has_function(json_t *data, const char *s)
{
	json_t *v;
	size_t i;

	json_array_foreach(jget(data, "frames"), i, v) {
		const char *name = json_string_value(json_object_get(v, "function"));

		if (name && !strcmp(name, s))
			return true;
	}
	return false;
}

/* The file and what is in the page are one profile, and its sites are all there is. */
static void want_same_figures(struct test *t, json_t *data, json_t *root)
{
	static const char *const keys[] = { "alloc_calls", "alloc_bytes", "free_calls", "free_bytes", "live_blocks", "live_bytes" };
	json_t *site;
	size_t k;

	want(t, json_equal(data, root), "the page's profile, wanted that of the file");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		uint64_t sum = 0;

		json_array_foreach(jget(data, "sites"), k, site)
			sum += json_integer_value(json_object_get(site, keys[i]));
		want_eq(t, keys[i], json_integer_value(json_object_get(jget(root, "totals"), keys[i])), sum);
	}
}

static size_t n_of(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

TEST(html_of_hostile_names)
{
	const char *html = in_dir(t, "a.html"), *json = in_dir(t, "a.json");
	json_t *data, *root;
	struct fx f;
	struct mt m;
	char *page;

	fx__start(t, &f, "hostile", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--batch", "-o", html, "-o", json, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	page = read_all(html, NULL);
	must(t, page != NULL, "no %s", html);
	data = element(t, page, DATA_BEGIN);
	root = json_load_file(json, JSON_REJECT_DUPLICATES, NULL);
	must(t, root != NULL, "no JSON in %s", json);
	want_same_figures(t, data, root);
	want_eq(t, "live_bytes", 40000, ju64(t, root, "totals.live_bytes"));
	want(t, has_function(data, IMG), "the symbol " IMG ", wanted among the frames");
	want(t, has_function(data, SCRIPT), "the symbol " SCRIPT ", wanted among the frames");
	want(t, !strcmp(jstr(data, "processes[0].comm"), "</script><b>&"), "the process's name, wanted as it is, got %s",
	     jstr(data, "processes[0].comm"));
	want_eq(t, "script elements", 3, n_of(page, "<script"));
	want_eq(t, "their ends", 3, n_of(page, SCRIPT_END));
	want_eq(t, "img elements", 0, n_of(page, "<img"));
	free(page);
	fx__quit(t, &f);
}

/* Without frees there is less to tell, and the page is told so. */
TEST(html_of_counts)
{
	const char *html = in_dir(t, "a.html");
	struct fx f;
	struct mt m;
	json_t *data, *v;
	const char *key;
	size_t known = 0;
	char *page;

	fx__start(t, &f, "basic", "leak", "10", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "count", "--batch", "-o", html, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	page = read_all(html, NULL);
	must(t, page != NULL, "no %s", html);
	data = element(t, page, DATA_BEGIN);
	want(t, !strcmp(jstr(data, "mode"), "count"), "the mode, wanted count, got %s", jstr(data, "mode"));
	json_object_foreach(jget(data, "totals"), key, v)
		known += !json_is_null(v);
	want_eq(t, "known counters", 3, known);
	want_eq(t, "metrics", 2, json_array_size(jget(element(t, page, WORDS_BEGIN), "metrics")));
	free(page);
	fx__quit(t, &f);
}
