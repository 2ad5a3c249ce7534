// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The program that `make demo` looks into: a small daemon that answers requests,
 * and leaks. It runs until it is killed and prints nothing.
 *
 *   log_append        one buffer that grows by realloc and is freed when it is written: no leak
 *   parse_request     a string per request, freed at once: much traffic, nothing held
 *   session_open      a session goes into the cache, its token beside it
 *   session_expire    takes old sessions out of the cache, and forgets the token
 *
 * The sessions themselves come and go: the cache holds as many as it should. The
 * tokens stay for good.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CACHE_SLOTS 64
#define LOG_FULL_BYTES 4096
#define TOKEN_BYTES 256
#define REQUESTS_PER_SECOND 2000

struct session {
	unsigned int user;
	char *token;
};

static struct session *cache[CACHE_SLOTS];

static struct {
	char *text;
	size_t len;
} log_buffer;

static void log_append(const char *line)
{
	size_t len = strlen(line);
	char *text = realloc(log_buffer.text, log_buffer.len + len + 1);

	if (!text)
		return;
	memcpy(text + log_buffer.len, line, len + 1);
	log_buffer.text = text;
	log_buffer.len += len;
	if (log_buffer.len >= LOG_FULL_BYTES) {
		/* a real one would write it to its file here */
		free(log_buffer.text);
		log_buffer.text = NULL;
		log_buffer.len = 0;
	}
}

static char *token_make(unsigned int user)
{
	char *token = malloc(TOKEN_BYTES);

	if (token)
		snprintf(token, TOKEN_BYTES, "%08x-%08lx", user, (unsigned long)random());
	return token;
}

static void session_expire(struct session *s)
{
	/* the bug: free(s->token) is missing */
	free(s);
}

static struct session *session_open(unsigned int user)
{
	struct session **slot = &cache[user % CACHE_SLOTS];
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->user = user;
	s->token = token_make(user);
	if (*slot)
		session_expire(*slot);
	*slot = s;
	return s;
}

static unsigned int parse_request(const char *line)
{
	char *copy = strdup(line);
	unsigned int user = 0;

	if (copy)
		sscanf(copy, "GET /user/%u", &user);
	free(copy);
	return user;
}

static void handle_request(const char *line)
{
	unsigned int user = parse_request(line);
	struct session *s = cache[user % CACHE_SLOTS];

	if (!s || s->user != user)
		s = session_open(user);
	if (s)
		log_append(line);
}

static void serve(void)
{
	const struct timespec pause = { .tv_nsec = 1000000000 / REQUESTS_PER_SECOND };
	char line[64];

	for (;;) {
		snprintf(line, sizeof(line), "GET /user/%u HTTP/1.1\n", (unsigned int)random() % 1000);
		handle_request(line);
		nanosleep(&pause, NULL);
	}
}

int main(void)
{
	serve();
}
