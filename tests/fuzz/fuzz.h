/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What each fuzz target has: its two functions, and seeds, left in the directory that FUZZ_SEEDS names. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "util/util.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Of inputs whose first byte says what the rest is; how < 0: there is no such byte. */
static inline void put_seed(const char *name, int how, const void *data, size_t len)
{
	const char *dir = getenv("FUZZ_SEEDS");
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *f = NULL;

	if (!dir)
		return;
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	f = fopen(path, "w");
	if (!f || (how >= 0 && fputc(how, f) == EOF) || fwrite(data, 1, len, f) != len)
		abort();
}

#define put_text_seed(name, how, text) put_seed(name, how, text, strlen(text))

/* Small profiles, of those that tests compare with: what makes one large is the same again and again. */
static inline void put_profiles(void)
{
	static const char *const names[] = { "sample", "sample-count", "sample-growth", "sample-estimated", "sample-empty", "sample-heap" };
	const char *dir = getenv("FUZZ_SEEDS");
	char cmd[512];

	for (size_t i = 0; dir && i < ARRAY_SIZE(names); i++) {
		snprintf(cmd, sizeof(cmd),
			 "jq -c '.sites |= map(.stack |= .[:4]) | .sites |= .[:3]' tests/golden/%s.json > '%s/%s' 2>/dev/null || "
			 "cp tests/golden/%s.json '%s/%s'", names[i], dir, names[i], names[i], dir, names[i]);
		if (system(cmd))
			abort();
	}
}

/* A copy that ends in a NUL, the caller's: what reads over its end is found. */
static inline char *text_of(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);

	if (!text)
		abort();
	memcpy(text, data, len);
	text[len] = '\0';
	return text;
}

/* A file in memory, open. */
static inline int file_of(const uint8_t *data, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	return fd;
}

/* What is shown is clean. */
static inline void check_clean(const char *s)
{
	_cleanup_free_ char *again = s ? strdup(s) : NULL;

	if (!again)
		return;
	clean_name(again);
	if (strcmp(s, again))
		abort();
}

#endif
