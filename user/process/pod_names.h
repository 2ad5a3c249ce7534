/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What pods are called: by their uids. */
#ifndef MT_POD_NAMES_H
#define MT_POD_NAMES_H

/* NAMESPACE/NAME, or a copy of the uid if nobody says so; the caller's, NULL without memory. From any thread. */
char *pod_names__get(const char *uid);

#endif
