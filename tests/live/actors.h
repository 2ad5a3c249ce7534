/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Tests as somebody else than root: an ordinary user who holds some capabilities, or none. */
#ifndef LT_ACTORS_H
#define LT_ACTORS_H

#include <linux/capability.h>

#include "lt.h"

#define USER 65534
#define OTHER_USER 54321

#define BIT(cap) (1ull << (cap))
#define LOAD (BIT(CAP_BPF) | BIT(CAP_PERFMON))		/* README's shorter line, */
#define OTHERS (LOAD | BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH))	/* and the longer one */

struct actor {
	uid_t uid;
	uint64_t caps;		/* held, and given to what is executed (ambient) */
	uint64_t not_in_bounds;	/* can never be had */
	bool user_ns;		/* root, but of a user namespace of its own */
	bool no_new_privs;
};

/* For struct spawn. */
int become(const void *actor);

/* The program and its targets, where these users can reach them. */
const char *own_copy(struct test *t);
/* As setcap CAPS+ep does; what is in the file's way is the test's too. */
const char *copy_with_caps(struct test *t, uint64_t caps);
/* A fixture of this user. Closed: its file is for its owner alone. */
void start_fixture(struct test *t, struct fx *f, const char *name, uid_t uid, bool closed, const char *what);
/* Does this kernel let capabilities be enough? */
bool has_multi(struct test *t);

#endif
