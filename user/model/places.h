/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Return addresses → places, kept from one snapshot to the next. For model/ alone. */
#ifndef MT_PLACES_H
#define MT_PLACES_H

#include <obstack.h>

#include "model/model.h"
#include "util/ids.h"
#include "util/util.h"

struct known_address;
struct known_stack;

struct places {			/* all zero: empty */
	struct obstack arena;	/* the stacks' */
	bool begun;		/* the arena is there */
	uint64_t mappings;	/* what it was made for: snapshot_info.mappings */
	uint64_t n_begun;	/* the snapshot that is being made */
	uint64_t n_forgotten;	/* times that all was forgotten: indexes are other ones then */
	struct key_ids addresses;	/* address, process, time where several were in turn (0: at any time) */
	struct vec(struct known_address) known;	/* by the number of the address */
	struct key_ids by_offset;	/* module, offset */
	struct vec(struct place) list;	/* by the number of the former */
	struct key_ids by_module;
	struct vec(struct snap_module) modules;	/* by the number of the former; strings are those of struct address */
	struct vec(struct known_stack) stacks;	/* by site number */
};

void places__done(struct places *p);
/* A snapshot begins. What was known is forgotten if mappings are other ones now. */
void places__begin(struct places *p, uint64_t mappings);
/* The frames of a site as indexes of places; hold until the next call. */
const uint32_t *places__of_site(struct places *p, const struct snap_site *site, const struct model_calls *calls);
/* The site's number is another's from now on. */
void places__forget_site(struct places *p, uint32_t site);
/* The index of a place. Its strings must hold as long as those of located addresses. */
void places__index(struct places *p, const struct address *a, uint32_t *ret);
/* All that is known goes into the snapshot. */
void places__copy(const struct places *p, struct snapshot *s);

#endif
