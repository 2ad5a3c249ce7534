// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the skeleton of registers.bpf.c, which is loaded once: a look at a heap reads registers
 * several times. And what becomes of libbpf's messages: without --verbose there is none.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bpf/abi_registers.h"
#include "probe/kernel.h"
#include "process/sharers.h"
#include "registers.skel.h"
#include "util/log.h"
#include "util/util.h"

/* ---- libbpf's own words */

static _Thread_local bool hushed;	/* what this thread tries now may fail, and that is no news */

static int print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (hushed || log_level < LOG_VERBOSE || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, ap);
}

void libbpf_words__keep(void)
{
	libbpf_set_print(print);
}

/* ---- registers */

static struct registers_bpf *skel;
static int failed;		/* it cannot be loaded: not tried again */

static int load(struct err *e)
{
	if (skel)
		return 0;
	if (!failed) {
		/* there is another way */
		hushed = true;
		skel = registers_bpf__open_and_load();
		failed = skel ? 0 : -errno;
		hushed = false;
	}
	return failed ? err_set(e, failed, "the kernel does not tell registers: %s", strerror(-failed)) : 0;
}

/* Newer kernels (6.1) go through the threads of one process, others through all there are. */
static int open_iterator(pid_t pid)
{
	union bpf_iter_link_info of = { .task = { .pid = pid } };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &of, .link_info_len = sizeof(of));
	struct bpf_link *link;
	int fd, err;

	hushed = true;
	link = bpf_program__attach_iter(skel->progs.tell_registers, &opts);
	err = link ? 0 : -errno;
	if (!link && err != -ESRCH)
		link = bpf_program__attach_iter(skel->progs.tell_registers, NULL);
	hushed = false;
	if (!link)
		return err;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 ? -errno : 0;
	bpf_link__destroy(link);
	return err ?: fd;
}

/* Adds to *ret. */
static int read_all(int fd, char **ret, size_t *ret_len)
{
	size_t len = *ret_len, room = len;

	for (;;) {
		ssize_t got;

		if (len == room) {
			room += MAX(room, 65536ul);
			*ret = xrealloc(*ret, room);
		}
		got = read(fd, *ret + len, room - len);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (!got)
			break;
		len += got > 0 ? got : 0;
	}
	*ret_len = len;
	return 0;
}

static int read_process(pid_t pid, char **ret, size_t *ret_len)
{
	_cleanup_close_ int fd = -1;

	if (bpf_map_update_elem(bpf_map__fd(skel->maps.only_pid), &(__u32){ 0 }, &(__s32){ pid }, BPF_ANY))
		return -errno;
	fd = open_iterator(pid);
	return fd < 0 ? fd : read_all(fd, ret, ret_len);
}

int registers__read(pid_t pid, const struct sharers *others, struct mt_registers **ret, size_t *ret_n, void *arg, struct err *e)
{
	_cleanup_free_ char *records = NULL;
	size_t len = 0;
	int err = load(e);

	if (err)
		return err;
	err = read_process(pid, &records, &len);
	for (size_t i = 0; i < others->n && !err; i++) {
		err = read_process(others->v[i], &records, &len);
		/* it has ended */
		if (err == -ESRCH)
			err = 0;
	}
	if (err)
		return err_set(e, err, "cannot read the registers of process %d: %s", pid, strerror(-err));
	if (len < sizeof(**ret))
		return err_set(e, -ESRCH, "process %d has no threads any more", pid);
	*ret_n = len / sizeof(**ret);
	*ret = (struct mt_registers *)records;
	records = NULL;
	return 0;
}

void registers__close(void)
{
	registers_bpf__destroy(skel);
	skel = NULL;
	failed = 0;
}
