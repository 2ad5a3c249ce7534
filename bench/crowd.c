// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Many processes at work, each of its own kind, and what a piece of their work costs while something is done to them:
 *
 *	bench-crowd N
 *
 * Each line of standard input ends a phase and begins the next one, which is called so. In the end each name is told with the CPU
 * time that the work of its phases took, as a ratio to what the same work of the same processes took in the phases called "off".
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS_MAX 200
#define NAMES_MAX 40
#define NAME_LEN 40
#define HELD 512

struct worker {
	pid_t pid;
	clockid_t clock;
};

struct sum {
	double cpu_ns, pieces;
};

static struct worker workers[WORKERS_MAX];
static volatile uint64_t *done;	/* pieces of work, by worker; shared */
static struct sum before[WORKERS_MAX];
static char names[NAMES_MAX][NAME_LEN];
static struct sum sums[NAMES_MAX][WORKERS_MAX];
static size_t n_names;

/* ---- a worker */

static void *held[HELD];
static volatile uint64_t spun;

__attribute__((noinline)) static void *allocate(unsigned int depth, size_t size)
{
	void *p = depth ? allocate(depth - 1, size) : malloc(size);

	/* no tail call: the frames are part of the work */
	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

/* One in eight does little else than allocate; the others compute between, up to some hundred times as long. */
static void work(unsigned int kind, uint64_t piece)
{
	size_t at = (size_t)(piece * 2654435761u % HELD);
	unsigned int spins = kind % 8 ? (kind % 8) * (kind % 8) * 400 : 20;

	free(held[at]);
	held[at] = allocate(4 + kind % 16, 16 + (size_t)(piece % 64) * 16);
	for (unsigned int i = 0; i < spins; i++)
		spun += i;
}

static void run(unsigned int kind)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint64_t piece = 0;; piece++) {
		work(kind, piece);
		done[kind] = piece + 1;
	}
}

/* ---- who measures */

static size_t name_index(const char *name)
{
	size_t i = 0;

	while (i < n_names && strcmp(names[i], name))
		i++;
	if (i == NAMES_MAX)
		exit(2);
	if (i == n_names)
		snprintf(names[n_names++], NAME_LEN, "%s", name);
	return i;
}

static struct sum now_of(unsigned int i)
{
	struct timespec ts = {};

	clock_gettime(workers[i].clock, &ts);
	return (struct sum){ (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec, (double)done[i] };
}

static void end_phase(const char *name, unsigned int n)
{
	size_t at = name_index(name);

	for (unsigned int i = 0; i < n; i++) {
		struct sum now = now_of(i);

		sums[at][i].cpu_ns += now.cpu_ns - before[i].cpu_ns;
		sums[at][i].pieces += now.pieces - before[i].pieces;
		before[i] = now;
	}
}

/* Each worker's work is weighed by what it costs that worker in peace: who runs more meanwhile changes nothing. */
static void tell(size_t at, size_t off, unsigned int n)
{
	double cpu = 0, in_peace = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (sums[off][i].pieces < 1)
			continue;
		cpu += sums[at][i].cpu_ns;
		in_peace += sums[at][i].pieces * sums[off][i].cpu_ns / sums[off][i].pieces;
	}
	printf("%-24s %8.4f   (%.0f s of CPU time)\n", names[at], in_peace > 0 ? cpu / in_peace : 0, cpu / 1e9);
}

int main(int argc, char **argv)
{
	unsigned int n = argc == 2 ? (unsigned int)atoi(argv[1]) : 0;
	char line[NAME_LEN], current[NAME_LEN] = "start";

	if (!n || n > WORKERS_MAX) {
		fprintf(stderr, "usage: bench-crowd N    (up to %d)\n", WORKERS_MAX);
		return 2;
	}
	done = mmap(NULL, n * sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (done == MAP_FAILED)
		return 1;
	for (unsigned int i = 0; i < n; i++) {
		workers[i].pid = fork();
		if (!workers[i].pid)
			run(i);
		if (workers[i].pid < 0 || clock_getcpuclockid(workers[i].pid, &workers[i].clock)) {
			fprintf(stderr, "bench-crowd: %s\n", strerror(errno));
			return 1;
		}
	}
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		end_phase(current, n);
		snprintf(current, sizeof(current), "%s", line);
	}
	end_phase(current, n);
	for (unsigned int i = 0; i < n; i++) {
		kill(workers[i].pid, SIGKILL);
		waitpid(workers[i].pid, NULL, 0);
	}
	for (size_t at = 0; at < n_names; at++)
		tell(at, name_index("off"), n);
	return 0;
}
