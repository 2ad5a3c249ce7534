// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the terminal while the live view is up. curses does what it is good at:
 * it knows terminals, sends what changed and no more, and reads keys.
 *
 * What always holds: before the first byte goes out, it is settled how the
 * terminal comes back: by term__close(), by exit(), or by the handler of a signal
 * that ends the program, which uses nothing but bytes and settings kept for it.
 * Signals that the session reads by itself are left to it.
 */
#define NCURSES_WIDECHAR 1
#include "present/top/term.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "util/util.h"

#define ESC_DELAY_MS 50
#define FAREWELL_MAX 512
#define ALT_STACK_BYTES (64 * 1024)

/* Signals that end a program in the middle of something. */
static const int deadly[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGSYS, SIGTRAP, SIGXCPU, SIGXFSZ };
/* Signals that curses would take for itself. */
static const int curses_signals[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };

static struct {
	SCREEN *screen;
	struct grid last;	/* what the terminal shows */
	struct grid ascii;
	bool utf8, colours, repaint, gone, registered;
	struct termios settings;	/* as they were */
	char farewell[FAREWELL_MAX];	/* what brings the normal screen back */
	size_t farewell_len;
	volatile sig_atomic_t up;
	struct sigaction before[ARRAY_SIZE(deadly)];
	char *alt_stack;
} term;

/* in <term.h>, whose macros take half of the words there are */
extern int setupterm(const char *name, int fd, int *ret);

/* ---- the way back */

static void restore(void)
{
	if (!term.up)
		return;
	term.up = 0;
	if (write(STDOUT_FILENO, term.farewell, term.farewell_len) < 0) {
		/* nobody is there any more */
	}
	tcsetattr(STDIN_FILENO, TCSANOW, &term.settings);
}

