// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the list of system calls that a trace has no use for. It is a list of what is refused, not of what is allowed: the next C
 * library makes calls that this one does not, and a trace of a production machine must not end on that.
 */
#include "trace/settle.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "reader/lockdown.h"
#include "util/rights.h"
#include "util/util.h"

#define CALL(name) { .number = __NR_##name }
#define PTRACE(what) { .number = __NR_ptrace, .request = PTRACE_##what }

static const struct lockdown_refusal refused[] = {
	/* another program: readers and checks are this one again, by execveat() */
	CALL(execve),
	/* what a target has in memory and in its registers is read, never written */
	CALL(process_vm_writev), PTRACE(POKETEXT), PTRACE(POKEDATA), PTRACE(POKEUSER), PTRACE(SETREGSET), PTRACE(SETSIGINFO),
#ifdef __x86_64__
	PTRACE(SETREGS), PTRACE(SETFPREGS),
#endif
	/* the kernel's code */
	CALL(init_module), CALL(finit_module), CALL(delete_module), CALL(kexec_load), CALL(kexec_file_load), CALL(reboot),
	/* the machine: its files, its clock, its names, its log */
	CALL(mount), CALL(umount2), CALL(move_mount), CALL(open_tree), CALL(fsopen), CALL(fsconfig), CALL(fsmount), CALL(fspick), CALL(mount_setattr),
	CALL(pivot_root), CALL(chroot), CALL(swapon), CALL(swapoff), CALL(quotactl), CALL(acct),
	CALL(settimeofday), CALL(clock_settime), CALL(adjtimex), CALL(clock_adjtime),
	CALL(sethostname), CALL(setdomainname), CALL(syslog), CALL(vhangup),
	/* other namespaces, other keys, files without their names */
	CALL(setns), CALL(unshare), CALL(add_key), CALL(request_key), CALL(keyctl), CALL(open_by_handle_at),
	/* where flaws of the kernel are looked for first */
	CALL(io_uring_setup), CALL(io_uring_enter), CALL(io_uring_register), CALL(userfaultfd), CALL(personality), CALL(fanotify_init),
#ifdef __x86_64__
	CALL(iopl), CALL(ioperm), CALL(modify_ldt),
#endif
};

int settle__process(struct err *e)
{
	int err = rights__settle(e);

	if (err)
		return err;
	err = lockdown__refuse(refused, ARRAY_SIZE(refused));
	/* a kernel without seccomp filters refuses nothing, and traces */
	return err && err != -EINVAL && err != -ENOSYS ? err_set(e, err, "system calls cannot be given up: %s", strerror(-err)) : 0;
}
