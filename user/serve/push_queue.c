// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the descriptors of what is in the queue. */
#include "serve/push_queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/util.h"

static void drop_first(struct push_queue *q)
{
	struct queued *first = &q->v[q->first];

	close(first->fd);
	q->bytes -= first->bytes;
	q->first = (q->first + 1) % PUSH_ITEMS_MAX;
	q->n--;
}

size_t push_queue__put(struct push_queue *q, const struct push_item *item, int fd, uint64_t bytes)
{
	size_t n_dropped = 0;

	if (bytes > PUSH_BYTES_MAX) {
		close(fd);
		return 1;
	}
	for (; q->n == PUSH_ITEMS_MAX || q->bytes + bytes > PUSH_BYTES_MAX; n_dropped++)
		drop_first(q);
	q->v[(q->first + q->n++) % PUSH_ITEMS_MAX] = (struct queued){ *item, fd, bytes };
	q->bytes += bytes;
	return n_dropped;
}

struct queued *push_queue__first(struct push_queue *q)
{
	return q->n ? &q->v[q->first] : NULL;
}

void push_queue__done_first(struct push_queue *q)
{
	if (q->n)
		drop_first(q);
}

void push_queue__failed(struct push_queue *q, uint64_t now_ns, uint64_t random)
{
	q->wait_ns = q->wait_ns ? MIN(q->wait_ns * 2, PUSH_WAIT_MAX_NS) : PUSH_WAIT_MIN_NS;
	/* a thousand hosts whose server comes back do not all ask at once */
	q->due_ns = now_ns + q->wait_ns / 2 + random % (q->wait_ns / 2);
}

void push_queue__worked(struct push_queue *q)
{
	q->wait_ns = q->due_ns = 0;
}

/* What a URL may have in a value as it is. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-_.~", c));
}

char *push__url(const char *url, const char *name, const struct push_item *item)
{
	size_t len = strlen(url), size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	while (len && url[len - 1] == '/')
		len--;
	fprintf(out, "%.*s%s?name=", (int)len, url, len > 7 && !strncmp(url + len - 7, "/ingest", 7) ? "" : "/ingest");
	for (; *name; name++)
		if (is_plain(*name))
			fputc(*name, out);
		else
			fprintf(out, "%%%02X", (unsigned char)*name);
	fprintf(out, "&format=pprof&from=%" PRId64 "&until=%" PRId64, item->from_s, item->until_s);
	return fclose(out) ? NULL : text;
}
