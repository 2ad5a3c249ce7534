// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the scripts. They are written so that bpftrace does as little as the task
 * allows: the stack is taken once, sizes and blocks are looked up once.
 *
 *   calls     the size is known at entry, the address at return; a block's size
 *             and stack are kept until its free; calls are counted by stack
 *   by stack  bytes are summed by stack too, and each free is charged to the
 *             stack of its block, in calls and bytes: what a report of live bytes
 *             by stack takes, and what malloctrace does. Still no peaks, ages,
 *             threads or histograms.
 *
 * Two timers, one on each side of the probes, tell when all are attached, in
 * whatever order bpftrace goes about it.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bpftrace.h"
#include "bench/text.h"
#include "util/util.h"

#define ATTACH_TIMEOUT_MS 300000	/* on a busy machine, with room for millions of blocks */
#define FINISH_TIMEOUT_MS 300000	/* it deletes its blocks one by one */

static const char early[] = "interval:ms:50 /!@early/ { @early = 1; printf(\"early ready\\n\"); }\n";
static const char late[] =
	"interval:ms:50 /!@late/ { @late = 1; printf(\"late ready\\n\"); }\n"
	"END { clear(@block); clear(@size); }\n";

/* %1$s: the library, %2$s: what is done with a block that goes */
static const char malloc_entry[] = "uprobe:%1$s:malloc { @size[tid] = arg0; }\n";
static const char other_entries[] =
	"uprobe:%1$s:calloc { @size[tid] = arg0 * arg1; }\n"
	"uprobe:%1$s:realloc {\n"
	"	@size[tid] = arg1;\n"
	"	$b = @block[arg0];\n"
	"	if ($b.0) { %2$s delete(@block[arg0]); }\n"
	"}\n";
static const char malloc_return[] = "uretprobe:%1$s:malloc";
static const char other_returns[] = ", uretprobe:%1$s:calloc, uretprobe:%1$s:realloc";
/* %s: what is done with a new block */
static const char at_return[] =
	" {\n"
	"	$size = @size[tid];\n"
	"	if ($size) {\n"
	"		$stack = ustack;\n"
	"		@block[retval] = ($size, $stack);\n"
	"		@calls[$stack] = count();\n"
	"		%s\n"
	"		delete(@size[tid]);\n"
	"	}\n"
	"}\n";
static const char at_free[] =
	"uprobe:%1$s:free {\n"
	"	$b = @block[arg0];\n"
	"	if ($b.0) { %2$s delete(@block[arg0]); }\n"
	"}\n";

static const char new_by_stack[] = "@bytes[$stack] = sum($size);";
static const char gone[] = "@frees = count();";
static const char gone_by_stack[] = "@freed[$b.1] = count(); @freed_bytes[$b.1] = sum($b.0);";

static char *write_script(const struct bpftrace_opts *o)
{
	const char *on_new = o->by_stack ? new_by_stack : "", *on_gone = o->by_stack ? gone_by_stack : gone;
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	fputs(early, f);
	fprintf(f, malloc_entry, o->library);
	if (o->whole)
		fprintf(f, other_entries, o->library, on_gone);
	fprintf(f, malloc_return, o->library);
	if (o->whole)
		fprintf(f, other_returns, o->library);
	fprintf(f, at_return, on_new);
	fprintf(f, at_free, o->library, on_gone);
	fputs(late, f);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

int bpftrace__start(const struct bpftrace_opts *o, struct child *ret, struct err *e)
{
	/* with the 4,096 keys of its default it would do less work, and count wrongly */
	char max_keys[64];
	/* names are of no use here, and may take it a minute */
	char *env[] = { max_keys, "BPFTRACE_NO_USER_SYMBOLS=1", NULL };
	_cleanup_free_ char *text = write_script(o);

	if (!text)
		return err_set(e, -ENOMEM, "out of memory");
	snprintf(max_keys, sizeof(max_keys), "BPFTRACE_MAP_KEYS_MAX=%" PRIu64, o->max_live);
	if (child__start_tool((char *[]){ "bpftrace", "-e", text, NULL }, env, NULL, ret, e) ||
	    child__wait_for_text(ret, "early ready", ATTACH_TIMEOUT_MS, e) ||
	    child__wait_for_text(ret, "late ready", ATTACH_TIMEOUT_MS, e))
		return err_wrap(e, e->code ?: -EIO, "bpftrace");
	return 0;
}

/* "@calls[\n frames \n]: 123" for each stack; "@freed[]: 123" for those that come out of a tuple */
static uint64_t sum_by_stack(const char *text, const char *map)
{
	uint64_t sum = 0, n;

	while ((text = strstr(text, map))) {
		text += strlen(map);
		if (!text__number(text, "]:", ":", &n))
			sum += n;
	}
	return sum;
}

int bpftrace__finish(struct child *c, uint64_t *ret_allocs, uint64_t *ret_frees, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	int status = child__finish(c, SIGINT, FINISH_TIMEOUT_MS, &text, e);

	if (status < 0)
		return err_wrap(e, e->code ?: -EIO, "bpftrace");
	if (text__number(text, "@frees:", ":", ret_frees))
		*ret_frees = sum_by_stack(text, "@freed[");
	*ret_allocs = sum_by_stack(text, "@calls[");
	return 0;
}
