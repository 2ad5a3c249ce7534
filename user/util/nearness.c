// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include "util/nearness.h"

#include <string.h>

#include "util/util.h"

size_t edit_distance(const char *a, const char *b, size_t most)
{
	size_t la = strlen(a), lb = strlen(b), rows[3][EDIT_MAX_BYTES + 1], *before = rows[0],
	       *last = rows[1], *now = rows[2];

	if (la > EDIT_MAX_BYTES || lb > EDIT_MAX_BYTES || (la > lb ? la - lb : lb - la) > most)
		return most + 1;
	for (size_t j = 0; j <= lb; j++)
		last[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t *spare = before, least = now[0] = i;

		for (size_t j = 1; j <= lb; j++) {
			size_t cost = MIN(last[j - 1] + (a[i - 1] != b[j - 1]), MIN(last[j], now[j - 1]) + 1);

			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				cost = MIN(cost, before[j - 2] + 1);
			now[j] = cost;
			least = MIN(least, cost);
		}
		if (least > most)
			return most + 1;
		before = last;
		last = now;
		now = spare;
	}
	return MIN(last[lb], most + 1);
}

bool is_slip(const char *typed, const char *meant)
{
	size_t most = MAX(1, strlen(typed) / 3);

	return edit_distance(typed, meant, most) <= most;
}
