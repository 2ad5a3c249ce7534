// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns RLIMIT_NOFILE, and what it was when malloctrace began. */
#include "util/descriptors.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "util/util.h"

/* A trace of one process has some 90 open, without files of its target. */
#define OWN 160
#define LEAST 256

static struct rlimit former;
static bool raised;

int descriptors__raise(struct err *e)
{
	struct rlimit r;

	if (raised || getrlimit(RLIMIT_NOFILE, &r))
		return 0;
	former = r;
	r.rlim_cur = r.rlim_max;
	raised = r.rlim_cur != former.rlim_cur && !setrlimit(RLIMIT_NOFILE, &r);
	if (r.rlim_max >= LEAST)
		return 0;
	return err_set(e, -EMFILE, "only %llu files may be open at a time (ulimit -Hn, LimitNOFILE=), and malloctrace needs %d: raise the limit",
		       (unsigned long long)r.rlim_max, LEAST);
}

void descriptors__restore(void)
{
	if (raised)
		setrlimit(RLIMIT_NOFILE, &former);
}

uint64_t descriptors__for_targets(void)
{
	struct rlimit r;

	/* of many, a quarter: probes take some, too */
	return getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur < OWN ? 0 : MIN(r.rlim_cur - OWN, r.rlim_cur / 4 * 3);
}
