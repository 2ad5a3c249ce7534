/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* What a reader can be asked for, and who answers. */
#ifndef MT_READER_KINDS_H
#define MT_READER_KINDS_H

#include "reader/reader.h"

extern reader_serve_fn *const reader_kinds[N_READER_KINDS];

#endif
