/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What tests of processes that come and go share; t_group.c has it. */
#ifndef LT_GROUP_H
#define LT_GROUP_H

#include "lt.h"

/* Everybody's stacks would be a large report. */
#define SHALLOW "--json", "--depth", "8", "--no-inlines", "--no-source"
/* Each process by itself, also where many of one program have ended. */
#define SHORT SHALLOW, "--by", "process"

/* Ends a trace of the whole machine; of the sites in its report those of fixtures are left. */
json_t *stop_group(struct test *t, struct mt *m, int sig);
/* The directory in which fixtures leave their ledgers. */
const char *ledgers(struct test *t);
/* Every ledger in dir, NAME being PID.LIFE: that life of that pid has it in the report. How many there are. */
unsigned int want_ledgers(struct test *t, json_t *root, const char *dir, unsigned int checks);
uint64_t lives_of(struct test *t, json_t *root, pid_t pid);
json_t *last_life_of(struct test *t, json_t *root, pid_t pid);	/* its newest program */
/* A fixture that loads a copy of libjemalloc.so.2 when it is let go, and uses it when it is let go again; skips the test where there is none. */
void start_loader(struct test *t, struct fx *f, const char *dir);
/* Its path; skips the test where there is none. */
const char *jemalloc(struct test *t);
void start_loader_of(struct test *t, struct fx *f, const char *dir, const char *library);	/* which has an allocator */
/* Its directory, to be removed by the test; skips the test where none can be made. */
const char *make_cgroup(struct test *t);
int enter_cgroup(const void *arg);	/* its directory; for struct spawn */

#endif
