/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Names that differ in numbers alone: worker-1 and worker-2 are worker-*. */
#ifndef MT_NUMBERED_H
#define MT_NUMBERED_H

/* The same for all names that differ in numbers alone, and for no others; the caller's, NULL without memory. */
char *numbered__pattern(const char *name);

/*
 * sum begins as a copy of a name; names of the same pattern are added to it, and
 * then it is ended: numbers that differed are "*", so that three times "python3"
 * is "python3".
 */
void numbered__add(char *sum, const char *name);
void numbered__end(char *sum);

#endif
