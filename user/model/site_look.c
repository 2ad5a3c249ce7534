// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include "model/site_look.h"

#include "util/util.h"

/* The look was some time before: what was freed since is live no more. */
void site_look__build(struct snapshot *s, struct snap_site *to)
{
	const struct site_look *most = to->look;
	struct snap_share *types;

	if (!most)
		return;
	to->look = NULL;
	if (!most->scans)
		to->looked_blocks = 0;
	to->unreached_blocks = MIN(to->unreached_blocks, to->c.live_blocks);
	to->unreached_bytes = MIN(to->unreached_bytes, to->c.live_bytes);
	types = snapshot__alloc(s, most->n_types + 1, sizeof(*types));
	for (size_t i = 0; i < most->n_types; i++) {
		types[i] = most->types[i];
		types[i].name = snapshot__strdup(s, most->types[i].name);
	}
	to->types = types;
	to->n_types = most->n_types;
	to->sampled_blocks = MIN(most->sampled, to->c.live_blocks);
	if (most->held) {
		struct snap_root held = *most->held;

		held.bytes = MIN(held.bytes, to->c.live_bytes);
		held.blocks = MIN(held.blocks, to->c.live_blocks);
		to->held = snap_root__copy(s, &held);
	}
}
