// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the lines below the tables, and the line that is typed into: a filter, which counts with every letter that makes
 * it a regular expression, or the name of a file. What always holds: it is valid UTF-8 if what was typed is; what
 * was not taken stays there until it is, or until Esc.
 */
#include <string.h>
#include <time.h>

#include "present/top/top_parts.h"

static void begin_prompt(struct top *t, enum top_prompt what, const char *text)
{
	t->prompt = what;
	snprintf(t->input, sizeof(t->input), "%s", text);
	t->input_at = strlen(t->input);
	*t->refused = 0;
}

void top__refuse_path(struct top *t, const char *why)
{
	begin_prompt(t, PROMPT_WRITE, t->path);
	snprintf(t->refused, sizeof(t->refused), "%s", why);
}

enum top_action top__ask_filter(struct top *t, int key)
{
	begin_prompt(t, PROMPT_FILTER, t->filter);
	return TOP_NONE;
}

/* What a file's name may be made of without quotes anywhere. */
static void plain_name(char *to, size_t size, const char *from)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = 0;

	for (; *from && n + 1 < size; from++, n++)
		to[n] = strchr(ok, *from) && (n || *from != '-') ? *from : '_';
	to[n] = 0;
}

enum top_action top__ask_path(struct top *t, int key)
{
	const struct snap_process *p = top__scope_process(t);
	time_t now = t->shown ? (time_t)(t->shown->wall_now_ns / (int64_t)TOP_NS_PER_S) : 0;
	char when[32] = "", who[40], path[160];
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(when, sizeof(when), "%Y%m%d-%H%M%S", &tm);
	plain_name(who, sizeof(who), p ? p->comm : "heap");
	if (p)
		snprintf(path, sizeof(path), "%s-%d-%s%s", who, (int)p->pid, when, t->o.suffix);
	else
		snprintf(path, sizeof(path), "%s-%s%s", who, when, t->o.suffix);
	begin_prompt(t, PROMPT_WRITE, path);
	return TOP_NONE;
}

static size_t step_back(const char *s, size_t at)
{
	while (at > 0 && (s[--at] & 0xc0) == 0x80)
		;
	return at;
}

static size_t step_on(const char *s, size_t at)
{
	if (s[at])
		at++;
	while ((s[at] & 0xc0) == 0x80)
		at++;
	return at;
}

static void erase(struct top *t, size_t from, size_t to)
{
	memmove(t->input + from, t->input + to, strlen(t->input + to) + 1);
	t->input_at = from;
}

static void insert(struct top *t, uint32_t c)
{
	char bytes[4];
	size_t n = utf8__encode(bytes, c), len = strlen(t->input);

	if (len + n >= sizeof(t->input))
		return;
	memmove(t->input + t->input_at + n, t->input + t->input_at, len - t->input_at + 1);
	memcpy(t->input + t->input_at, bytes, n);
	t->input_at += n;
}

/* The suffix that the name has gives way to the next one. */
static void next_suffix(struct top *t)
{
	const char *all = t->o.suffixes, *found = NULL;
	size_t len = strlen(t->input), found_len = 0, n;

	for (const char *s = all; *s; s += n + strspn(s + n, " ")) {
		n = strcspn(s, " ");
		if (n > found_len && len >= n && !strncmp(t->input + len - n, s, n)) {
			found = s;
			found_len = n;
		}
	}
	if (found)
		found += found_len + strspn(found + found_len, " ");
	if (!found || !*found)
		found = all;
	n = strcspn(found, " ");
	len -= found_len;
	if (len + n >= sizeof(t->input))
		return;
	memcpy(t->input + len, found, n);
	t->input[len + n] = 0;
	t->input_at = len + n;
}

static enum top_action end_prompt(struct top *t, bool accept)
{
	enum top_prompt what = t->prompt;

	/* what is wrong is to be seen, and what was typed to be mended */
	if (what == PROMPT_FILTER && accept && !top__set_filter(t, t->input))
		return TOP_NONE;
	t->prompt = PROMPT_NONE;
	if (what == PROMPT_FILTER && !accept) {
		top__set_filter(t, "");
		top__drop_tree(t);
		top__build_rows(t);
	}
	if (what != PROMPT_WRITE || !accept || !*t->input)
		return TOP_NONE;
	snprintf(t->path, sizeof(t->path), "%s", t->input);
	return TOP_WRITE;
}

