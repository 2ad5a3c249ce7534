// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the two lines below the live view's tables: what was said, what is going on or
 * what is being typed, and the keys:
 *
 *	filter: rax(	bad regex: Unmatched ( or \\(
 *	Enter keep  Esc no filter  a part of a name, or a regular expression
 *
 * What always holds: the keys of help and of the way out are there at any width that has room
 * for them; where somebody types, what is wrong with it stands in the same line.
 */
#include <string.h>

#include "present/top/top_parts.h"
#include "util/text.h"

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

		grid__put(g, row, 0, g->cols, STYLE_BAD, why ? why : "");
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
		message_lines(g, row, t->message);
	else if (t->all_ended)
		grid__put(g, row, 0, g->cols, STYLE_WARN, "Every process that was traced has ended. The tables stay; q shows the final report.");
	key_line(t, g, row + 1);
}
