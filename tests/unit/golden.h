/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Output compared with a file of tests/golden/. MT_GOLDEN=renew writes the
 * files instead; MT_SRC is the repository's root, if tests run elsewhere.
 */
#ifndef MT_GOLDEN_H
#define MT_GOLDEN_H

#include <stddef.h>

/* Fails the test that calls it if they differ; the output is then left in /tmp for a look. */
void golden__check(const char *name, const char *text, size_t len);

#endif