static void on_deadly(int sig)
{
	restore();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Without the pauses that terminfo puts in for the machines of old. */
static void add_farewell(const char *s)
{
	if (!s || s == (char *)-1)
		return;
	for (; *s && term.farewell_len < FAREWELL_MAX; s++) {
		const char *end = s[0] == '$' && s[1] == '<' ? strchr(s, '>') : NULL;

		if (end)
			s = end;
		else
			term.farewell[term.farewell_len++] = *s;
	}
}

static void prepare_farewell(void)
{
	static const char *const names[] = { "sgr0", "cnorm", "rmkx", "rmcup" };

	term.farewell_len = 0;
	/* the mouse is the terminal's again */
	add_farewell("\033[?1000l\033[?1002l\033[?1006l");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		add_farewell(tigetstr(names[i]));
	add_farewell("\r");
}

static void guard(void)
{
	struct sigaction act = { .sa_handler = on_deadly, .sa_flags = SA_ONSTACK | (int)SA_RESETHAND };
	stack_t alt = { .ss_size = ALT_STACK_BYTES };

	term.alt_stack = xmalloc(ALT_STACK_BYTES);
	alt.ss_sp = term.alt_stack;
	if (alt.ss_sp)
		sigaltstack(&alt, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
		sigaction(deadly[i], &act, &term.before[i]);
	if (!term.registered)
		atexit(restore);
	term.registered = true;
}

static void unguard(void)
{
	stack_t off = { .ss_flags = SS_DISABLE };

	for (size_t i = 0; i < ARRAY_SIZE(deadly); i++)
		sigaction(deadly[i], &term.before[i], NULL);
	sigaltstack(&off, NULL);
	free(term.alt_stack);
	term.alt_stack = NULL;
}

/* ---- colours */

#define NONE (-1)

static const struct {
	attr_t mono, colour;	/* attributes without and with colours */
	short fg8, bg8;		/* of 8 or 16 colours */
	short fg256, bg256;
} styles[STYLE_N] = {
	[STYLE_PLAIN] = { 0, 0, NONE, NONE, NONE, NONE },
	[STYLE_TITLE] = { A_BOLD, A_BOLD, NONE, NONE, NONE, NONE },
	[STYLE_LABEL] = { 0, 0, COLOR_CYAN, NONE, 73, NONE },
	[STYLE_FIGURE] = { A_BOLD, A_BOLD, NONE, NONE, NONE, NONE },
	[STYLE_DIM] = { 0, 0, NONE, NONE, 245, NONE },
	[STYLE_RULE] = { 0, 0, COLOR_BLUE, NONE, 240, NONE },
	[STYLE_TAB] = { A_REVERSE, A_BOLD, COLOR_CYAN, NONE, 81, NONE },
	[STYLE_HEAD] = { A_UNDERLINE, 0, COLOR_BLACK, COLOR_CYAN, 252, 238 },
	[STYLE_HEAD_SORT] = { A_UNDERLINE | A_BOLD, A_BOLD, COLOR_WHITE, COLOR_BLUE, 231, 25 },
	[STYLE_BAD] = { A_BOLD, A_BOLD, COLOR_RED, NONE, 203, NONE },
	[STYLE_WARN] = { 0, 0, COLOR_YELLOW, NONE, 179, NONE },
	[STYLE_GOOD] = { 0, 0, COLOR_GREEN, NONE, 71, NONE },
	[STYLE_BAR] = { 0, 0, COLOR_CYAN, NONE, 67, NONE },
	[STYLE_LOSS] = { A_REVERSE | A_BOLD, A_BOLD, COLOR_WHITE, COLOR_RED, 231, 160 },
	[STYLE_KEY] = { A_BOLD, A_BOLD, COLOR_CYAN, NONE, 81, NONE },
	[STYLE_MESSAGE] = { 0, 0, COLOR_YELLOW, NONE, 222, NONE },
	[STYLE_PROMPT] = { A_BOLD, A_BOLD, COLOR_GREEN, NONE, 114, NONE },
	[STYLE_MATCH] = { A_BOLD, A_BOLD, COLOR_GREEN, NONE, 114, NONE },
};

static void prepare_colours(void)
{
	const char *no = getenv("NO_COLOR");

	term.colours = false;
	if ((no && *no) || !has_colors() || start_color() == ERR || COLORS < 8 || COLOR_PAIRS <= STYLE_N)
		return;
	/* without the terminal's own background, ours would be black on a white one */
	if (use_default_colors() == ERR)
		return;
	term.colours = true;
	for (int i = 0; i < STYLE_N; i++)
		if (COLORS >= 256)
			init_pair((short)(i + 1), styles[i].fg256, styles[i].bg256);
		else
			init_pair((short)(i + 1), styles[i].fg8, styles[i].bg8);
}

/* ---- open and close */

/* Where nothing says what it is, it is UTF-8, as everywhere in our output. */
static bool is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		any |= getenv(names[i]) && *getenv(names[i]);
	setlocale(LC_CTYPE, any ? "" : "C.UTF-8");
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

bool term__is_able(struct err *e)
{
	const char *name = getenv("TERM"), *move;
	int err;

	if (!name || !*name || !strcmp(name, "dumb")) {
		err_set(e, -ENOTTY, "%s", name && *name ? "TERM=dumb is no terminal for the live view" : "TERM is not set");
		return false;
	}
	if (setupterm(NULL, STDOUT_FILENO, &err) == ERR) {
		err_set(e, -ENOTTY, "nothing is known of the terminal '%s'", name);
		return false;
	}
	move = tigetstr("cup");
	if (!move || move == (char *)-1) {
		err_set(e, -ENOTTY, "the terminal '%s' cannot move its cursor", name);
		return false;
	}
	return true;
}

static void take_over(void)
{
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	meta(stdscr, TRUE);
	leaveok(stdscr, FALSE);
	curs_set(0);
	mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	mouseinterval(0);
	set_escdelay(ESC_DELAY_MS);
}

/* Whoever has the terminal open may say how large it is, a target among them: of a size beyond the bound the upper left part is used. */
static bool read_size(int *ret_rows, int *ret_cols)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_row || !size.ws_col)
		return false;
	*ret_rows = MIN(size.ws_row, GRID_SIDE_MAX);
	*ret_cols = MIN(size.ws_col, GRID_SIDE_MAX);
	return true;
}

/*
 * curses believes every size that it reads by itself, but for these two variables, which it puts above it. A size that it hears of
 * later is too late: it has told the terminal already which rows scroll, and these are still so when the terminal is given back.
 */
