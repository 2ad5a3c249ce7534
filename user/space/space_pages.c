// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns nothing: pages of a process's code, compared with its file. Few are the process's own at all, and
 * the kernel says which (/proc/PID/pagemap), so nearly always there is nothing to compare. A page
 * that was swapped out is not read: the target does not page in for us.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "space/space_memory.h"
#include "space/space_pages.h"
#include "util/util.h"

#define MAX_PAGE 65536
#define AT_ONCE 512		/* pages */
#define PRESENT (1ull << 63)
#define SWAPPED (1ull << 62)
#define OF_FILE (1ull << 61)	/* or of memory that is shared */

/* brk, whatever its number */
static bool differs_arm64(const unsigned char *got, const unsigned char *file, size_t len)
{
	for (size_t i = 0; i + 4 <= len; i += 4) {
		uint32_t insn;

		memcpy(&insn, got + i, sizeof(insn));
		if (memcmp(got + i, file + i, 4) && (insn & 0xffe0001f) != 0xd4200000)
			return true;
	}
	return false;
}

/* int3; and the call that the kernel makes of a long nop with a probe on it (6.18) */
static bool differs_x86_64(const unsigned char *got, const unsigned char *file, size_t len)
{
	static const unsigned char nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	for (size_t i = 0; i < len; i++) {
		if (got[i] == file[i] || got[i] == 0xcc)
			continue;
		if (got[i] != 0xe8 || len - i < sizeof(nop5) || memcmp(file + i, nop5, sizeof(nop5)))
			return true;
		i += sizeof(nop5) - 1;
	}
	return false;
}

/* Of what cannot be read nothing is said. */
static bool differs(int mem, const struct object *obj, uint64_t at, uint64_t off, size_t page)
{
	unsigned char got[MAX_PAGE], file[MAX_PAGE];
	ssize_t n = pread(mem, got, page, (off_t)at), n_file = pread(obj->fd, file, page, (off_t)off);

	if (n <= 0 || n_file <= 0)
		return false;
	return (obj->machine == EM_AARCH64 ? differs_arm64 : differs_x86_64)(got, file, (size_t)MIN(n, n_file));
}

static int open_of(pid_t pid, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool space_pages__find_written(pid_t pid, const struct object *obj, const struct mapping *m,
			       uint64_t since_ns, struct space_written *w)
{
	_cleanup_close_ int map = open_of(pid, "pagemap"), mem = -1;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t flags[AT_ONCE], at = m->start;
	bool is_new = false;

	while (map >= 0 && page <= MAX_PAGE && at < m->end) {
		size_t want = MIN((m->end - at) / page, (uint64_t)AT_ONCE);
		ssize_t n = pread(map, flags, want * sizeof(*flags), (off_t)(at / page * sizeof(*flags)));

		if (n < (ssize_t)sizeof(*flags))
			break;
		for (size_t i = 0; i < (size_t)n / sizeof(*flags); i++, at += page) {
			if (flags[i] & OF_FILE || !(flags[i] & (PRESENT | SWAPPED)))
				continue;
			if (mem < 0)
				mem = space_memory__open(pid);
			if (flags[i] & SWAPPED || differs(mem, obj, at, m->file_off + (at - m->start), page))
				is_new |= space_written__add(w, (struct written_piece){ at, at + page, since_ns });
		}
	}
	return is_new;
}
