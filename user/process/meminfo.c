// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns which lines of /proc/meminfo and /proc/pressure/memory are read. */
#include "process/meminfo.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/parse.h"
#include "util/util.h"

static const struct {
	const char *name;
	size_t offset;
} lines[] = {
	{ "MemTotal:", offsetof(struct meminfo, total_bytes) },
	{ "MemAvailable:", offsetof(struct meminfo, available_bytes) },
	{ "MemFree:", offsetof(struct meminfo, free_bytes) },
	{ "SwapTotal:", offsetof(struct meminfo, swap_bytes) },
	{ "SwapFree:", offsetof(struct meminfo, swap_free_bytes) },
};

/* The text after a name that begins a line; NULL: there is none. */
static const char *after(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, name, len))
			return line + len;
	return NULL;
}

/* "       24643328 kB" */
static uint64_t kilobytes(const char *text)
{
	char digits[24] = "";
	uint64_t n = 0;

	text += strspn(text, " \t");
	strncat(digits, text, MIN(strspn(text, "0123456789"), sizeof(digits) - 1));
	return parse_u64(digits, 0, UINT64_MAX >> 10, &n) ? 0 : n << 10;
}

/* "some avg10=1.25 avg60=…": the kernel writes two digits after the point */
static bool percent(const char *text, const char *name, double *ret)
{
	const char *at = after(text, name);
	unsigned int whole, hundredths;

	if (!at || sscanf(at, "%3u.%2u", &whole, &hundredths) != 2)
		return false;
	*ret = whole + hundredths / 100.0;
	return true;
}

void meminfo__parse(const char *memory, const char *pressure, struct meminfo *ret)
{
	*ret = (struct meminfo){};
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const char *at = after(memory, lines[i].name);

		if (at)
			*(uint64_t *)((char *)ret + lines[i].offset) = kilobytes(at);
	}
	if (!pressure || !percent(pressure, "some avg10=", &ret->some_pct))
		return;
	ret->has_pressure = true;
	percent(pressure, "full avg10=", &ret->full_pct);
}

void meminfo__read(struct meminfo *ret)
{
	_cleanup_free_ char *memory = NULL, *pressure = NULL;

	if (read_small_file("/proc/meminfo", &memory, NULL))
		memory = NULL;
	/* a kernel without it refuses to read, or has no such file */
	if (read_small_file("/proc/pressure/memory", &pressure, NULL))
		pressure = NULL;
	meminfo__parse(memory ? memory : "", pressure, ret);
}
