// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The program that bench/heap looks at: a tree of blocks, which it walks from the root to a leaf, by chance and for ever. It
 * waits for memory all the time, so nothing suffers more from another reader of memory.
 *
 *	tree BLOCKS BYTES FD
 *
 * FD is a memory file; its first word counts walks, its second one is 1 once the tree is there. Always holds: every block is in
 * the tree, but for LOST of them, which nothing points to.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/tree.h"

struct node {
	struct node *left, *right;
	char rest[];
};

static uint64_t seed = 42;

static uint32_t random_word(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33);
}

static __attribute__((noinline)) struct node *plant(size_t n, size_t bytes)
{
	struct node **v = mmap(NULL, n * sizeof(*v), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct node *root;

	for (size_t i = 0; i < n; i++) {
		v[i] = malloc(bytes);
		memset(v[i], 0, bytes);
	}
	for (size_t i = 0; i < n; i++) {
		v[i]->left = 2 * i + 1 < n ? v[2 * i + 1] : NULL;
		v[i]->right = 2 * i + 2 < n ? v[2 * i + 2] : NULL;
	}
	root = v[0];
	munmap(v, n * sizeof(*v));
	return root;
}

static __attribute__((noinline)) void lose(size_t bytes)
{
	for (size_t i = 0; i < TREE_LOST; i++)
		memset(malloc(bytes), 1, bytes);
}

/* What earlier calls have left on the stack. */
static __attribute__((noinline)) void scrub(void)
{
	volatile char room[65536];

	for (size_t i = 0; i < sizeof(room); i++)
		room[i] = 0;
}

int main(int argc, char **argv)
{
	volatile uint64_t *shared;
	struct node *root;

	if (argc != 4)
		return 2;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[3]), 0);
	if (shared == MAP_FAILED)
		return 1;
	lose(strtoul(argv[2], NULL, 10));
	scrub();
	root = plant(strtoul(argv[1], NULL, 10), strtoul(argv[2], NULL, 10));
	shared[1] = 1;
	for (;;) {
		for (const struct node *at = root; at; at = random_word() & 1 ? at->left : at->right)
			;
		shared[0]++;
	}
}