enum top_action top__prompt_key(struct top *t, int key)
{
	if (key != TOP_KEY_LEFT && key != TOP_KEY_RIGHT)
		*t->refused = 0;
	switch (key) {
	case TOP_KEY_ENTER:
		return end_prompt(t, true);
	case TOP_KEY_ESC:
		return end_prompt(t, false);
	case TOP_KEY_LEFT:
		t->input_at = step_back(t->input, t->input_at);
		return TOP_NONE;
	case TOP_KEY_RIGHT:
		t->input_at = step_on(t->input, t->input_at);
		return TOP_NONE;
	case TOP_KEY_HOME:
	case 'A' - '@':
		t->input_at = 0;
		return TOP_NONE;
	case TOP_KEY_END:
	case 'E' - '@':
		t->input_at = strlen(t->input);
		return TOP_NONE;
	case TOP_KEY_BACKSPACE:
		erase(t, step_back(t->input, t->input_at), t->input_at);
		break;
	case TOP_KEY_DELETE:
		erase(t, t->input_at, step_on(t->input, t->input_at));
		break;
	case 'U' - '@':
		erase(t, 0, t->input_at);
		break;
	case TOP_KEY_TAB:
		if (t->prompt == PROMPT_WRITE)
			next_suffix(t);
		return TOP_NONE;
	default:
		if (key < 0x20 || key == 0x7f || key >= TOP_KEY_UP)
			return TOP_NONE;
		insert(t, (uint32_t)key);
	}
	if (t->prompt == PROMPT_FILTER) {
		top__set_filter(t, t->input);
		top__drop_tree(t);
		top__build_rows(t);
	}
	return TOP_NONE;
}

/* ---- the lines below the tables */

/*
 * The two lines below the live view's tables: what was said, what is going on or
 * what is being typed, and the keys:
 *
 *	filter: rax(	bad regex: Unmatched ( or \\(
 *	Enter keep  Esc no filter  a part of a name, or a regular expression
 *
 * What always holds: the keys of help and of the way out are there at any width that has room
 * for them; where somebody types, what is wrong with it stands in the same line.
 */

#define REFUSED_GAP 3
#define FILTER_HINT "a part of a name, or a regular expression"

static const char *label_of(const struct top *t)
{
	return t->prompt == PROMPT_FILTER ? "filter: " : "write to: ";
}

/* Is there room behind what was typed for why it was not taken? Else that is in the line below. */
static bool fits_beside(const struct top *t, const struct grid *g, int end)
{
	return *t->refused && end + REFUSED_GAP + (int)text_width(t->refused) <= g->cols;
}

static void prompt_line(struct top *t, struct grid *g, int row)
{
	const char *label = label_of(t);
	int col = (int)strlen(label), room = g->cols - col - 1, end;
	size_t skip = 0;

	/* the end is what is being written */
	while (t->input_at > skip && (int)text_width_n(t->input + skip, t->input_at - skip) > room) {
		unsigned int cols;
		uint32_t c;

		skip += text_next(t->input + skip, strlen(t->input + skip), &c, &cols);
	}
	grid__put(g, row, 0, col, STYLE_PROMPT, label);
	end = col + grid__put(g, row, col, g->cols - col, STYLE_PLAIN, t->input + skip);
	if (fits_beside(t, g, end))
		grid__put(g, row, end + REFUSED_GAP, g->cols - end - REFUSED_GAP, STYLE_BAD, t->refused);
	g->cursor_row = row;
	g->cursor_col = MIN(col + (int)text_width_n(t->input + skip, t->input_at - skip), g->cols - 1);
}

