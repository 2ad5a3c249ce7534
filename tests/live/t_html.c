// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The HTML report of a real process: the same figures as JSON has, and names that stay names. */
#include "lt.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define DATA_BEGIN "<script type=\"application/json\" id=\"data\">\n"
#define SCRIPT_END "</script>"
#define IMG "<img src=x onerror=document.title='RAN'>"
#define SCRIPT "</script><script>document.title='RAN'</script>"

static json_t *data_of(struct test *t, const char *page)
{
	const char *begin = strstr(page, DATA_BEGIN), *end = begin ? strstr(begin, SCRIPT_END) : NULL;
	json_error_t e;
	json_t *data;

	must(t, end != NULL, "the page has no data");
	begin += strlen(DATA_BEGIN);
	data = json_loadb(begin, (size_t)(end - begin), 0, &e);
	must(t, data != NULL, "the data is no JSON: line %d: %s", e.line, e.text);
	return data;
}

static bool has_string(json_t *data, const char *s)
{
	json_t *v;
	size_t i;

	json_array_foreach(jget(data, "strings"), i, v)
		if (!strcmp(json_string_value(v), s))
			return true;
	return false;
}

/* Where a column of a site's row is. */
static size_t column(struct test *t, json_t *data, const char *name)
{
	json_t *v;
	size_t i;

	json_array_foreach(jget(data, "site_columns"), i, v)
		if (!strcmp(json_string_value(v), name))
			return i;
	must(t, false, "no column %s", name);
	return 0;
}

static void want_same_figures(struct test *t, json_t *data, json_t *root)
{
	size_t at = column(t, data, "counters"), i, k;
	json_t *name, *site;

	json_array_foreach(jget(data, "counters"), i, name) {
		const char *key = json_string_value(name);
		uint64_t sum = 0, total = json_integer_value(json_array_get(jget(data, "totals"), i));

		want_eq(t, key, json_integer_value(json_object_get(jget(root, "totals"), key)), total);
		json_array_foreach(jget(data, "sites"), k, site)
			sum += json_integer_value(json_array_get(json_array_get(site, at), i));
		if (!strncmp(key, "live", 4) || !strncmp(key, "alloc", 5) || (!strncmp(key, "free", 4)))
			want_eq(t, key, total, sum);
	}
	want_eq(t, "sites", json_array_size(jget(root, "sites")), json_array_size(jget(data, "sites")));
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
	data = data_of(t, page);
	root = load_json(t, json);
	want_same_figures(t, data, root);
	want_eq(t, "live_bytes", 40000, ju64(t, root, "totals.live_bytes"));
	want(t, has_string(data, IMG), "the symbol " IMG ", wanted among the strings");
	want(t, has_string(data, SCRIPT), "the symbol " SCRIPT ", wanted among the strings");
	want(t, !strcmp(jstr(data, "processes[0].comm"), "</script><b>&"), "the process's name, wanted as it is, got %s",
	     jstr(data, "processes[0].comm"));
	want_eq(t, "script elements", 2, n_of(page, "<script"));
	want_eq(t, "their ends", 2, n_of(page, SCRIPT_END));
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
	json_t *data;
	char *page;

	fx__start(t, &f, "basic", "leak", "10", NULL);
	mt__start(t, &m, "-p", pid_arg(f.c.pid), "--mode", "count", "--batch", "-o", html, NULL);
	mt__wait_attached(t, &m);
	fx__go(t, &f);
	mt__stop(t, &m, SIGINT, 0);
	page = read_all(html, NULL);
	must(t, page != NULL, "no %s", html);
	data = data_of(t, page);
	want(t, !strcmp(jstr(data, "mode"), "count"), "the mode, wanted count, got %s", jstr(data, "mode"));
	want_eq(t, "known counters", 3, json_array_size(jget(data, "known")));
	want_eq(t, "metrics", 2, json_array_size(jget(data, "metrics")));
	free(page);
	fx__quit(t, &f);
}
