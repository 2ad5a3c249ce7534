// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Stacks of a report against what is known of them, and what somebody else does to stacks. Owns nothing. */
#include "chain.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool chain__one_of(const char *names, const char *got)
{
	/* C++ names come with their arguments */
	size_t n = strcspn(got, "(");

	for (const char *p = names; *p; p += strcspn(p, "|"), p += *p == '|') {
		size_t len = strcspn(p, "|*");

		if (len == n && !strncmp(p, got, n))
			return true;
	}
	return false;
}

static bool fits(const char *word, json_t *frame)
{
	const char *got = json_string_value(jget(frame, "function"));

	switch (*word) {
	case '?':
		return !got;
	case '+':
		return true;
	case '~':
		return !got || chain__one_of(word + 1, got);
	default:
		return got && chain__one_of(word, got);
	}
}

/* The first frame that does not fit, or the number of frames. */
static size_t match(const char *const *word, json_t *stack, size_t at, bool *ok)
{
	size_t n = json_array_size(stack), far = at;

	for (; *word; word++) {
		const char *star = strchr(*word, '*');
		unsigned long times = star ? strtoul(star + 1, NULL, 10) : 1;

		for (unsigned long i = 0; i < times; i++, at++)
			if (at >= n || !fits(*word, json_array_get(stack, at))) {
				*ok = false;
				return at;
			}
		if (**word != '+')
			continue;
		for (; at <= n; at++) {
			size_t got = match(word + 1, stack, at, ok);

			if (*ok)
				return got;
			far = got > far ? got : far;
		}
		*ok = false;
		return far;
	}
	*ok = at == n;
	return at;
}

bool chain__fits(const char *const *word, json_t *stack, size_t *ret_at)
{
	bool ok = true;

	*ret_at = match(word, stack, 0, &ok);
	return ok;
}

const char *chain__draw(json_t *stack)
{
	static char text[1500];
	json_t *frame;
	size_t i, n = 0;

	text[0] = 0;
	json_array_foreach(stack, i, frame) {
		const char *f = json_string_value(jget(frame, "function")), *m = strrchr(jstr(frame, "module"), '/');

		if (n < sizeof(text) - 200)
			n += (size_t)snprintf(text + n, 200, "%s%.60s%s%.40s", i ? " < " : "", f ? f : m ? m + 1 : "?", f ? "" : "+",
					      f ? "" : jstr(frame, "offset"));
	}
	return text;
}

int other_uretprobe(struct test *t, const char *path, uint64_t offset, pid_t pid)
{
	char *type = read_all("/sys/bus/event_source/devices/uprobe/type", NULL);
	struct perf_event_attr a = { .size = sizeof(a), .config = 1, .uprobe_path = (uintptr_t)path, .probe_offset = offset };
	int fd;

	if (!type)
		skip(t, "no perf uprobes here");
	a.type = (uint32_t)strtoul(type, NULL, 10);
	fd = (int)syscall(SYS_perf_event_open, &a, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	must(t, fd >= 0, "perf_event_open for a uretprobe at %s+%#lx: %s", path, (unsigned long)offset, strerror(errno));
	free(type);
	return fd;
}
