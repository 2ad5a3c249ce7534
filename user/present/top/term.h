/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* The terminal: a grid goes out, keys and clicks come in. The only part that knows curses. */
#ifndef MT_TERM_H
#define MT_TERM_H

#include <stdbool.h>

#include "present/top/grid.h"
#include "present/top/top.h"
#include "util/err.h"

struct term_event {
	bool mouse;
	int key;		/* enum top_key or a character */
	enum top_mouse what;	/* of the mouse */
	int row, col;
};

/* Can this terminal show more than lines? If not, e says why, in a sentence. */
bool term__is_able(struct err *e);

/*
 * Takes the terminal of standard input and output: another screen, no echo.
 * From here on it is given back on every way out of the program, also by a
 * signal that ends it. There is one at a time.
 */
int term__open(struct err *e);
/* Gives it back. Also of one that was never taken. */
void term__close(void);
void term__size(int *ret_rows, int *ret_cols);
/* The window has another size now. */
void term__resized(void);
/* What changed since the last one. */
void term__draw(const struct grid *g);
/* The next drawing sends everything: somebody else has written on the screen. */
void term__repaint(void);
/* The next thing typed, clicked or turned; false: there is nothing more. */
bool term__read(struct term_event *ret);
/* Is there still a terminal at the other end? */
bool term__gone(void);
/* Ctrl-Z: gives the terminal back, stops this process until it is told to go on, and takes the terminal again. */
void term__stop(void);

#endif
