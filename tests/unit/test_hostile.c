// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Files and names that are made to take time or memory for ever: there is a bound for each. */
#include "hostile_made.h"

#include <errno.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <zlib.h>

#include "elf/code_book.h"
#include "probe/attach.h"

#define MIB (1ull << 20)

TestSuite(hostile, .timeout = 60);

static int count_one(const struct object_symbol *s, void *arg)
{
	(*(size_t *)arg)++;
	return 0;
}

/* All that is read of a file in the course of a trace. CPU time in seconds. */
static double read_all(int fd, const char *path)
{
	struct objects *o = objects__new();
	struct object *obj = hostile__object(o, fd, path);
	struct sym *s = sym__new(&(struct sym_opts){ .debug_dir = "/nonexistent" });
	uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID), *starts = NULL;
	const struct line *l;
	size_t n = 0;

	object__for_each_function(obj, count_one, &n);
	object__function_starts(obj, &starts, &n);
	free(starts);
	sym__resolve(s, obj, HOSTILE_BASE + 17, &l);
	sym__free(s);
	object__put(obj);
	objects__free(o);
	return (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began) / SECOND_NS;
}

/* 4 MiB: 60,000 headers, each of a symbol table that is the whole file, and a string table that never ends. */
Test(hostile, symbol_tables_over_one_another)
{
	_cleanup_close_ int fd = hostile__file(NULL);
	_cleanup_free_ Elf64_Sym *syms = calloc(16384, sizeof(*syms));
	struct hostile h;
	uint32_t strings;

	hostile__begin(&h, fd);
	for (size_t i = 0; i < 16384; i++)
		syms[i] = (Elf64_Sym){ .st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
				       .st_value = HOSTILE_BASE + 16, .st_size = 16 };
	hostile__put(&h, 2 * HOSTILE_CODE, syms, 16384 * sizeof(*syms));
	strings = hostile__add(&h, &(Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_flags = SHF_EXECINSTR, .sh_addr = HOSTILE_BASE, .sh_offset = 2 * HOSTILE_CODE,
						   .sh_size = 16384 * sizeof(*syms) });
	while (h.sections.n < 60000)
		hostile__add(&h, &(Elf64_Shdr){ .sh_type = h.sections.n % 2 ? SHT_SYMTAB : SHT_DYNSYM, .sh_link = strings, .sh_entsize = sizeof(*syms),
						.sh_offset = 2 * HOSTILE_CODE, .sh_size = 16384 * sizeof(*syms) });
	hostile__finish(&h, 4 * MIB);
	cr_expect_lt(read_all(fd, NULL), 2.0);
}

/* 12 KiB on the disk: a hole of 170 MiB, which 20 headers say has symbols. */
Test(hostile, holes_are_not_held_many_times)
{
	_cleanup_close_ int fd = hostile__file(NULL);
	struct hostile h;

	hostile__begin(&h, fd);
	for (int i = 0; i < 20; i++) {
		hostile__add(&h, &(Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = h.sections.n + 1, .sh_entsize = sizeof(Elf64_Sym),
						.sh_offset = MIB, .sh_size = 120 * MIB });
		hostile__add(&h, &(Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = 121 * MIB, .sh_size = 50 * MIB });
	}
	hostile__finish(&h, 172 * MIB);
	read_all(fd, NULL);
	cr_expect_lt(most_bytes(), 600 * MIB, "%llu MiB", (unsigned long long)(most_bytes() / MIB));
}

/* Names of megabytes: all symbols share one that does not end before the table does. */
Test(hostile, names_without_an_end)
{
	_cleanup_close_ int fd = hostile__file(NULL);
	_cleanup_free_ Elf64_Sym *syms = calloc(100000, sizeof(*syms));
	_cleanup_free_ char *strings = malloc(4 * MIB);
	struct hostile h;

	hostile__begin(&h, fd);
	memset(strings, '_', 4 * MIB);
	strings[0] = strings[4 * MIB - 1] = '\0';
	for (size_t i = 0; i < 100000; i++)
		syms[i] = (Elf64_Sym){ .st_name = 1 + i, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 3,
				       .st_value = HOSTILE_BASE + 16, .st_size = 16 };
	hostile__put(&h, 2 * HOSTILE_CODE, syms, 100000 * sizeof(*syms));
	hostile__add(&h, &(Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = 2, .sh_entsize = sizeof(*syms), .sh_offset = 2 * HOSTILE_CODE,
					.sh_size = 100000 * sizeof(*syms) });
	hostile__add(&h, &(Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = 4 * MIB, .sh_size = 4 * MIB });
	hostile__add(&h, &(Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = HOSTILE_BASE, .sh_offset = HOSTILE_CODE,
					.sh_size = 4096 });
	hostile__put(&h, 4 * MIB, strings, 4 * MIB);
	hostile__finish(&h, 0);
	cr_expect_lt(read_all(fd, NULL), 3.0);
}

/* ---- DWARF */

static const char debug_names[] = "\0.shstrtab\0.debug_info\0.debug_abbrev\0.debug_str";

