// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* From the lowest digit to the highest, each pass keeping the order of the one before; digits that all records share cost nothing. */
#include "util/sorted.h"

#include <string.h>

#include "util/util.h"

#define DIGIT_BITS 11
#define N_DIGITS (1u << DIGIT_BITS)
#define FEW 64			/* are sorted by insertion */

static uint64_t key_of(const char *record)
{
	uint64_t key;

	memcpy(&key, record, sizeof(key));
	return key;
}

static void insert(char *v, size_t n, size_t size)
{
	char held[size];

	for (size_t i = 1; i < n; i++) {
		uint64_t key = key_of(v + i * size);
		size_t to = i;

		while (to && key_of(v + (to - 1) * size) > key)
			to--;
		if (to == i)
			continue;
		memcpy(held, v + i * size, size);
		memmove(v + (to + 1) * size, v + to * size, (i - to) * size);
		memcpy(v + to * size, held, size);
	}
}

static void pass(const char *from, char *to, size_t n, size_t size, unsigned int shift)
{
	size_t at[N_DIGITS] = {}, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[key_of(from + i * size) >> shift & (N_DIGITS - 1)]++;
	for (size_t i = 0; i < N_DIGITS; i++) {
		size_t digits = at[i];

		at[i] = sum;
		sum += digits;
	}
	for (size_t i = 0; i < n; i++)
		memcpy(to + at[key_of(from + i * size) >> shift & (N_DIGITS - 1)]++ * size, from + i * size, size);
}

void radix__sort(void *v, size_t n, size_t size)
{
	char *from = v, *to, *other;
	uint64_t all = UINT64_MAX, any = 0;

	if (n <= FEW) {
		insert(v, n, size);
		return;
	}
	to = other = xreallocarray(NULL, n, size);
	for (size_t i = 0; i < n; i++) {
		all &= key_of(from + i * size);
		any |= key_of(from + i * size);
	}
	for (unsigned int shift = 0; shift < 64; shift += DIGIT_BITS) {
		char *was = from;

		if (!((all ^ any) >> shift & (N_DIGITS - 1)))
			continue;
		pass(from, to, n, size, shift);
		from = to;
		to = was;
	}
	if (from != v)
		memcpy(v, from, n * size);
	free(other);
}
