// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the table of capabilities. The kernel is queried anew each time: only
 * when something was refused, which is rare.
 *
 * A capability can be missing for four reasons, and each needs another remedy:
 * the user has none; the container or service runs without it; it is held in a
 * user namespace only, which means nothing to BPF and to processes outside; the
 * program's file has it, but was run in a way that makes the kernel ignore that.
 */
#include <errno.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "util/invoker.h"
#include "util/rights.h"
#include "util/util.h"

static const struct {
	cap_value_t cap;
	cap_value_t implied_by;	/* another one that the kernel takes in its place */
	const char *name, *without;
} rights[N_RIGHTS] = {
	[RIGHT_BPF] = { CAP_BPF, CAP_SYS_ADMIN, "CAP_BPF", "BPF programs and tables cannot be loaded" },
	[RIGHT_PERFMON] = { CAP_PERFMON, CAP_SYS_ADMIN, "CAP_PERFMON",
			    "BPF programs cannot be attached to other programs" },
	[RIGHT_SYS_PTRACE] = { CAP_SYS_PTRACE, CAP_SYS_PTRACE, "CAP_SYS_PTRACE",
			       "only this user's own processes can be traced" },
	[RIGHT_DAC_READ_SEARCH] = { CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE, "CAP_DAC_READ_SEARCH",
				    "programs and libraries that this user may not read cannot be probed" },
	[RIGHT_CHECKPOINT_RESTORE] = { CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, "CAP_CHECKPOINT_RESTORE",
				       "files that were deleted or replaced since they were mapped cannot be probed" },
	[RIGHT_SYS_ADMIN] = { CAP_SYS_ADMIN, CAP_SYS_ADMIN, "CAP_SYS_ADMIN",
			      "probes need it on kernels without uprobe_multi" },
};

/* The machine's own user namespace has had this inode number in every kernel (PROC_USER_INIT_INO). */
#define FIRST_USER_NS 0xeffffffdu

static bool in_first_user_ns(void)
{
	struct stat st;

	/* a kernel without user namespaces has no other one */
	return stat("/proc/self/ns/user", &st) || st.st_ino == FIRST_USER_NS;
}

const char *right__name(enum right r)
{
	return rights[r].name;
}

const char *right__without(enum right r)
{
	return rights[r].without;
}

static bool has(cap_t caps, cap_value_t cap, cap_flag_t flag)
{
	cap_flag_value_t v = CAP_CLEAR;

	return caps && !cap_get_flag(caps, cap, flag, &v) && v == CAP_SET;
}

static bool is_effective(cap_value_t cap)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct mine[_LINUX_CAPABILITY_U32S_3];

	return !syscall(SYS_capget, &head, mine) && mine[CAP_TO_INDEX(cap)].effective & CAP_TO_MASK(cap);
}

bool right__held(enum right r)
{
	return (is_effective(rights[r].cap) || is_effective(rights[r].implied_by)) && in_first_user_ns();
}

unsigned int rights__lacking(unsigned int set)
{
	unsigned int lacking = 0;

	for (enum right r = 0; r < N_RIGHTS; r++)
		if (set & RIGHT_BIT(r) && !right__held(r))
			lacking |= RIGHT_BIT(r);
	return lacking;
}

/* The names of a set, skipping the first `skip` characters of each, with `sep` between. */
static char *join(unsigned int set, size_t skip, const char *sep, const char *last_sep)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = text_stream__open(&text, &len);

	for (enum right r = 0; r < N_RIGHTS; r++) {
		unsigned int above = set & ~(RIGHT_BIT(r) * 2 - 1), below = set & (RIGHT_BIT(r) - 1);

		if (set & RIGHT_BIT(r))
			fprintf(f, "%s%s", !below ? "" : above ? sep : last_sep, rights[r].name + skip);
	}
	text_stream__close(f);
	return text;
}

char *rights__names(unsigned int set)
{
	return join(set, 0, ", ", " and ");
}

/* ---- what to do */

static bool any_outside_bounds(unsigned int set)
{
	for (enum right r = 0; r < N_RIGHTS; r++)
		if (set & RIGHT_BIT(r) && cap_get_bound(rights[r].cap) == 0)
			return true;
	return false;
}

static bool file_has(unsigned int set)
{
	cap_t caps = cap_get_file("/proc/self/exe");
	bool all = caps;

	for (enum right r = 0; r < N_RIGHTS && all; r++)
		if (set & RIGHT_BIT(r))
			all = has(caps, rights[r].cap, CAP_PERMITTED);
	cap_free(caps);
	return all;
}

/* Why the kernel did not heed what the file has. */
static const char *why_ignored(void)
{
	struct statvfs fs;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return "the program's file has it, but was run under no_new_privs (a container or service sets it), where that is ignored";
	if (!statvfs("/proc/self/exe", &fs) && fs.f_flag & ST_NOSUID)
		return "the program's file has it, but lies on a file system mounted nosuid, where that is ignored: copy it to another and use setcap there";
	return NULL;
}

