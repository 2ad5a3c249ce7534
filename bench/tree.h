/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef MT_BENCH_TREE_H
#define MT_BENCH_TREE_H

#define TREE_LOST 10000

#endif
