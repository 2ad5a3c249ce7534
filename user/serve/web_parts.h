/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What both sides of the HTTP process know: its descriptors, the texts that it is given, what it says first, what a request may have. */
#ifndef MT_WEB_PARTS_H
#define MT_WEB_PARTS_H

#include <stdbool.h>

#include "serve/ask.h"
#include "util/err.h"

enum { WEB_CONTROL_FD, WEB_LISTEN_FD, WEB_SETTINGS_FD = 3 };	/* not standard error, which may be a terminal: whoever has it reads what is typed */
/* Each with its length before it; 0: there is none. */
enum web_text { WEB_TOKEN, WEB_CERT, WEB_KEY, WEB_CLIENT_CA, N_WEB_TEXTS };

/* ---- the first that a child of serve says: that it can do its work, or why it cannot */

/* why NULL: it can. */
void ready__say(int fd, const char *why);

/* ---- what stands in a request, checked: strangers write it */

/* ?key=value: into the question; ask->what is known. NULL, or what is wrong with it, in words. */
const char *web_query__take(struct serve_ask *ask, const char *key, const char *value);
/*
 * May a request for this name (the header Host; NULL: none was given) be answered where nothing else tells friends from strangers?
 * A page that a browser shows can have a name of its own point to this machine, and read what is served here; it cannot have an
 * address, nor localhost.
 */
bool web_query__is_local(const char *host);

#endif
