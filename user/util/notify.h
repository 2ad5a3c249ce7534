/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What a service says to systemd (sd_notify(3)): a datagram to the socket that NOTIFY_SOCKET names. Without one nothing is said. */
#ifndef MT_NOTIFY_H
#define MT_NOTIFY_H

#include <stdint.h>

void notify__say(const char *state);	/* "READY=1" */
/* How often it wants to hear WATCHDOG=1, at least; 0: not at all. */
uint64_t notify__watchdog_ns(void);

#endif
