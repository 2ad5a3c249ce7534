/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Which packages have the debug symbols of files: as this machine's package manager knows them. */
#ifndef MT_PACKAGES_H
#define MT_PACKAGES_H

#include <stddef.h>

/*
 * "nginx-dbgsym libssl3-dbgsym", "symbols with: debuginfo-install $(rpm -qf /usr/sbin/nginx)". NULL: no package has any of these files,
 * the package manager is another one. No program is run. root: "" but for tests. The caller's.
 */
char *packages__debug(const char *root, const char *const *files, size_t n);

#endif
