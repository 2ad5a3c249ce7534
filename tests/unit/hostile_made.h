/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* ELF files that nobody would build: as many section headers as wanted, over the same bytes. */
#ifndef TEST_HOSTILE_MADE_H
#define TEST_HOSTILE_MADE_H

#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "elf/object.h"
#include "names/sym.h"
#include "util/util.h"

#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

#define HOSTILE_BASE 0x400000
#define HOSTILE_CODE 0x1000	/* where it is in the file */

struct hostile {
	int fd;
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	uint64_t end;		/* of the file, so far */
	struct vec(Elf64_Shdr) sections;
};

static inline void hostile__put(struct hostile *h, uint64_t at, const void *bytes, size_t len)
{
	cr_assert_eq(pwrite(h->fd, bytes, len, (off_t)at), (ssize_t)len);
	h->end = MAX(h->end, at + len);
}

/* A page of code and a null section. fd: an empty file, which stays the caller's. */
static inline void hostile__begin(struct hostile *h, int fd)
{
	*h = (struct hostile){ .fd = fd, .end = HOSTILE_CODE + 4096 };
	memcpy(h->eh.e_ident, ELFMAG, SELFMAG);
	h->eh.e_ident[EI_CLASS] = ELFCLASS64;
	h->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	h->eh.e_ident[EI_VERSION] = h->eh.e_version = EV_CURRENT;
	h->eh.e_ehsize = sizeof(h->eh);
	h->eh.e_type = ET_DYN;
	h->eh.e_machine = OWN_MACHINE;
	h->eh.e_phoff = sizeof(h->eh);
	h->eh.e_phentsize = sizeof(h->ph);
	h->eh.e_phnum = 1;
	h->eh.e_shentsize = sizeof(Elf64_Shdr);
	h->ph = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = HOSTILE_CODE, .p_vaddr = HOSTILE_BASE,
			      .p_filesz = 4096, .p_memsz = 4096 };
	cr_assert_not_null(vec_push(&h->sections));
}

static inline uint32_t hostile__add(struct hostile *h, const Elf64_Shdr *sh)
{
	Elf64_Shdr *slot = vec_push(&h->sections);

	cr_assert_not_null(slot);
	*slot = *sh;
	return h->sections.n - 1;
}

/* size: of the file, if it is to be larger. */
static inline void hostile__finish(struct hostile *h, uint64_t size)
{
	uint64_t at = (h->end + 63) & ~63ull;

	h->eh.e_shoff = at;
	h->eh.e_shnum = h->sections.n;
	hostile__put(h, at, h->sections.v, h->sections.n * sizeof(*h->sections.v));
	hostile__put(h, 0, &h->eh, sizeof(h->eh));
	hostile__put(h, sizeof(h->eh), &h->ph, sizeof(h->ph));
	if (size > h->end)
		cr_assert_eq(ftruncate(h->fd, (off_t)size), 0);
	vec_done(&h->sections);
}

static inline int hostile__file(const char *path)
{
	int fd = path ? open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : memfd_create("hostile", MFD_CLOEXEC);

	cr_assert_geq(fd, 0);
	return fd;
}

static inline struct object *hostile__object(struct objects *o, int fd, const char *path)
{
	_cleanup_free_ char *link = NULL;
	struct object *obj;

	cr_assert_geq(asprintf(&link, "/proc/self/fd/%d", fd), 0);
	cr_assert_eq(objects__get_path(o, path ? path : link, &obj, NULL), 0);
	return obj;
}

/* The most that this process ever had in memory. */
static inline uint64_t most_bytes(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_maxrss * 1024;
}

#endif
