/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What passes between the process that speaks HTTP, which has no rights and meets everybody, and the one that traces: records of
 * fixed size, one a message. What the former says is checked as if a stranger had said it.
 */
#ifndef MT_ASK_H
#define MT_ASK_H

#include <stdint.h>

/* What is served: what is asked for, the path, what the answer is, and whether ?pid= and its kin, and ?seconds=, mean something. */
enum serve_what { SERVE_HEALTH, SERVE_METRICS, SERVE_HEAP, SERVE_ALLOCS, SERVE_JSON, SERVE_PAGE, N_SERVED };

struct served {
	const char *path, *type;
	const char *download;	/* the name that a browser saves it under; NULL: it is shown */
	uint8_t narrows, lasts;
};
extern const struct served served[N_SERVED];

#define SERVE_GONE N_SERVED	/* not a question: the client of request `id` has closed its connection, and wants no answer */
#define SERVE_SECONDS_MAX 600
#define SERVE_COMM_MAX 64
#define SERVE_PATH_MAX 512

struct serve_ask {
	uint32_t id;		/* of the request, chosen by who asks */
	uint32_t what;		/* enum serve_what, or SERVE_GONE */
	uint32_t seconds;	/* 0: now; else what was done in the seconds to come */
	int32_t pid;		/* 0: any; so are empty texts */
	char comm[SERVE_COMM_MAX], cgroup[SERVE_PATH_MAX], container[SERVE_COMM_MAX + 16], pod[SERVE_PATH_MAX / 2];
};

/* A descriptor with the answer's bytes goes with it, unless there is an error. */
struct serve_answer {
	uint32_t id;
	int32_t err;		/* 0, or a negative errno */
	char why[256];		/* in words, if there is an error */
};

#endif