static void prompt_keys(const struct top *t, struct grid *g, int row)
{
	const char *label = label_of(t);
	int col = 0;

	if (*t->refused && !fits_beside(t, g, (int)(strlen(label) + text_width(t->input)))) {
		_cleanup_free_ char *why = text_shorten(t->refused, (size_t)g->cols);

		grid__put(g, row, 0, g->cols, STYLE_BAD, why);
		return;
	}

	col += grid__put(g, row, col, g->cols - col, STYLE_KEY, "Enter");
	col += grid__put(g, row, col, g->cols - col, STYLE_PLAIN, t->prompt == PROMPT_FILTER ? " keep  " : " write  ");
	col += grid__put(g, row, col, g->cols - col, STYLE_KEY, "Esc");
	col += grid__put(g, row, col, g->cols - col, STYLE_PLAIN, t->prompt == PROMPT_FILTER ? " no filter  " : " do not  ");
	if (t->prompt == PROMPT_FILTER) {
		if (col + (int)strlen(FILTER_HINT) <= g->cols)
			grid__put(g, row, col, g->cols - col, STYLE_DIM, FILTER_HINT);
		return;
	}
	col += grid__put(g, row, col, g->cols - col, STYLE_KEY, "Tab");
	grid__putf(g, row, col, g->cols - col, STYLE_DIM, " other format: %s", t->o.suffixes);
}

/* In a table of the heap Enter chooses one of several processes, and has nothing to do where there is one. */
static bool does_nothing(const struct top *t, const struct top_key_row *k)
{
	if (k->key == 'p' && t->pane == PANE_TABLE)
		return !top__has_several(t);
	return k->key == TOP_KEY_ENTER && t->pane == PANE_TABLE && top__is_heap(top__view(t)) && (t->scope || !t->shown || t->shown->n_processes < 2);
}

static void key_line(const struct top *t, struct grid *g, int row)
{
	int col = 0, end = g->cols;

	/* the way to the others, and the way out */
	for (size_t i = 0; i < n_top_keys; i++)
		if (top_keys[i].key == '?' || top_keys[i].key == 'q')
			end -= (int)strlen(top_keys[i].footer) + 4;
	for (size_t i = 0; i < n_top_keys; i++) {
		const struct top_key_row *k = &top_keys[i];
		bool last = k->key == '?' || k->key == 'q';
		int cols;

		if (!k->footer || !(k->panes & 1u << t->pane) || (k->panes & 1u << PANE_N && !(t->pane == PANE_TABLE && top__is_heap(top__view(t)))) || does_nothing(t, k))
			continue;
		cols = (int)(text_width(k->shown) + 1 + text_width(k->footer));
		if (!last && col + cols > end)
			continue;
		col += grid__put(g, row, col, g->cols - col, STYLE_KEY, k->shown) + 1;
		col += grid__put(g, row, col, g->cols - col, STYLE_PLAIN, k->footer) + 2;
	}
}

/* One that is too long for a line takes the one above, too, for as long as it is there; what is too long for both is cut, and says so. */
static void message_lines(struct grid *g, int row, const char *text)
{
	size_t fits = text_head(text, (size_t)g->cols), first = fits;
	_cleanup_free_ char *rest = NULL;

	if (!text[fits] || row < 1) {
		grid__put(g, row, 0, g->cols, STYLE_MESSAGE, text);
		return;
	}
	while (first && text[first] != ' ')
		first--;
	first = first ? first : fits;
	rest = text_shorten(text + first + strspn(text + first, " "), (size_t)g->cols);
	grid__fill(g, row - 1, 0, g->cols, STYLE_MESSAGE, ' ');
	grid__putf(g, row - 1, 0, g->cols, STYLE_MESSAGE, "%.*s", (int)first, text);
	grid__put(g, row, 0, g->cols, STYLE_MESSAGE, rest ? rest : "");
}

void top__draw_footer(struct top *t, struct grid *g)
{
	int row = g->rows - 2;

	if (t->prompt != PROMPT_NONE) {
		prompt_line(t, g, row);
		prompt_keys(t, g, row + 1);
		return;
	}
	if (*t->progress)
		message_lines(g, row, t->progress);
	else if (*t->message)
		message_lines(g, row - t->all_ended, t->message);
	if (t->all_ended && !*t->progress)
		grid__put(g, row, 0, g->cols, STYLE_WARN, "Every process that was traced has ended. The tables stay; q shows the final report.");
	key_line(t, g, row + 1);
}