static SCREEN *open_curses(FILE *out, FILE *in)
{
	static const char *const names[] = { "LINES", "COLUMNS" };
	char *before[ARRAY_SIZE(names)], text[16];
	int size[ARRAY_SIZE(names)];
	bool known = read_size(&size[0], &size[1]);
	SCREEN *ret;

	for (size_t i = 0; known && i < ARRAY_SIZE(names); i++) {
		before[i] = getenv(names[i]) ? xstrdup(getenv(names[i])) : NULL;
		snprintf(text, sizeof(text), "%d", size[i]);
		setenv(names[i], text, 1);
	}
	ret = newterm(NULL, out, in);
	/* programs that are started have them as they were */
	for (size_t i = 0; known && i < ARRAY_SIZE(names); i++) {
		if (before[i])
			setenv(names[i], before[i], 1);
		else
			unsetenv(names[i]);
		free(before[i]);
	}
	return ret;
}

int term__open(struct err *e)
{
	struct sigaction kept[ARRAY_SIZE(curses_signals)];

	if (tcgetattr(STDIN_FILENO, &term.settings))
		return err_set(e, -errno, "the terminal does not tell its settings: %s", strerror(errno));
	term.utf8 = is_utf8();
	term.gone = false;
	for (size_t i = 0; i < ARRAY_SIZE(curses_signals); i++)
		sigaction(curses_signals[i], NULL, &kept[i]);
	if (!term.screen)
		term.screen = open_curses(stdout, stdin);
	if (!term.screen)
		return err_set(e, -ENOTTY, "the terminal cannot be used");
	for (size_t i = 0; i < ARRAY_SIZE(curses_signals); i++)
		sigaction(curses_signals[i], &kept[i], NULL);
	prepare_farewell();
	guard();
	term.up = 1;
	prepare_colours();
	take_over();
	term.repaint = true;
	return 0;
}

void term__close(void)
{
	if (!term.screen)
		return;
	if (term.up) {
		curs_set(1);
		endwin();
		term.up = 0;
		tcsetattr(STDIN_FILENO, TCSANOW, &term.settings);
		unguard();
	}
	delscreen(term.screen);
	term.screen = NULL;
	grid__done(&term.last);
	grid__done(&term.ascii);
}

void term__size(int *ret_rows, int *ret_cols)
{
	*ret_rows = LINES;
	*ret_cols = COLS;
}

void term__resized(void)
{
	int rows, cols;

	if (!term.up || !read_size(&rows, &cols))
		return;
	resizeterm(rows, cols);
	term.repaint = true;
}

void term__repaint(void)
{
	term.repaint = true;
}

/* ---- out */

static void put_cell(int row, int col, const struct glyph *c)
{
	attr_t attrs = term.colours ? styles[c->style].colour : styles[c->style].mono;
	wchar_t text[2 + GRID_MARKS] = { (wchar_t)c->ch };
	size_t n = 1;
	cchar_t cc;

	/* what the C library takes for another width would push the rest of the row aside */
	if (wcwidth(text[0]) != c->width)
		text[0] = '?';
	for (int i = 0; i < GRID_MARKS && c->marks[i]; i++)
		if (!wcwidth((wchar_t)c->marks[i]))
			text[n++] = (wchar_t)c->marks[i];
	if (c->selected)
		attrs ^= A_REVERSE;
	setcchar(&cc, text, attrs, term.colours ? c->style + 1 : 0, NULL);
	mvadd_wch(row, col, &cc);
	if (c->width == 2 && text[0] == '?')
		mvaddch(row, col + 1, ' ' | attrs);
}

void term__draw(const struct grid *g)
{
	bool all;

	if (!term.up)
		return;
	if (!term.utf8) {
		grid__copy(&term.ascii, g);
		grid__to_ascii(&term.ascii);
		g = &term.ascii;
	}
	all = term.repaint || term.last.rows != g->rows || term.last.cols != g->cols;
	if (all)
		clear();
	for (int row = 0; row < MIN(g->rows, LINES); row++)
		for (int col = 0; col < MIN(g->cols, COLS); col++) {
			const struct glyph *c = grid__cell(g, row, col);

			if (c->width && (all || !glyph__same(c, grid__cell(&term.last, row, col))))
				put_cell(row, col, c);
		}
	grid__copy(&term.last, g);
	term.repaint = false;
	curs_set(g->cursor_row >= 0);
	if (g->cursor_row >= 0)
		move(g->cursor_row, g->cursor_col);
	refresh();
}

