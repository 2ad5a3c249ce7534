/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Large tables, made by two threads at once: the kernel zeroes them, which takes a good part of the time to attach. */
#ifndef MT_AHEAD_H
#define MT_AHEAD_H

struct bpf_object;

/*
 * Before the object is loaded, and after its maps have their sizes. A table that cannot be made is left to libbpf, which
 * fails as well, and says why.
 */
void ahead__make_tables(struct bpf_object *obj);

#endif
