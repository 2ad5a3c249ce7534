// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Names are looked up by root in files that another process maps: any bytes
 * must give clean names or none. The first byte: bit 0 for no lines and no inlined
 * calls. The rest is an ELF file; addresses all over its code are resolved.
 */
#include "elf/object.h"
#include "names/sym.h"
#include "fuzz.h"

#define SEED_MAX 65536
#define ADDRESSES_PER_SEGMENT 48
#define SEGMENTS_MAX 8

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len)
		try_file(data + 1, len - 1, data[0] & 1);
	return 0;
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
			put_seed(name, 0, file, len);
		}
		unlink(cmd);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (getenv("FUZZ_SEEDS"))
		put_libraries(getenv("FUZZ_SEEDS"));
	return 0;
}
