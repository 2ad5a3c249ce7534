// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns `environ` while it is a clean one: the strings are those that the kernel put there. */
#include "util/environment.h"

#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "util/util.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define VALUE_MAX 64

/* Names of terminals and locales become parts of paths: no slash in them. */
static const struct {
	const char *name, *letters;
} kept_rows[] = {
	{ "TERM", LETTERS "+._-" },
	{ "LANG", LETTERS "._@-" },
	{ "LC_ALL", LETTERS "._@-" },
	{ "LC_CTYPE", LETTERS "._@-" },
	/* a zone, or a rule; what begins with a slash or a colon would be any file */
	{ "TZ", LETTERS "+-_/,.<>" },
	{ "NO_COLOR", LETTERS },
};

static char **former;	/* NULL: it is as it was */

bool environment__is_of_another(void)
{
	return getauxval(AT_SECURE);
}

static bool is_harmless(const char *entry)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept_rows); i++) {
		size_t len = strlen(kept_rows[i].name);
		const char *value = entry + len + 1;

		if (strncmp(entry, kept_rows[i].name, len) || entry[len] != '=')
			continue;
		return strlen(value) <= VALUE_MAX && value[strspn(value, kept_rows[i].letters)] == '\0' && value[0] != '/' &&
		       value[0] != '.' && !strstr(value, "..");
	}
	return false;
}

void environment__clean(void)
{
	static char *clean[ARRAY_SIZE(kept_rows) + 1];
	size_t n = 0;

	if (!environment__is_of_another() || former)
		return;
	/* one that is there twice counts once: the first */
	for (char **entry = environ; *entry && n < ARRAY_SIZE(kept_rows); entry++)
		if (is_harmless(*entry))
			clean[n++] = *entry;
	former = environ;
	environ = clean;
}

void environment__restore(void)
{
	if (former)
		environ = former;
}
