/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Completion scripts for shells, made from the table of options. */
#ifndef MT_COMPLETE_H
#define MT_COMPLETE_H

#include <stdio.h>

#define COMPLETION_SHELLS "bash zsh fish"

/* The script of one of COMPLETION_SHELLS; nothing of another one. */
void complete__print(FILE *out, const char *shell);

#endif
