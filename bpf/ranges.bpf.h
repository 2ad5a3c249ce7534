/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What code lies where in a process, and which file it is.
 *
 * User space puts what a process has mapped into `spaces`, but it learns of that after
 * the fact: a program may have begun, ended, or loaded a plugin by then. For what is
 * in none of these ranges the kernel is queried: bpf_find_vma() gives the
 * mapping, and `files` has the tables of all files that were met before, by what names
 * a file for the kernel. A thread remembers what it found.
 *
 * Code that takes the place of other code: stacks are known by their addresses,
 * so those of two plugins that are loaded in turn would be one. From the first
 * dlclose on (loader.bpf.h) new code has an identity, which goes into the hash of a stack; what was
 * there before keeps 0. And as long as user space has not read the mappings again, no range is
 * believed without checking which file it is of.
 */
#ifndef MT_RANGES_BPF_H
#define MT_RANGES_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/count.bpf.h"
#include "bpf/hash.h"
#include "bpf/memo.bpf.h"
#include "bpf/procs.bpf.h"
#include "bpf/within.bpf.h"

/* by process; replaced whole, so that a walk sees one or the other */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct mt_space);
} spaces SEC(".maps");

/* whose tables are loaded */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MT_MAX_FILES);
	__type(key, struct mt_file_key);
	__type(value, struct mt_file);
} files SEC(".maps");

/* moves when the room of a table is given to another one */
volatile __u32 mt_tables_gen = 1;

#define RANGE_STEPS 9

/* As small as can be: a callback's frame counts to the 512 bytes of stack that programs have. */
struct seen_vma {
	__u64 start, end;	/* end 0: none was found */
	__u64 off;		/* in the file; a multiple of pages, and VMA_OF_FILE if there is one */
	struct mt_file_key key;
};
#define VMA_OF_FILE 1
#define VM_WRITE 2		/* the kernel's */
#define EBUSY 16
#define INO_OF_WRITABLE (1ull << 63)

/* Three ways to say when a file was last written to: before 6.7, 6.11, and since. */
struct inode___mtime {
	struct timespec64 i_mtime;
} __attribute__((preserve_access_index));

struct inode___named {
	struct timespec64 __i_mtime;
} __attribute__((preserve_access_index));

static __always_inline void file_key(struct mt_file_key *key, struct inode *inode)
{
	struct inode___mtime *first = (void *)inode;
	struct inode___named *second = (void *)inode;

	key->ino = BPF_CORE_READ(inode, i_ino);
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	key->size = BPF_CORE_READ(inode, i_size);
	if (bpf_core_field_exists(inode->i_mtime_sec)) {
		key->mtime_s = BPF_CORE_READ(inode, i_mtime_sec);
		key->mtime_ns = BPF_CORE_READ(inode, i_mtime_nsec);
	} else if (bpf_core_field_exists(second->__i_mtime)) {
		key->mtime_s = BPF_CORE_READ(second, __i_mtime.tv_sec);
		key->mtime_ns = BPF_CORE_READ(second, __i_mtime.tv_nsec);
	} else {
		key->mtime_s = BPF_CORE_READ(first, i_mtime.tv_sec);
		key->mtime_ns = BPF_CORE_READ(first, i_mtime.tv_nsec);
	}
}

static long see_vma(struct task_struct *task, struct vm_area_struct *vma, struct seen_vma *ret)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);

	ret->start = BPF_CORE_READ(vma, vm_start);
	ret->end = BPF_CORE_READ(vma, vm_end);
	ret->off = BPF_CORE_READ(vma, vm_pgoff) * mt_config.page_bytes;
	if (file) {
		ret->off |= VMA_OF_FILE;
		file_key(&ret->key, BPF_CORE_READ(file, f_inode));
		/* what the process may write over need not be what the file has: it is no file that has a table */
		if (BPF_CORE_READ(vma, vm_flags) & VM_WRITE)
			ret->key.ino |= INO_OF_WRITABLE;
	} else if (ret->start == (__u64)BPF_CORE_READ(task, mm, context.vdso)) {
		/* the same in all processes, and known by an empty key */
		ret->off = VMA_OF_FILE;
	}
	return 0;
}

/*
 * The mapping that holds pc, of the current process. False: none, or another thread is changing
 * what is mapped.
 */
static __always_inline bool vma_at(struct seen_vma *v, __u64 pc)
{
	__builtin_memset(v, 0, sizeof(*v));
	bpf_find_vma(bpf_get_current_task_btf(), pc, see_vma, v, 0);
	return pc >= v->start && pc < v->end;
}

