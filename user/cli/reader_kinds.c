// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* The table of reader_kinds.h. */
#include "cli/reader_kinds.h"

#include "elf/apart.h"
#include "names/sym_apart.h"
#include "probe/plan_apart.h"

reader_serve_fn *const reader_kinds[N_READER_KINDS] = {
	[READ_HEADERS] = object_apart__serve_headers,
	[READ_FUNCTIONS] = object_apart__serve_functions,
	[READ_STARTS] = object_apart__serve_starts,
	[READ_CFI] = cfi_apart__serve,
	[READ_SECTION] = object_apart__serve_section,
	[READ_VARIABLES] = variables_apart__serve,
	[READ_INLINED] = defined_apart__serve_inlined,
	[READ_DEMANGLED] = demangle_apart__serve,
	[READ_JIT_LIST] = jitmap_apart__serve,
	[READ_NAMES] = sym_apart__serve,
	[READ_PLAN] = plan_apart__serve,
	[READ_SPOTS] = spots_apart__serve,
	[READ_WITHIN] = within_apart__serve,
	[READ_CLOSEST] = closest_apart__serve,
	[READ_LOADER] = loader_apart__serve,
	[READ_REFUSALS] = refusals_apart__serve,
	[READ_LOOKALIKES] = lookalikes_apart__serve,
};
