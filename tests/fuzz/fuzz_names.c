// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Names are what others chose: any bytes must give clean ones, in time. The first byte says what the rest is:
 *
 *   0   a symbol's name, demangled and shortened
 *   1   the list of a JIT
 *   2   two names of functions, a NUL between them: does the first ask for the second?
 */
#include "elf/code_book.h"
#include "elf/object.h"
#include "elf/symtab.h"
#include "fuzz.h"
#include "util/funcname.h"
#include "util/own_name.h"

static void shorten(const char *name)
{
	_cleanup_free_ char *shown = own_name__shown(name);
	struct own_name own = own_name__of(name), lambda = own_name__lambda(name);

	if (own.s < name || own.s + own.len > name + strlen(name) || (*name && !own.len))
		abort();
	if (lambda.s && (lambda.s < name || lambda.s + lambda.len > name + strlen(name)))
		abort();
	own_name__is_library(&own);
	check_clean(shown);
}

static void try_name(const uint8_t *data, size_t len)
{
	_cleanup_free_ char *name = text_of(data, len);
	char buf[DEMANGLE_OUT_MAX + 1];

	if (demangle(name, buf) != strlen(buf))
		abort();
	check_clean(buf);
	shorten(buf);
}

static void try_list(const uint8_t *data, size_t len)
{
	struct object *obj = jitmap__over(file_of(data, len), "/tmp/perf-1.map");

	jitmap__refresh(obj);
	for (uint64_t at = 0; at < 64; at++) {
		check_clean(jitmap__find(obj->jit, at));
		check_clean(jitmap__find(obj->jit, at << 40));
	}
	object__put(obj);
}

static void try_asked(const uint8_t *data, size_t len)
{
	_cleanup_free_ char *asked = text_of(data, len), *name = NULL;
	struct func_ref ref;

	name = strdup(asked + MIN(strlen(asked) + 1, len));
	if (func_ref__parse(asked, &ref)) {
		func_ref__is_in(&ref, name);
		func_name__matches(ref.function, name, false);
		func_name__matches(ref.function, name, true);
	}
	if (func_name__without_marks(name, strlen(name)) > strlen(name))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (*const tries[])(const uint8_t *data, size_t len) = { try_name, try_list, try_asked };

	if (len)
		tries[data[0] % ARRAY_SIZE(tries)](data + 1, len - 1);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const char asked[] = "libfoo.so:ns::f\0ns::f<int>(int) [clone .part.0]";

	put_text_seed("cxx", 0, "_ZN3foo3barIiEEvT_");
	put_text_seed("conversion", 0, "_ZN1AcvT_IXcvT_IiEEEEv");
	put_text_seed("lambda", 0, "_ZZ4mainENKUlvE_clEv.part.0");
	put_text_seed("rust", 0, "_RNvC6_123foo3bar");
	put_text_seed("old-rust", 0, "_ZN5alloc7raw_vec19RawVec$LT$T$C$A$GT$7reserve17habcdef0123456789E");
	put_text_seed("list", 1, "1000 10 a\n20 ffff b c\n");
	put_seed("asked", 2, asked, sizeof(asked) - 1);
	return 0;
}