/* ---- in */

static const struct {
	int curses, ours;
} keys[] = {
	{ KEY_UP, TOP_KEY_UP },	  { KEY_DOWN, TOP_KEY_DOWN },	      { KEY_LEFT, TOP_KEY_LEFT },   { KEY_RIGHT, TOP_KEY_RIGHT },
	{ KEY_PPAGE, TOP_KEY_PAGE_UP }, { KEY_NPAGE, TOP_KEY_PAGE_DOWN }, { KEY_HOME, TOP_KEY_HOME },   { KEY_END, TOP_KEY_END },
	{ KEY_ENTER, TOP_KEY_ENTER }, { KEY_BACKSPACE, TOP_KEY_BACKSPACE }, { KEY_DC, TOP_KEY_DELETE }, { KEY_FIND, TOP_KEY_HOME },
	{ KEY_SELECT, TOP_KEY_END },
};

/* The same for characters. */
static const struct {
	wint_t c;
	int ours;
} characters[] = {
	{ '\r', TOP_KEY_ENTER }, { 0x7f, TOP_KEY_BACKSPACE }, { '\b', TOP_KEY_BACKSPACE }, { 'L' - '@', TOP_KEY_REDRAW },
};

static bool mouse_event(struct term_event *ret)
{
	MEVENT m;

	if (getmouse(&m) == ERR)
		return false;
	*ret = (struct term_event){ .mouse = true, .row = m.y, .col = m.x };
	if (m.bstate & BUTTON4_PRESSED)
		ret->what = TOP_WHEEL_UP;
	else if (m.bstate & BUTTON5_PRESSED)
		ret->what = TOP_WHEEL_DOWN;
	else if (m.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))
		ret->what = TOP_CLICK;
	else
		return false;
	return true;
}

static bool special_key(int key, struct term_event *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].curses == key) {
			*ret = (struct term_event){ .key = keys[i].ours };
			return true;
		}
	return false;
}

bool term__read(struct term_event *ret)
{
	wint_t c;

	while (term.up) {
		int kind;

		errno = 0;
		kind = wget_wch(stdscr, &c);
		if (kind == ERR)
			return false;
		if (kind == KEY_CODE_YES && c == KEY_MOUSE) {
			if (mouse_event(ret))
				return true;
			continue;
		}
		if (kind == KEY_CODE_YES) {
			if (special_key((int)c, ret))
				return true;
			continue;
		}
		*ret = (struct term_event){ .key = (int)c };
		for (size_t i = 0; i < ARRAY_SIZE(characters); i++)
			if (characters[i].c == c)
				ret->key = characters[i].ours;
		return true;
	}
	return false;
}

bool term__gone(void)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	int n;

	if (poll(&p, 1, 0) <= 0)
		return false;
	/* readable, though nothing came of it: the end of the file */
	return p.revents & (POLLHUP | POLLERR | POLLNVAL) || (p.revents & POLLIN && !ioctl(STDIN_FILENO, FIONREAD, &n) && !n);
}

void term__stop(void)
{
	struct sigaction kept, usual = { .sa_handler = SIG_DFL };
	sigset_t set, was;

	if (!term.up)
		return;
	endwin();
	term.up = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &term.settings);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	sigaction(SIGTSTP, &usual, &kept);
	raise(SIGTSTP);
	/* it is blocked elsewhere, and comes now: this is where the process stands still */
	sigprocmask(SIG_UNBLOCK, &set, &was);
	sigprocmask(SIG_SETMASK, &was, NULL);
	sigaction(SIGTSTP, &kept, NULL);
	tcgetattr(STDIN_FILENO, &term.settings);
	term.up = 1;
	term__resized();
	take_over();
	term.repaint = true;
}
