/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
#ifndef MT_UTF8_H
#define MT_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The character at s, of zero-terminated text: how many bytes it has; 0: what stands there is none, such as an overlong form or the end. */
size_t utf8__decode(const void *s, uint32_t *ret);

#endif
