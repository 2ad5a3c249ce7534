/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Whose words the environment has. A malloctrace that got capabilities from its file (AT_SECURE) was started by somebody
 * who has none: what that user put into the environment must not steer libraries which then act with these capabilities.
 */
#ifndef MT_ENVIRONMENT_H
#define MT_ENVIRONMENT_H

#include <stdbool.h>

/* Has this process more rights than the user who started it? */
bool environment__is_of_another(void);
/* In that case all is gone from it but what has a row, and a value that can do no harm. Once, before anything reads it. */
void environment__clean(void);
/* What CMD is to have: the environment as it was. In the child that becomes CMD, which has no rights but the user's. */
void environment__restore(void);

#endif
