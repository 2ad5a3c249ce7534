/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* Probes that programs carry with them (USDT, <sys/sdt.h>): a note for each, and a nop where it is. */
#ifndef MT_USDT_H
#define MT_USDT_H

#include <stdint.h>

#include "elf/object.h"

struct usdt {
	const char *provider, *name;	/* valid during the call */
	uint64_t offset;	/* of the nop, in the file */
	uint64_t counter;	/* of the word that counts its tracers, in the file; 0: it has none */
};

/* fn for each probe of an object; non-zero stops, and is returned. Notes that make no sense are skipped. */
int usdt__each(const struct object *obj, int (*fn)(const struct usdt *u, void *arg), void *arg);

#endif
