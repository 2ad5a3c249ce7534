/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Where CMD of -- CMD reads from and prints to: not to a terminal that has the live view on it. */
#ifndef MT_CMD_OUTPUT_H
#define MT_CMD_OUTPUT_H

#include <stdbool.h>
#include <sys/types.h>

#include "options/opts.h"
#include "util/err.h"

struct cmd_output {		/* all zero: CMD has what malloctrace has */
	int fds[3];		/* for struct spawn_opts; owned; 0: as ours */
	int held_fd;		/* what it printed on the terminal, to be shown later; one of these, or 0 */
	int to_fd;		/* where that belongs */
	off_t shown;		/* so much of it was */
	int named_fd;		/* --cmd-output; one of these, or 0 */
};

/* live: there will be a live view. */
int cmd_output__open(struct cmd_output *c, const struct opts *o, bool live, struct err *e);
/* CMD is about to begin: the file that was named is emptied, not before. */
void cmd_output__begin(const struct cmd_output *c);
/* What was held back and not shown yet, on the terminal, which must be the normal one again. */
void cmd_output__show(struct cmd_output *c);
void cmd_output__close(struct cmd_output *c);

#endif