/* The range of user space's that holds pc, or -1. */
static __always_inline int range_of(const struct mt_space *sp, __u64 pc)
{
	__u32 lo = 0, hi;

	if (!sp)
		return -1;
	hi = sp->n;
	for (int i = 0; i < RANGE_STEPS; i++) {
		__u32 mid = (lo + hi) >> 1;

		if (lo >= hi)
			break;
		/*
		 * the bound in a form that the verifier of 6.1 follows; clang would make it an
		 * addition and a comparison
		 */
		asm volatile("" : "+r"(mid));
		mid &= MT_MAX_RANGES - 1;
		if (sp->range[mid].start <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || lo > MT_MAX_RANGES)
		return -1;
	lo--;
	return pc < sp->range[lo & (MT_MAX_RANGES - 1)].end ? (int)lo : -1;
}

/* Where the table of a file lies, if its mapping begins at an offset. */
static __always_inline void take_table(struct mt_range *r, const struct mt_file *f, __u64 off)
{
	for (int i = 0; i < MT_FILE_SEGMENTS; i++)
		if (off >= f->segment[i].off && off - f->segment[i].off < f->segment[i].size) {
			r->base = r->start - (f->segment[i].vaddr + (off - f->segment[i].off)) + f->base;
			r->first_page = f->first_page;
			r->n_pages = f->n_pages;
			r->flags = f->flags;
			return;
		}
}

/* Queries the kernel for the mapping that holds pc, which becomes the last one found. */
static __always_inline int range_ask(struct mt_scratch *s, __u64 pc)
{
	struct seen_vma v;
	struct mt_file *f;
	struct mt_range *r;
	__u32 i;

	if (!s)
		return -1;
	if (!vma_at(&v, pc))
		return -1;
	i = s->n_found++ & (MT_N_FOUND - 1);
	r = &s->found[i];
	__builtin_memset(r, 0, sizeof(*r));
	r->start = v.start;
	r->end = v.end;
	if (v.off & VMA_OF_FILE) {
		r->file = mt_file_hash(&v.key);
		f = bpf_map_lookup_elem(&files, &v.key);
		if (f)
			take_table(r, f, v.off & ~(__u64)VMA_OF_FILE);
	}
	return 0;
}

/*
 * Makes s->range what was found last. If user space knows the same file there, it knows more: of a part that was
 * written over no table holds, of the others it does.
 */
__noinline int range_found(struct mt_scratch *s, const struct mt_space *sp, __u64 pc)
{
	const struct mt_range *told;
	struct mt_range *r;
	int k;

	if (!s)
		return -1;
	r = &s->found[(s->n_found - 1) & (MT_N_FOUND - 1)];
	k = range_of(sp, pc);
	told = sp && k >= 0 ? &sp->range[k & (MT_MAX_RANGES - 1)] : NULL;
	if (told && told->file == r->file) {
		r->id = told->id;
		if (r->start < told->start)
			r->start = told->start;
		if (r->end > told->end)
			r->end = told->end;
		if (told->flags & MT_RANGE_WRITTEN)
			r->n_pages = 0;
	} else if (told || s->unmapped) {
		r->id = r->file;
	}
	s->range = *r;
	return 0;
}

static __always_inline int range_remembered(struct mt_scratch *s, __u64 pc)
{
	if (!s)
		return -1;
	for (__u32 i = 0; i < MT_N_FOUND; i++)
		if (pc >= s->found[i].start && pc < s->found[i].end) {
			s->range = s->found[i];
			return 0;
		}
	return -1;
}

/* Makes s->range the code that pc lies in; sp may be NULL. -1: it is not known. */
__noinline int range_at(struct mt_scratch *s, const struct mt_space *sp, __u64 pc)
{
	int k;

	if (!s)
		return -1;
	k = range_of(sp, pc);
	if (sp && k >= 0 && !s->unsettled) {
		s->range = sp->range[k & (MT_MAX_RANGES - 1)];
		return 0;
	}
	if (!range_remembered(s, pc))
		return 0;
	if (!range_ask(s, pc))
		return range_found(s, sp, pc);
	/* another thread was changing what is mapped: the next query may succeed */
	memo_drop(s);
	s->range.end = 0;
	return -1;
}

/* A walk of this process begins. */
static __always_inline void ranges_begin(struct mt_scratch *s, __u32 proc)
{
	struct mt_proc *p = proc_at(proc);
	__u64 key;

	/* before the list is looked up */
	s->list_gen = p ? *(volatile __u32 *)&p->gen : 0;
	key = (__u64)mt_tables_gen << 32 ^ (__u64)s->list_gen << 16 ^ proc;
	s->range.end = 0;
	s->unsettled = !p || p->code_seq != p->settled_seq;
	s->unmapped = p && p->unmapped_ns ? p->code_seq | 1u << 31 : 0;
	if (s->found_key == key)
		return;
	s->found_key = key;
	for (int i = 0; i < MT_N_FOUND; i++)
		s->found[i].end = 0;
}

/*
 * The list that a walk goes by, NULL if there is none yet, as after an exec. User space may replace it
 * meanwhile, and its memory is not kept for programs that still read it: the kernel gives a
 * freed element of such a map to the next update, of any process, without waiting for anyone
 * (bpf_mem_cache_free(); only what goes back to the page allocator waits). So the end of a walk
 * checks whether the list was replaced. The pointer alone does not show it, because a process may
 * get the same memory back with its next list; nor does the generation, which moves a moment after
 * the list: but before the next list.
 */
static __always_inline struct mt_space *space_begin(struct mt_scratch *s, __u32 proc)
{
	struct mt_space *space;

	ranges_begin(s, proc);
	space = bpf_map_lookup_elem(&spaces, &proc);
	s->list = (__u64)space;
	s->list_proc = proc;
	return space;
}

static __always_inline bool space_moved(struct mt_scratch *s)
{
	__u32 proc = s->list_proc;
	struct mt_proc *p = proc_at(proc);

	if (p && *(volatile __u32 *)&p->gen == s->list_gen && (__u64)bpf_map_lookup_elem(&spaces, &proc) == s->list)
		return false;
	/* what was remembered may be wrong, too */
	s->found_key = ~0ULL;
	return true;
}

/*
 * Are the stacks of a process walked by tables? So they are where addresses alone do not show what
 * code it is.
 */
static __always_inline bool walks_by_tables(const struct mt_proc *p)
{
	return !p || p->walk == MT_WALK_TABLE || (p->unmapped_ns && p->walk != MT_WALK_FP_ONLY);
}

/* ---- --within: is code in one of the functions? */

/* by what names a file; those with inlined copies of functions of --within */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct mt_file_key);
	__type(value, struct mt_within_file);
} within_files SEC(".maps");

