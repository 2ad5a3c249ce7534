// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns a stream that makes base64 of gzip of what is written to it: `base64 -d | gunzip` makes
 * it text again, and so does the page's script (page/unpack.js). What always holds: no more than some
 * hundred KiB of it are in memory, and there is no character in it that means something to HTML.
 */
#include "files/html/packed.h"

#include <stdlib.h>
#include <zlib.h>

#include "util/util.h"

#define CHUNK 49152u	/* a multiple of three: base64 of whole ones has no padding */
#define LINE 76		/* characters in a line of it, so that a page can be opened in an editor */

struct packed {
	FILE *out;
	z_stream z;
	unsigned int col;
	unsigned char deflated[CHUNK];
};

static void put_base64(struct packed *p, const unsigned char *v, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i += 3) {
		unsigned int left = MIN(n - i, (size_t)3), bits = v[i] << 16 | (left > 1 ? v[i + 1] << 8 : 0) | (left > 2 ? v[i + 2] : 0);
		char four[] = { digits[bits >> 18], digits[bits >> 12 & 63], left > 1 ? digits[bits >> 6 & 63] : '=', left > 2 ? digits[bits & 63] : '=' };

		fwrite(four, 1, sizeof(four), p->out);
		p->col += sizeof(four);
		if (p->col == LINE) {
			fputc('\n', p->out);
			p->col = 0;
		}
	}
}

/* A chunk is written when it is full, and the last one at the end. */
static int pack(struct packed *p, const void *v, size_t n, int flush)
{
	int ret;

	p->z.next_in = (unsigned char *)v;
	p->z.avail_in = (unsigned int)n;
	do {
		ret = deflate(&p->z, flush);
		if (ret == Z_STREAM_ERROR)
			return -1;
		if (!p->z.avail_out || ret == Z_STREAM_END) {
			put_base64(p, p->deflated, CHUNK - p->z.avail_out);
			p->z.next_out = p->deflated;
			p->z.avail_out = CHUNK;
		}
	} while (flush == Z_FINISH ? ret != Z_STREAM_END : p->z.avail_in > 0);
	return 0;
}

static ssize_t on_write(void *cookie, const char *v, size_t n)
{
	return pack(cookie, v, n, Z_NO_FLUSH) ? 0 : (ssize_t)n;
}

static int on_close(void *cookie)
{
	struct packed *p = cookie;
	int err = pack(p, NULL, 0, Z_FINISH);

	deflateEnd(&p->z);
	free(p);
	return err;
}

FILE *packed__open(FILE *out)
{
	struct packed *p = calloc(1, sizeof(*p));
	FILE *f;

	if (!p)
		return NULL;
	p->out = out;
	p->z.next_out = p->deflated;
	p->z.avail_out = CHUNK;
	if (deflateInit2(&p->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(p);
		return NULL;
	}
	f = fopencookie(p, "w", (cookie_io_functions_t){ .write = on_write, .close = on_close });
	if (!f) {
		deflateEnd(&p->z);
		free(p);
	}
	return f;
}
