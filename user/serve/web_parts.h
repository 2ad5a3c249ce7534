/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What both sides of the HTTP process know: its descriptors, and the texts that it is given. */
#ifndef MT_WEB_PARTS_H
#define MT_WEB_PARTS_H

enum { WEB_CONTROL_FD, WEB_LISTEN_FD, WEB_ERR_FD, WEB_SETTINGS_FD };
/* Each with its length before it; 0: there is none. */
enum web_text { WEB_TOKEN, WEB_CERT, WEB_KEY, WEB_CLIENT_CA, N_WEB_TEXTS };

#endif