/* The mapping that holds ip may be of a file with inlined copies: where that is has not been learned at a call. */
__noinline int is_in_inlined(__u32 proc, __u64 ip)
{
	struct mt_within_file *f;
	struct seen_vma v = {};
	__u64 off;

	/* another thread is changing what is mapped: whether the block is inside is not known */
	if (bpf_find_vma(bpf_get_current_task_btf(), ip, see_vma, &v, 0) == -EBUSY)
		count(MT_LOST_UNREADABLE);
	f = v.off & VMA_OF_FILE ? bpf_map_lookup_elem(&within_files, &v.key) : NULL;
	off = v.off & ~(__u64)VMA_OF_FILE;
	for (int i = 0; f && i < MT_WITHIN_SEGMENTS; i++)
		if (off >= f->segment[i].off && off - f->segment[i].off < f->segment[i].size) {
			__u64 bias = v.start - (f->segment[i].vaddr + (off - f->segment[i].off));

			within_learn(proc, f->list, bias);
			return list_has(f->list, ip - bias);
		}
	return 0;
}

__noinline int is_in_function(__u32 proc, __u64 ip)
{
	__u32 slot = MT_PROC_SLOT(proc);
	struct mt_within_proc *p = bpf_map_lookup_elem(&within_procs, &slot);

	if (!p || p->proc != proc)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_WITHIN_FILES; i++)
		if (p->file[i].known == WITHIN_KNOWN && list_has(p->file[i].list, ip - p->file[i].bias))
			return 1;
	return mt_within_inlined ? is_in_inlined(proc, ip) : 0;
}

/* Has one of the n frames that were walked its code in one of the functions? */
__noinline int stack_is_within(const struct mt_scratch *s, __u32 n, __u32 proc)
{
	if (!s)
		return 0;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MT_MAX_DEPTH; i++) {
		if (i >= n || i >= mt_config.depth)
			break;
		if (is_in_function(proc, s->ip[i]))
			return 1;
	}
	return 0;
}

#endif
