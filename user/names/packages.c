// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns how a file's package is found: Debian and its like list the files of each package in /var/lib/dpkg/info/PACKAGE.list, some
 * megabytes in all, which are read once, when names are missing. Where there is rpm, its own database is left to rpm: what to type is said.
 *
 * What always holds: these are this machine's files, whatever the traced process calls its own; nothing is run.
 */
#include "names/packages.h"

#include <dirent.h>
#include <string.h>

#include "util/util.h"

#define DPKG_INFO "/var/lib/dpkg/info"
#define LIST ".list"
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+-"	/* means itself to a shell */

/* Packages whose symbols are not in PACKAGE-dbgsym. */
static const struct {
	const char *package, *symbols;
} others[] = {
	{ "libc6", "libc6-dbg" },
	{ "libpython3.11", "python3.11-dbg" },
	{ "python3.11-minimal", "python3.11-dbg" },
};

/* Is path a line of the list? Where / and /usr are merged, a list may have either. */
static bool lists(const char *list, size_t len, const char *path)
{
	size_t n = strlen(path);

	/* a path that is empty would be found behind the end */
	if (!n)
		return false;
	for (const char *s = list; (s = memmem(s, (size_t)(list + len - s), path, n)); s++)
		if ((s == list || s[-1] == '\n') && (s + n == list + len || s[n] == '\n'))
			return true;
	return false;
}

static bool has_file(const char *list, size_t len, const char *path)
{
	_cleanup_free_ char *merged = xasprintf("/usr%s", path);

	return lists(list, len, path) || lists(list, len, strncmp(path, "/usr/", 5) ? merged : path + 4);
}

static void put_package(FILE *out, const char *name, size_t len, size_t *n_put)
{
	const char *arch = memchr(name, ':', len);

	len = arch ? (size_t)(arch - name) : len;
	fputs((*n_put)++ ? " " : "", out);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (strlen(others[i].package) == len && !memcmp(others[i].package, name, len)) {
			fputs(others[i].symbols, out);
			return;
		}
	fprintf(out, "%.*s-dbgsym", (int)len, name);
}

static void look(FILE *out, const char *dir, const char *name, const char *const *files, size_t n, size_t *n_put)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name), *list = NULL;
	size_t len;

	if (read_small_file(path, &list, &len))
		return;
	for (size_t i = 0; i < n; i++)
		if (has_file(list, len, files[i])) {
			put_package(out, name, strlen(name) - strlen(LIST), n_put);
			return;
		}
}

static int only_lists(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return n > strlen(LIST) && !strcmp(d->d_name + n - strlen(LIST), LIST);
}

/* False: this is no Debian. */
static bool debian(FILE *out, const char *root, const char *const *files, size_t n, size_t *n_put)
{
	_cleanup_free_ char *dir = xasprintf("%s" DPKG_INFO, root);
	struct dirent **v = NULL;
	int n_lists = scandir(dir, &v, only_lists, alphasort);

	for (int i = 0; i < n_lists; i++) {
		if (*n_put < n)
			look(out, dir, v[i]->d_name, files, n, n_put);
		free(v[i]);
	}
	free(v);
	return n_lists > 0;
}

/* Whether a package has the file is rpm's to say; what lies elsewhere is nobody's. */
static bool is_of_system(const char *path)
{
	static const char *const dirs[] = { "/usr/", "/lib", "/bin/", "/sbin/" };
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		found |= !strncmp(path, dirs[i], strlen(dirs[i]));
	/* it becomes a part of a command that is pasted into a shell, and the traced process may have named it */
	return found && strncmp(path, "/usr/local/", strlen("/usr/local/")) && !path[strspn(path, PLAIN)];
}

static void rpm(FILE *out, const char *root, const char *const *files, size_t n, size_t *n_put)
{
	_cleanup_free_ char *db = xasprintf("%s/var/lib/rpm", root), *sysimage = xasprintf("%s/usr/lib/sysimage/rpm", root);

	if (access(db, F_OK) && access(sysimage, F_OK))
		return;
	for (size_t i = 0; i < n; i++)
		if (is_of_system(files[i]))
			fprintf(out, "%s %s", (*n_put)++ ? "" : "symbols with: debuginfo-install $(rpm -qf", files[i]);
	fputs(*n_put ? ")" : "", out);
}

char *packages__debug(const char *root, const char *const *files, size_t n)
{
	char *ret = NULL;
	size_t len = 0, n_put = 0;
	FILE *out = text_stream__open(&ret, &len);

	if (!debian(out, root, files, n, &n_put))
		rpm(out, root, files, n, &n_put);
	text_stream__close(out);
	if (n_put)
		return ret;
	free(ret);
	return NULL;
}
