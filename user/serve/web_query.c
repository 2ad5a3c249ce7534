// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what a request may ask for: the table of arguments. */
#include "serve/web_query.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "util/parse.h"
#include "util/util.h"

#define DIGITS_(n) #n
#define DIGITS(n) DIGITS_(n)
#define TEXT(its_key, member) { .key = its_key, .at = offsetof(struct serve_ask, member), .room = sizeof(((struct serve_ask *)0)->member) }

static const struct argument {
	const char *key;
	size_t at, room;	/* room 0: a number */
	uint64_t most;
} arguments[] = {
	{ .key = "pid", .at = offsetof(struct serve_ask, pid), .most = INT_MAX },
	{ .key = "seconds", .at = offsetof(struct serve_ask, seconds), .most = SERVE_SECONDS_MAX },
	TEXT("comm", comm), TEXT("cgroup", cgroup), TEXT("container", container), TEXT("pod", pod),
};

/* Go's servers have them, and what asks those sends them along: they change nothing here. */
static const char *const ignored[] = { "debug", "gc" };

const char *web_query__take(struct serve_ask *ask, const char *key, const char *value)
{
	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		const struct argument *a = &arguments[i];
		char *to = (char *)ask + a->at;
		uint32_t number;
		uint64_t n;

		if (strcmp(key, a->key))
			continue;
		if (!served[ask->what].narrows)
			return "means nothing here";
		if (a->room ? *to : memcmp(to, &(uint32_t){ 0 }, sizeof(uint32_t)))
			return "is given twice";
		if (!a->room) {
			if (parse_u64(value, 1, a->most, &n))
				return a->most == INT_MAX ? "want a process's number" : "want seconds, from 1 to " DIGITS(SERVE_SECONDS_MAX);
			number = (uint32_t)n;
			memcpy(to, &number, sizeof(number));
			return NULL;
		}
		if (!*value || strlen(value) >= a->room)
			return "is empty, or too long";
		memcpy(to, value, strlen(value) + 1);
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (!strcmp(key, ignored[i]))
			return NULL;
	return "not known; there are pid, comm, cgroup, container, pod and seconds";
}

bool web_query__is_local(const char *host)
{
	struct in6_addr addr6;
	struct in_addr addr4;
	char name[64];
	size_t len;

	if (!host)
		return true;
	if (*host == '[') {
		len = strcspn(host + 1, "]");
		if (len >= sizeof(name) || host[1 + len] != ']')
			return false;
		memcpy(name, host + 1, len);
		name[len] = '\0';
		return inet_pton(AF_INET6, name, &addr6) == 1;
	}
	len = strcspn(host, ":");
	if (len >= sizeof(name))
		return false;
	memcpy(name, host, len);
	name[len] = '\0';
	return !len || !strcasecmp(name, "localhost") || inet_pton(AF_INET, name, &addr4) == 1;
}