/* setcap replaces what the file has: so all that is wanted, and what is held now. */
static char *setcap_line(unsigned int set)
{
	_cleanup_free_ char *list = NULL, *exe = xcalloc(1, 4097);

	set |= RIGHT_BIT(RIGHT_BPF) | RIGHT_BIT(RIGHT_PERFMON);
	for (enum right r = 0; r < RIGHT_SYS_ADMIN; r++)
		set |= right__held(r) ? RIGHT_BIT(r) : 0;
	list = join(set, 0, ",", ",");
	for (char *c = list; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c;
	if (readlink("/proc/self/exe", exe, 4096) <= 0)
		strcpy(exe, "malloctrace");
	clean_name(exe);
	return xasprintf("run with sudo, or: sudo setcap %s+ep %s", list, exe);
}

char *rights__mend(unsigned int set)
{
	_cleanup_free_ char *list = NULL;
	const char *ignored;

	if (!in_first_user_ns())
		return xstrdup("a user namespace cannot give that: run malloctrace outside of it");
	if (any_outside_bounds(set) || geteuid() == 0) {
		list = join(set, strlen("CAP_"), " --cap-add=", " --cap-add=");
		return xasprintf("not given to this container or service: start it with --cap-add=%s (docker, podman) or another CapabilityBoundingSet= (systemd)",
				 list);
	}
	ignored = file_has(set) ? why_ignored() : NULL;
	if (ignored)
		return xstrdup(ignored);
	/* a file with CAP_SYS_ADMIN is root for every user who may run it: not proposed */
	return set & RIGHT_BIT(RIGHT_SYS_ADMIN) ? xstrdup("run with sudo") : setcap_line(set);
}

char *rights__why_refused(unsigned int needs)
{
	unsigned int lacking = rights__lacking(needs);
	_cleanup_free_ char *names = rights__names(lacking ? lacking : needs), *mend = rights__mend(lacking);

	if (lacking)
		return xasprintf("%s %s missing: %s", names, lacking & (lacking - 1) ? "are" : "is", mend);
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2)
		return xasprintf("refused in spite of %s: a seccomp filter forbids it (docker: --security-opt seccomp=unconfined)", names);
	return xasprintf("refused in spite of %s: a security module (SELinux, AppArmor) or the kernel's lockdown forbids it", names);
}

int rights__refused(struct err *e, int code, unsigned int needs, const char *fmt, ...)
{
	_cleanup_free_ char *why = e ? rights__why_refused(needs) : NULL, *what = NULL;
	va_list ap;

	if (!e)
		return code;
	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	return err_set(e, code, "%s: %s", what, why);
}

/* ---- what is given up */

/* What a trace may need after its start: another program, another library, another file. */
static const cap_value_t settled[] = {
	CAP_BPF, CAP_PERFMON,			/* probes in what is mapped later */
	CAP_SYS_PTRACE,				/* what processes of other users map, and their memory */
	CAP_DAC_READ_SEARCH,			/* files that they map */
	CAP_CHECKPOINT_RESTORE,			/* the same of files that are gone */
	CAP_SYS_ADMIN,				/* which pages are the kernel's zeros; perf uprobes */
	CAP_DAC_OVERRIDE, CAP_CHOWN, CAP_FOWNER,	/* output files, as root */
	CAP_SETUID, CAP_SETGID,			/* children that have no rights; files by the rights of the user who ran sudo */
	CAP_KILL,				/* CMD goes on after an exec */
	CAP_SYS_NICE,				/* probes that go, go at once */
};

static bool is_settled(cap_value_t cap)
{
	for (size_t i = 0; i < ARRAY_SIZE(settled); i++)
		if (settled[i] == cap)
			return true;
	return false;
}

int rights__settle(struct err *e)
{
	const struct rlimit no_core = {};
	cap_t had = cap_get_proc(), keep = cap_init();
	int err = 0;

	if (!had || !keep)
		xmalloc__end();

	for (cap_value_t cap = 0; cap <= cap_max_bits() && !err; cap++) {
		/* without the right to it, what this process does not have stays within its bounds: nothing it executes gets it */
		if (!is_settled(cap))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
		else if ((has(had, cap, CAP_PERMITTED) && cap_set_flag(keep, CAP_PERMITTED, 1, &cap, CAP_SET)) ||
			 (has(had, cap, CAP_EFFECTIVE) && cap_set_flag(keep, CAP_EFFECTIVE, 1, &cap, CAP_SET)))
			err = -errno;
	}
	if (!err && (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) || cap_set_proc(keep) ||
		     prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setrlimit(RLIMIT_CORE, &no_core)))
		err = -errno;
	cap_free(had);
	cap_free(keep);
	return err ? err_set(e, err, "privileges cannot be dropped: %s", strerror(-err)) : 0;
}

char *rights__settled_names(void)
{
	cap_t had = cap_get_proc();
	char *text = NULL;
	size_t len = 0;
	FILE *f = text_stream__open(&text, &len);

	for (cap_value_t cap = 0; cap <= cap_max_bits(); cap++) {
		char *name = is_settled(cap) && has(had, cap, CAP_PERMITTED) ? cap_to_name(cap) : NULL;

		if (name)
			fprintf(f, "%s%s", ftell(f) ? ", " : "", name);
		cap_free(name);
	}
	cap_free(had);
	text_stream__close(f);
	return text;
}

int rights__give_up(struct err *e)
{
	static const cap_value_t of_files[] = { CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_CHOWN };
	/* below sudo it is the user's business, with the user's files */
	int err = invoker__become();
	cap_t had = cap_get_proc(), keep = cap_init();

	if (!had || !keep)
		xmalloc__end();

	for (size_t i = 0; i < ARRAY_SIZE(of_files) && !err && geteuid() == 0; i++)
		if (has(had, of_files[i], CAP_PERMITTED) &&
		    (cap_set_flag(keep, CAP_PERMITTED, 1, &of_files[i], CAP_SET) ||
		     cap_set_flag(keep, CAP_EFFECTIVE, 1, &of_files[i], CAP_SET)))
			err = -errno;
	if (!err && (cap_set_proc(keep) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))
		err = -errno;
	cap_free(had);
	cap_free(keep);
	return err ? err_set(e, err, "privileges cannot be dropped: %s", strerror(-err)) : 0;
}
