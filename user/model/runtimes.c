// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of runtimes. What always holds: a sentence says what a user of this language
 * would otherwise find out by a report that lacks what they look for.
 */
#include "model/runtimes.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "model/snapshot.h"
#include "util/util.h"

const struct runtime runtimes[] = {
	{ "python", "Python", "libpython[23]* python python[23] python[23].*", NULL,
	  "objects larger than 512 bytes, and what C code allocates",
	  "objects of up to 512 bytes, which share arenas (PYTHONMALLOC=malloc shows each)",
	  "--python off shows the interpreter's own frames", PYTHON_PATH },
	{ "pypy", "PyPy", "pypy* libpypy*", NULL,
	  "what C code allocates, and the memory that its heap takes",
	  "objects, which are in a heap of its own",
	  "frames are the interpreter's", NULL },
	{ "node", "Node.js", "node nodejs libnode.so*", NULL,
	  "buffers, addons and V8's own structures",
	  "JavaScript objects, which are in V8's heap (node --heapsnapshot-signal)",
	  "names of JavaScript functions need node --perf-basic-prof", NULL },
	{ "java", "Java", "libjvm.so", NULL,
	  "direct buffers, native libraries and the JVM itself",
	  "Java objects, which are in the JVM's heap (jcmd PID GC.class_histogram)",
	  "names of Java methods need -XX:+PreserveFramePointer, and jcmd PID Compiler.perfmap", NULL },
	{ "go", "Go", "", ".go.buildinfo",
	  "what C code called by cgo allocates",
	  "Go objects, which come from an allocator of its own (pprof's heap profile)",
	  "--mode growth shows which code makes memory resident", NULL },
	{ "ruby", "Ruby", "libruby*.so* ruby ruby[0-9]*", NULL,
	  "what strings, arrays and hashes hold, and C extensions",
	  "objects of up to some hundred bytes, which share pages (ObjectSpace)",
	  "frames are the interpreter's", NULL },
	{ "dotnet", ".NET", "libcoreclr.so", NULL,
	  "native libraries and the runtime itself",
	  "managed objects (dotnet-gcdump)",
	  "names of managed methods need DOTNET_PerfMapEnabled=1", NULL },
	{ "php", "PHP", "libphp*.so* php php[0-9]* php-fpm*", NULL,
	  "blocks larger than 2 MiB, persistent ones and libraries",
	  "what a request allocates, which shares chunks (USE_ZEND_ALLOC=0 shows each block)",
	  "frames are the interpreter's", NULL },
	{ "erlang", "Erlang", "beam.smp beam", NULL,
	  "what drivers and NIFs allocate",
	  "terms, which are in carriers that Erlang maps itself",
	  "see erlang:memory()", NULL },
};
const size_t n_runtimes = ARRAY_SIZE(runtimes);

static bool matches(const char *globs, const char *name)
{
	while (*globs) {
		size_t len = strcspn(globs, " ");
		char glob[64];

		snprintf(glob, sizeof(glob), "%.*s", (int)len, globs);
		if (!fnmatch(glob, name, 0))
			return true;
		globs += len + (globs[len] == ' ');
	}
	return false;
}

const struct runtime *runtime__of_file(const char *name)
{
	for (size_t i = 0; i < n_runtimes; i++)
		if (matches(runtimes[i].files, name))
			return &runtimes[i];
	return NULL;
}

const struct runtime *runtime__find(const char *name)
{
	for (size_t i = 0; name && i < n_runtimes; i++)
		if (!strcmp(runtimes[i].name, name))
			return &runtimes[i];
	return NULL;
}

/* If there is one for what is shown; else NULL. */
static const char *advice_of(const struct runtime *r, const struct snapshot *s)
{
	for (size_t i = 0; r->advice_for && i < s->n_modules; i++)
		if (!strcmp(s->modules[i].path ?: "", r->advice_for))
			return r->advice;
	return r->advice_for ? NULL : r->advice;
}

const struct runtime *runtime__of_snapshot(const struct snapshot *s, size_t nth)
{
	for (size_t r = 0; r < n_runtimes; r++) {
		bool found = false;

		if (recording__is_growth(&s->recording) && !advice_of(&runtimes[r], s))
			continue;

		for (size_t i = 0; i < s->n_processes && !found; i++)
			found = runtime__find(s->processes[i].runtime) == &runtimes[r];
		if (found && !nth--)
			return &runtimes[r];
	}
	return NULL;
}

bool is_python_module(const char *path)
{
	return path && !strcmp(path, PYTHON_PATH);
}

char *runtime__words(const struct runtime *r, const struct snapshot *s)
{
	const char *advice = advice_of(r, s);

	if (recording__is_growth(&s->recording))
		return xstrdup(advice ?: "");
	return xasprintf("seen: %s; not seen: %s%s%s", r->seen, r->unseen, advice ? "; " : "", advice ?: "");
}
