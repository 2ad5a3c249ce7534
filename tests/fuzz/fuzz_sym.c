// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Names are looked up by root in files that another process maps: any bytes
 * must give clean names or none. The first byte says what the rest is:
 *
 *   0   an ELF file; addresses all over its code are resolved
 *   1   the same, without lines and inlined calls
 *   2   the list of a JIT
 *   3   a symbol name to demangle
 *
 * FUZZ_SEEDS names a directory in which the target leaves inputs to start from.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/demangle.h"
#include "elf/jitmap.h"
#include "elf/object.h"
#include "names/sym.h"
#include "util/util.h"

#define SEED_MAX 65536
#define ADDRESSES_PER_SEGMENT 48
#define SEGMENTS_MAX 8

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_clean(const char *s)
{
	_cleanup_free_ char *again = s ? strdup(s) : NULL;

	if (!again)
		return;
	clean_name(again);
	if (strcmp(s, again))
		abort();
}

static void look_up(struct sym *s, struct object *obj, uint64_t vaddr)
{
	const struct line *l, *again;
	size_t n = sym__resolve(s, obj, vaddr, &l);

	if (!n || sym__resolve(s, obj, vaddr, &again) != n || again != l)
		abort();
	for (size_t i = 0; i < n; i++) {
		check_clean(l[i].function);
		check_clean(l[i].file);
		if (i + 1 == n && l[i].inlined)
			abort();
	}
}

static void try_file(const uint8_t *data, size_t len, bool least)
{
	struct objects *objects = objects__new();
	struct sym *s = sym__new(&(struct sym_opts){ .no_inlines = least, .no_source = least, .debug_dir = "/nonexistent" });
	struct object *obj;

	if (len && !objects__get_image(objects, "/seed", data, len, &obj, NULL)) {
		look_up(s, obj, 1);
		for (size_t i = 0; i < obj->n_segments && i < SEGMENTS_MAX; i++) {
			const struct object_segment *g = &obj->segments[i];

			for (uint64_t k = 0; k <= ADDRESSES_PER_SEGMENT; k++)
				look_up(s, obj, g->vaddr + g->mem_size / ADDRESSES_PER_SEGMENT * k + 1);
		}
		object__put(obj);
	}
	sym__free(s);
	objects__free(objects);
}

static void try_list(const uint8_t *data, size_t len)
{
	int fd = memfd_create("list", MFD_CLOEXEC);
	struct object *obj;

	if (fd < 0 || write(fd, data, len) != (ssize_t)len || jitmap__over(fd, "/tmp/perf-1.map", &obj))
		abort();
	jitmap__refresh(obj);
	for (uint64_t at = 0; at < 64; at++) {
		check_clean(jitmap__find(obj->jit, at));
		check_clean(jitmap__find(obj->jit, at << 40));
	}
	object__put(obj);
}

static void try_name(const uint8_t *data, size_t len)
{
	_cleanup_free_ char *name = malloc(len + 1);
	char buf[DEMANGLE_OUT_MAX + 1];

	memcpy(name, data, len);
	name[len] = '\0';
	if (demangle(name, buf) != strlen(buf))
		abort();
	check_clean(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (!len)
		return 0;
	switch (data[0] & 3) {
	case 0:
	case 1:
		try_file(data + 1, len - 1, data[0] & 1);
		break;
	case 2:
		try_list(data + 1, len - 1);
		break;
	default:
		try_name(data + 1, len - 1);
	}
	return 0;
}

static void put_seed(const char *dir, const char *name, char how, const void *data, size_t len)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_fclose_ FILE *f = NULL;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	f = fopen(path, "w");
	if (!f || fputc(how, f) == EOF || fwrite(data, 1, len, f) != len)
		abort();
}

/* A small library with lines, inlined calls and, in the second, the old format of them. */
static void put_libraries(const char *dir)
{
	static const char *const flags[] = { "-gdwarf-5", "-gdwarf-4", "-gdwarf-5 -gz" };
	char cmd[1024], name[32];

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		_cleanup_free_ char *file = NULL;
		size_t len;

		snprintf(cmd, sizeof(cmd),
			 "echo 'static inline int in(int a) { return a * 3; } int f(int a) { return in(a) + in(a + 1); } "
			 "int g(int a) { return f(a) / 5; }' | cc -x c - -O2 %s -shared -nostdlib -fPIC "
			 "-Wl,-z,max-page-size=4096,-z,noseparate-code,--build-id -o '%s/lib.tmp'", flags[i], dir);
		if (system(cmd))
			return;
		snprintf(cmd, sizeof(cmd), "%s/lib.tmp", dir);
		if (!read_small_file(cmd, &file, &len) && len <= SEED_MAX) {
			snprintf(name, sizeof(name), "library-%zu", i);
			put_seed(dir, name, 0, file, len);
		}
		unlink(cmd);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char list[] = "1000 10 a\n20 ffff b c\n", name[] = "_ZN3foo3barIiEEvT_",
			  rust[] = "_RNvC6_123foo3bar";
	const char *dir = getenv("FUZZ_SEEDS");

	if (!dir)
		return 0;
	put_seed(dir, "list", 2, list, strlen(list));
	put_seed(dir, "name", 3, name, strlen(name));
	put_seed(dir, "rust", 3, rust, strlen(rust));
	put_libraries(dir);
	return 0;
}
