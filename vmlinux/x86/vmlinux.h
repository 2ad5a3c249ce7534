/* Made by vmlinux/make from the BTF of a kernel: what bpf/ uses of its types, and no more. */
#ifndef MT_VMLINUX_H
#define MT_VMLINUX_H

#include <stdbool.h>
#include <linux/bpf.h>

#define NULL ((void *)0)

#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)
#endif

typedef int __kernel_pid_t;

typedef __kernel_pid_t pid_t;

typedef struct {
	int counter;
} atomic_t;

struct mm_struct;

struct pid;

struct signal_struct;

struct uprobe_task;

struct css_set;

struct thread_struct {
	long unsigned int fsbase;
	long unsigned int gsbase;
};

struct task_struct {
	unsigned int flags;
	int on_cpu;
	long unsigned int nvcsw;
	long unsigned int nivcsw;
	struct thread_struct thread;
	struct mm_struct *mm;
	int exit_code;
	unsigned int ptrace;
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	__u64 start_boottime;
	char comm[16];
	struct css_set *cgroups;
	struct signal_struct *signal;
	long unsigned int sas_ss_sp;
	struct uprobe_task *utask;
};

struct xol_area;

struct uprobes_state {
	struct xol_area *xol_area;
};

typedef struct {
	void *vdso;
} mm_context_t;

struct mm_struct {
	struct {
		unsigned long end_code;
		mm_context_t context;
		struct uprobes_state uprobes_state;
	};
};

struct cgroup_root;

struct cgroup {
	struct cgroup_root *root;
};

struct cgroup_root {
	int hierarchy_id;
};

struct return_instance;

struct uprobe_task {
	struct return_instance *return_instances;
};

struct return_instance {
	long unsigned int stack;
	long unsigned int orig_ret_vaddr;
	struct return_instance *next;
};

struct upid {
	int nr;
	void *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[0];
};

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
	struct mm_struct *oom_mm;
};

typedef __s64 time64_t;

struct timespec64 {
	time64_t tv_sec;
	long int tv_nsec;
};

struct super_block {
	__u32 s_dev;
};

struct inode {
	struct super_block *i_sb;
	long unsigned int i_ino;
	__s64 i_size;
	time64_t i_mtime_sec;
	__u32 i_mtime_nsec;
};

struct file {
	struct inode *f_inode;
};

struct vm_area_struct {
	struct {
		union {
			struct {
				long unsigned int vm_start;
				long unsigned int vm_end;
			};
		};
	};
	long unsigned int vm_flags;
	long unsigned int vm_pgoff;
	struct file *vm_file;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct xol_area {
	long unsigned int vaddr;
};

#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute pop
#endif

#endif
