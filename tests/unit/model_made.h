/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* A model for tests, whose processes' addresses are known beforehand, and its snapshots. */
#ifndef MT_MODEL_MADE_H
#define MT_MODEL_MADE_H

#include <criterion/criterion.h>
#include <stdio.h>

#include "model/model.h"
#include "tracee/tracee.h"
#include "util/util.h"

#define START 1000000ull
#define ALLOCS(n, bytes) .alloc_calls = n, .alloc_bytes = bytes
#define FREES(n, bytes) .free_calls = n, .free_bytes = bytes

static struct tracees made_tracees;	/* for the names of the functions alone */
static unsigned int made_located;

/* Addresses from 0x1000 are in one of two modules, loaded elsewhere in each process; below, in none. */
static void made__locate(uint32_t proc, uint64_t addr, uint64_t t_ns, struct address *ret, void *arg)
{
	static const char first, second;
	uint64_t in_process = addr & 0xffff;

	made_located++;
	*ret = (struct address){ .offset = addr };
	if (in_process < 0x1000)
		return;
	cr_assert_eq(addr >> 16, proc, "asked for an address of another process");
	ret->module = in_process < 0x8000 ? &first : &second;
	ret->handle = ret->module;
	ret->path = in_process < 0x8000 ? "/lib/first.so" : "/lib/second.so";
	ret->build_id = in_process < 0x8000 ? "f00d" : NULL;
	ret->offset = in_process & 0x7fff;
}

static const char *made__function(uint32_t func, void *arg)
{
	return tracees__function(func, &made_tracees);
}

static void made__thread_comm(pid_t pid, pid_t tid, char buf[static 32], void *arg)
{
	snprintf(buf, 32, "t-%d-%d", (int)pid, (int)tid);
}

static const struct model_calls made_calls = { made__locate, made__function, made__thread_comm, NULL, NULL };
static const struct snapshot_info made_info = { .base.version = "v", .base.kernel = "k", .base.arch = "a", .base.duration_ns = 7000000000,
						.base.recording = RECORDING_PRESET, .base.observed_share = 1, .base.wall_now_ns = 99 };

static inline struct model *made__model(void)
{
	struct model *m = model__new();

	cr_assert_not_null(m);
	model__begin(m, START, 50, 50);
	if (!made_tracees.objects)
		tracees__init(&made_tracees, false);
	return m;
}

static inline void made__life(struct model *m, uint32_t proc, pid_t pid, const char *comm)
{
	model__add_life(m, &(struct snap_process){ .proc = proc, .pid = pid, .comm = comm, .rss_bytes = 4096 });
}

static inline struct snapshot *made__shot(struct model *m, const struct cut *cut)
{
	struct snapshot *s = model__snapshot(m, cut, &made_info, &made_calls);

	cr_assert_not_null(s);
	return s;
}

#endif
