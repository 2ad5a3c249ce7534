// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the Dwfl. It holds for the mappings at the time of dw__open. */
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/oracle/dw.h"

struct dw {
	Dwfl *dwfl;
};

static char *debug_path;
static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &debug_path,
};

struct dw *dw__open(pid_t pid)
{
	struct dw *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->dwfl = dwfl_begin(&callbacks);
	if (!d->dwfl || dwfl_linux_proc_report(d->dwfl, pid) || dwfl_report_end(d->dwfl, NULL, NULL) ||
	    dwfl_linux_proc_attach(d->dwfl, pid, true)) {
		fprintf(stderr, "libdw: %s\n", dwfl_errmsg(-1));
		dw__close(d);
		return NULL;
	}
	return d;
}

void dw__close(struct dw *d)
{
	if (d)
		dwfl_end(d->dwfl);
	free(d);
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct dw_stack *s = arg;
	Dwarf_Addr pc;

	if (s->n == DW_MAX_FRAMES || !dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	s->ip[s->n++] = pc;
	return DWARF_CB_OK;
}

void dw__walk(struct dw *d, pid_t tid, struct dw_stack *ret)
{
	const char *msg;

	ret->n = 0;
	ret->why[0] = 0;
	dwfl_errno();
	if (dwfl_getthread_frames(d->dwfl, tid, on_frame, ret)) {
		msg = dwfl_errmsg(-1);
		snprintf(ret->why, sizeof(ret->why), "%s", msg ? msg : "it does not say why");
	}
}

const char *dw__place(struct dw *d, uint64_t addr)
{
	static char text[4][320];
	static unsigned int n;
	char *p = text[n++ % 4];
	Dwfl_Module *m = dwfl_addrmodule(d->dwfl, addr);
	Dwarf_Addr start = 0;
	const char *name = m ? dwfl_module_info(m, NULL, &start, NULL, NULL, NULL, NULL, NULL) : NULL;
	const char *sym = m ? dwfl_module_addrname(m, addr - 1) : NULL;

	snprintf(p, sizeof(text[0]), "%.200s+%#lx (%.60s)", name ? name : "?", (unsigned long)(addr - start), sym ? sym : "?");
	return p;
}
