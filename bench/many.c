// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The program that bench/reader looks at: many call stacks, many live blocks,
 * and little going on. Owns a ring of blocks and a ledger of every malloc and
 * free it makes.
 *
 * Always holds: once it has said that it is ready, the process calls malloc
 * and free in the digits and turn_over() and nowhere else (target.c says why), and
 * malloc is reached by MANY_SITES different ways, each of which holds as many
 * blocks as the others, give or take one.
 *
 * Standard input: one byte fills the ring, which is answered; from then on the
 * oldest blocks are replaced, CHURN_PER_S a second; each further byte is answered
 * with the ledger. The end of the input ends it.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/target.h"
#include "util/util.h"

#define N_DIGITS 4
#define PAUSE_MS 10
#define CHURN_PER_S 10000

static struct answer ledger;
static void **ring;
static uint32_t n_live, oldest, next_site;

/*
 * A stack is a number of four digits: each is a function of its own, so that
 * the return addresses on the way differ. 16 to 79 bytes, by the site.
 */
struct way {
	uint32_t left;		/* the digits that are still to come */
	uint32_t n_digits;
	size_t size;
	void *block;
};

static void step(struct way *w);

#define DIGIT(d)								\
	static __attribute__((noinline)) void digit_##d(struct way *w)		\
	{									\
		if (w->n_digits)						\
			step(w);						\
		else								\
			w->block = malloc(w->size);				\
		__asm__ volatile("" ::"i"(d) : "memory");	/* no two alike */	\
	}
DIGIT(0) DIGIT(1) DIGIT(2) DIGIT(3) DIGIT(4) DIGIT(5) DIGIT(6) DIGIT(7) DIGIT(8) DIGIT(9)

static __attribute__((noinline)) void step(struct way *w)
{
	static void (*const digits[10])(struct way *w) = {
		digit_0, digit_1, digit_2, digit_3, digit_4, digit_5, digit_6, digit_7, digit_8, digit_9,
	};
	uint32_t digit = w->left % 10;

	w->left /= 10;
	w->n_digits--;
	digits[digit](w);
	__asm__ volatile("" ::: "memory");
}

static void *allocate(void)
{
	struct way w = { .left = next_site, .n_digits = N_DIGITS, .size = 16 + next_site % 64 };

	if (++next_site == MANY_SITES)
		next_site = 0;
	step(&w);
	ledger.n_mallocs++;
	return w.block;
}

/* Also for the first filling, and called from one place: another caller would be another stack. */
static void turn_over(uint32_t n)
{
	for (; n; n--) {
		if (ring[oldest]) {
			free(ring[oldest]);
			ledger.n_frees++;
		}
		ring[oldest] = allocate();
		if (++oldest == n_live)
			oldest = 0;
	}
}

/* argv: the number of live blocks */
int main(int argc, char **argv)
{
	bool filled = false;
	char byte;

	n_live = argc == 2 ? atoi(argv[1]) : 0;
	ring = mmap(NULL, n_live * sizeof(void *), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!n_live || ring == MAP_FAILED || write(STDOUT_FILENO, "", 1) != 1)
		return 2;
	for (;;) {
		struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
		bool asked = poll(&input, 1, filled ? PAUSE_MS : -1);

		if (asked && read(STDIN_FILENO, &byte, 1) != 1)
			_exit(0);	/* as target.c */
		if (!asked || !filled)
			turn_over(filled ? CHURN_PER_S * PAUSE_MS / 1000 : n_live);
		filled = true;
		if (asked && write(STDOUT_FILENO, &ledger, sizeof(ledger)) != sizeof(ledger))
			return 1;
	}
}