/* Zeros, a thousand to one. */
static size_t squeeze(uint64_t size, unsigned char *to, size_t room)
{
	static unsigned char zeros[MIB];
	Elf64_Chdr chdr = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = size, .ch_addralign = 1 };
	z_stream z = {};

	memcpy(to, &chdr, sizeof(chdr));
	cr_assert_eq(deflateInit(&z, 9), Z_OK);
	z.next_out = to + sizeof(chdr);
	z.avail_out = (uInt)(room - sizeof(chdr));
	for (uint64_t done = 0; done < size; done += sizeof(zeros)) {
		z.next_in = zeros;
		z.avail_in = sizeof(zeros);
		cr_assert_eq(deflate(&z, done + sizeof(zeros) < size ? Z_NO_FLUSH : Z_FINISH), done + sizeof(zeros) < size ? Z_OK : Z_STREAM_END);
	}
	deflateEnd(&z);
	return room - z.avail_out;
}

static void put_dwarf(struct hostile *h, const void *packed, size_t len)
{
	static const uint32_t names[] = { 11, 23, 37 };

	h->eh.e_shstrndx = hostile__add(h, &(Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = 2 * HOSTILE_CODE, .sh_size = sizeof(debug_names) });
	hostile__put(h, 2 * HOSTILE_CODE, debug_names, sizeof(debug_names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t at = h->end;

		hostile__put(h, at, packed, len);
		hostile__add(h, &(Elf64_Shdr){ .sh_name = names[i], .sh_type = SHT_PROGBITS, .sh_flags = SHF_COMPRESSED, .sh_offset = at, .sh_size = len });
	}
	hostile__finish(h, 0);
}

/* A megabyte that holds a gigabyte: no file that a compiler wrote is like this. */
Test(hostile, inflated_dwarf)
{
	_cleanup_close_ int fd = hostile__file(NULL);
	_cleanup_free_ unsigned char *packed = malloc(MIB);
	size_t len = squeeze(320 * MIB, packed, MIB);
	struct hostile h;

	hostile__begin(&h, fd);
	put_dwarf(&h, packed, len);
	read_all(fd, NULL);
	cr_expect_lt(most_bytes(), 300 * MIB, "%llu MiB", (unsigned long long)(most_bytes() / MIB));
}

/* ---- files that are named */

/* The debug file that a program names has 4 GiB, and nothing but a hole: who would read that? */
Test(hostile, debug_file_of_gigabytes)
{
	static const char names[] = "\0.shstrtab\0.gnu_debuglink";
	char dir[] = "/tmp/mt-hostile-XXXXXX", path[64], big[64];
	struct {
		char name[8];
		uint32_t crc;
	} link = { "big.dbg", 12345 };
	_cleanup_close_ int fd = -1, big_fd = -1;
	struct hostile h;

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/program", dir);
	snprintf(big, sizeof(big), "%s/big.dbg", dir);
	fd = hostile__file(path);
	big_fd = hostile__file(big);
	hostile__begin(&h, fd);
	h.eh.e_shstrndx = hostile__add(&h, &(Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = 2 * HOSTILE_CODE, .sh_size = sizeof(names) });
	hostile__put(&h, 2 * HOSTILE_CODE, names, sizeof(names));
	hostile__add(&h, &(Elf64_Shdr){ .sh_name = 11, .sh_type = SHT_PROGBITS, .sh_offset = 3 * HOSTILE_CODE, .sh_size = sizeof(link) });
	hostile__put(&h, 3 * HOSTILE_CODE, &link, sizeof(link));
	hostile__finish(&h, 0);
	hostile__begin(&h, big_fd);
	hostile__finish(&h, 4000 * MIB);
	cr_expect_lt(read_all(fd, path), 1.0);
	unlink(path);
	unlink(big);
	rmdir(dir);
}

/* ---- files that change, and what is no file */

static int shortened_fd;
static bool stop_shortening;

static void *shorten(void *arg)
{
	while (!__atomic_load_n(&stop_shortening, __ATOMIC_RELAXED))
		if (ftruncate(shortened_fd, 0) || ftruncate(shortened_fd, 3 * HOSTILE_CODE))
			return "no";
	return NULL;
}

/* Its owner makes a file shorter whenever he likes, also between two instructions of ours. */
Test(hostile, file_that_is_shortened)
{
	struct objects *o = objects__new();
	struct object *obj;
	struct hostile h;
	pthread_t thread;
	void *failed;

	shortened_fd = hostile__file(NULL);
	hostile__begin(&h, shortened_fd);
	hostile__finish(&h, 3 * HOSTILE_CODE);
	obj = hostile__object(o, shortened_fd, NULL);
	cr_assert_eq(pthread_create(&thread, NULL, shorten, NULL), 0);
	for (int i = 0; i < 200000; i++)
		breakpoint__is_at(obj, HOSTILE_CODE + 16);
	__atomic_store_n(&stop_shortening, true, __ATOMIC_RELAXED);
	pthread_join(thread, &failed);
	cr_expect_null(failed);
	object__put(obj);
	objects__free(o);
	close(shortened_fd);
}

/* Is the node opened, and be it for an instant, when a process has it where its list should be? */
static bool is_list_opened(const char *path)
{
	_cleanup_close_ int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	char events[4096];
	struct object *obj;

	cr_assert_geq(inotify_add_watch(watch, path, IN_OPEN), 0);
	cr_expect_lt(jitmap__open(getpid(), &obj), 0);
	return read(watch, events, sizeof(events)) > 0;
}

Test(hostile, list_that_is_a_fifo)
{
	char path[64];
	int opened;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	opened = is_list_opened(path);
	unlink(path);
	cr_expect_not(opened);
}
