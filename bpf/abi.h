/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What crosses between the kernel and user space, and nothing else: the
 * records in the maps, the attach cookie, the counters. Both sides include
 * this file, so a layout is written once. Explicit padding, fixed widths, and
 * an assertion on every size. The parts are in files of their own, abi_*.h.
 *
 * Banks and shards
 *   Counters that must agree with each other in a snapshot (a site's calls and
 *   bytes, a process's histograms) exist twice: two "banks". A program reads
 *   mt_cut once, at its start, and charges the whole event to bank mt_cut & 1.
 *   To take a snapshot, user space flips the bit and waits one RCU grace
 *   period; then no program writes to the old bank any more, and it is read at
 *   leisure: every event is in the snapshot whole or not at all, and the target
 *   never waited. Banks are cumulative; the sum of both is the total.
 *   While MT_CUT_FROZEN is set nothing is recorded: putting probes in place and
 *   taking them out takes a while, and the trace begins and ends for all of them
 *   at one instant.
 *   Each bank is split over a few "shards" picked by CPU, because two CPUs that
 *   add to one cache line slow each other down. All additions are atomic:
 *   uprobe programs can be preempted, so "per CPU" alone would lose some.
 */
#ifndef MT_ABI_H
#define MT_ABI_H

#include "abi_blocks.h"
#include "abi_calls.h"
#include "abi_code.h"
#include "abi_config.h"
#include "abi_cookie.h"
#include "abi_events.h"
#include "abi_procs.h"
#include "abi_python.h"
#include "abi_sites.h"
#include "abi_spots.h"
#include "abi_types.h"
#include "abi_walk.h"

/* of mt_cut */
#define MT_CUT_FROZEN (1ULL << 63)
#define MT_CUT_DROPPING (1ULL << 62)	/* --mode leak: user space takes blocks out of the table, so programs claim an entry first */

#endif
