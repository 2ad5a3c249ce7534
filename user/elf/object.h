/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * An ELF file that some process maps: opened once per (device, inode), found
 * through the process's own root or map_files, so that containers, chroots and
 * deleted files are reached, and kept open, so that it is still the same file
 * when it is probed, symbolized, or the process is gone.
 */
#ifndef MT_OBJECT_H
#define MT_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/trial.h"
#include "process/maps.h"
#include "util/err.h"
#include "util/util.h"

struct object_segment {		/* PT_LOAD */
	uint64_t vaddr, file_off, file_size, mem_size;
	bool exec, write;
};

struct object_part {		/* another program header; all zero: none */
	uint64_t vaddr, file_off, file_size;
};

struct code_book;
struct jitmap;
struct stat;

#define OBJECT_MAX_BUILD_ID_BYTES 64
#define OBJECT_MAX_SECTION_BYTES 65536

struct object {
	uint64_t dev, ino;
	char *path;		/* owned; as the target names it, cleaned of control characters */
	char *fd_path;		/* owned; "/proc/self/fd/N": what the kernel is given to attach to; NULL: it gets no probes */
	int fd;			/* owned; what is read */
	int file_fd;		/* owned; the file itself where fd is a copy of it; 0: fd is the file; -1: it is not to be touched (trial.h) */
	struct trial_charge charge;	/* of a copy */
	char *build_id;		/* owned; lower-case hex, or NULL */
	uint64_t build_id_off;	/* where its bytes are in the file */
	uint64_t size_bytes;	/* when it was opened, as mtime_ns */
	int64_t mtime_ns;
	bool changed;		/* written to since it was opened: its names are of other code */
	/* when last checked for a change: written to so lately that mtime may not show the next time */
	bool fresh;
	struct code_book *script;	/* owned; NULL unless it is what code of an interpreted language a process has run */
	struct jitmap *jit;	/* owned; NULL unless it is a JIT's list of its functions */
	uint16_t machine;	/* EM_AARCH64, EM_X86_64, ... */
	bool remote;		/* its file system may not answer (trial.h): fd is a copy, and what the kernel knows of the file is all that is asked for */
	bool unprobed;		/* of objects__without_probes() */
	bool is_elf;
	bool is_64;
	/* a program: ET_EXEC, or ET_DYN with DF_1_PIE, or with PT_INTERP and without a soname */
	bool is_exec;
	struct object_segment *segments;	/* owned */
	size_t n_segments;
	struct vec(char) sections;	/* their names, each with its NUL */
	struct object_part dynamic, eh_frame_hdr;
	uint64_t tls_bytes;	/* of thread-local variables, for each thread; with what aligning them may take */
	unsigned int refs;	/* by __atomic builtins alone: another thread looks names up */
};

/* One table of all open objects; the session owns it. */
struct objects;
struct objects *objects__new(void);
/* Of its files nothing is probed: one that cannot be read takes nothing from the figures. */
void objects__without_probes(struct objects *o);
void objects__free(struct objects *o);
/* Were there files that were not opened, because no more may be open at a time? They have no names, and no probes. */
bool objects__is_full(const struct objects *o);
/* Its reader failed: what is in it is not known. */
bool object__is_lost(const struct object *obj);

/*
 * The object behind a mapping of pid. The file found must have the mapping's
 * device and inode, by fstat or, where that and maps disagree (overlayfs,
 * btrfs), by mapping__verify(); else it is another file that took its place:
 * -ESTALE. One that may not answer may have the mapping's name alone: then it
 * is not known by the mapping's numbers afterwards. A file that is no ELF gives
 * an object with is_elf false, so that it is not read again. The caller owns one
 * reference.
 */
int objects__get(struct objects *o, pid_t pid, const struct mapping *m, struct object **ret, struct err *e);
/* A mapping that is not looked at: if no other one showed its file, that counts as unread. */
void objects__note_unlisted(struct objects *o, const struct mapping *m);
/* Of objects__get(): the same if it was met before, under the numbers that m has; else NULL. Nothing of any process is read. */
struct object *objects__known(struct objects *o, const struct mapping *m);
/* The same for a file named by the user (-O). */
int objects__get_path(struct objects *o, const char *path, struct object **ret, struct err *e);
/* The file itself, where it is mapped and watched; -1: it is not to be touched. */
static inline int object__file(const struct object *obj)
{
	return obj->file_fd ? obj->file_fd : obj->fd;
}
/*
 * To set a breakpoint the kernel reads the file, and waits for that as long as whoever serves it likes. False: another user does, so it gets
 * no probes; that is reported, and counted.
 */
