/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What stands in a request, checked. Strangers write it. */
#ifndef MT_WEB_QUERY_H
#define MT_WEB_QUERY_H

#include <stdbool.h>

#include "serve/ask.h"

/* ?key=value: into the question; ask->what is known. NULL, or what is wrong with it, in words. */
const char *web_query__take(struct serve_ask *ask, const char *key, const char *value);
/*
 * May a request for this name (the header Host; NULL: none was given) be answered where nothing else tells friends from strangers?
 * A page that a browser shows can have a name of its own point to this machine, and read what is served here; it cannot have an
 * address, nor localhost.
 */
bool web_query__is_local(const char *host);

#endif