bool object__may_be_probed(const struct object *obj);
/* It is not what a process has mapped, which counts as unread. */
void object__note_another(const struct object *obj);
/* fstat(), which nobody is asked for whose answer may not come. */
int object__stat(const struct object *obj, struct stat *ret);
/* Does its path name this very file to us, too? Not where its process has another root, or mounts of its own. */
bool object__is_here(const struct object *o);
/*
 * An ELF image that is in no file, such as the vdso: a copy of it is kept in a
 * file in memory. Equal images are one object; its dev and ino are 0.
 */
int objects__get_image(struct objects *o, const char *name, const void *image, size_t len, struct object **ret,
		       struct err *e);
/* Another reference. Both may be called by any thread that has one. */
static inline void object__hold(struct object *obj)
{
	__atomic_fetch_add(&obj->refs, 1, __ATOMIC_RELAXED);
}
void object__put(struct object *obj);

/*
 * Checks whether the file was written to since it was opened: its size and
 * mtime, and if those differ, or prove nothing, its build id. Sets and returns obj->changed.
 */
bool object__look_for_change(struct object *obj);

/*
 * Is what the file holds now what it held at a time? mtime goes by ticks: of two writes in one, the
 * second does not show. One that lies ahead proves nothing: then the build id must do.
 */
enum object_version { VERSION_SAME, VERSION_MAYBE, VERSION_OTHER };
enum object_version object__version_at(struct object *obj, uint64_t t_ns);

/* The segment whose bytes in the file hold an address; exec: of those that are executable. NULL: none. */
const struct object_segment *object__segment_at(const struct object *obj, uint64_t vaddr, bool exec);
/* 0 and false if no segment holds it */
bool object__vaddr_to_offset(const struct object *obj, uint64_t vaddr, uint64_t *ret);
bool object__offset_to_vaddr(const struct object *obj, uint64_t file_off, uint64_t *ret);

struct object_symbol {
	const char *name;	/* valid during the call only; version suffix removed */
	uint64_t value;		/* ELF virtual address */
	uint64_t size;
	bool ifunc;		/* STT_GNU_IFUNC: value is the resolver, not the function */
	bool local;		/* STB_LOCAL: a file's own, which others may have under the same name */
};

/*
 * Every defined function symbol of .dynsym and .symtab (also of an ELF whose
 * section headers are damaged: through PT_DYNAMIC where possible). The file is
 * hostile: everything is bounded and checked. fn returns non-zero to stop.
 */
void object__for_each_function(const struct object *obj, int (*fn)(const struct object_symbol *s, void *arg), void *arg);

bool object__has_section(const struct object *obj, const char *name);

/*
 * The addresses at which functions begin, sorted: those of the symbols and
 * those that the unwind tables name, which a stripped file has as well.
 * *ret is the caller's to free.
 */
void object__function_starts(const struct object *obj, uint64_t **ret, size_t *ret_n);

/*
 * The function that the loader puts into a slot of the global offset table,
 * if this object defines it itself (no object before it in the search order being
 * assumed to): its address and name, the name the caller's to free. -ENOENT
 * if the slot is another's.
 */
int object__slot_function(const struct object *obj, uint64_t slot_vaddr, uint64_t *ret_vaddr, char **ret_name);

/* The ELF address that a variable at vaddr has in it from the start; false: it is not in the file. */
bool object__initial_address(const struct object *obj, uint64_t vaddr, uint64_t *ret);

/*
 * Has the object a slot for a function of its own, which the loader fills with
 * whatever function has that name first? Then it does not call it directly by that name.
 */
bool object__has_slot_for(const struct object *obj, uint64_t vaddr);

/* Copies len bytes at a file offset; -EINVAL if not all of it is there. */
int object__read_at(const struct object *obj, uint64_t file_off, void *buf, size_t len);
/*
 * Of a new object, whose file is open: fills in what its headers say. What is no ELF file, or a
 * broken one, is no error.
 */
int object__read_headers(struct object *obj);
/* Copies len bytes of code at an ELF virtual address out of the file; -EINVAL if not all of it is there. */
int object__read_code(const struct object *obj, uint64_t vaddr, void *buf, size_t len);
/* The same of what no process writes to, so that each of them has there what the file has. */
int object__read_constant(const struct object *obj, uint64_t vaddr, void *buf, size_t len);

/* Does an executable segment hold this ELF virtual address? */
bool object__is_code(const struct object *obj, uint64_t vaddr);
/* The same of a place in the file. */
bool object__is_code_at(const struct object *obj, uint64_t file_off);
/* Over an open file, in no table, and only for a call: takes fd. */
struct object *object__over(int fd, const char *path);
/* One that is in no table, with one reference. Every object is made by it: open descriptors are counted. */
struct object *object__make(struct object as);

/* Is it no file of machine code, but names alone? */
static inline bool object__has_names(const struct object *obj)
{
	return obj->jit || obj->script;
}

/* Without its folders; points into its path. */
const char *object__file_name(const struct object *obj);

#endif
