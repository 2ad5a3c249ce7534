// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the skeleton of registers.bpf.c, which is loaded once: a look at a heap reads registers several times. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "bpf/abi_registers.h"
#include "probe/libbpf_words.h"
#include "probe/registers.h"
#include "registers.skel.h"
#include "util/util.h"

_Static_assert(MT_MAX_REGISTERS <= TARGET_MAX_REGISTERS, "all of them find room");

static struct registers_bpf *skel;
static int failed;		/* it cannot be loaded: not tried again */

static int load(struct err *e)
{
	if (skel)
		return 0;
	if (!failed) {
		/* there is another way */
		libbpf_words__hush(true);
		skel = registers_bpf__open_and_load();
		failed = skel ? 0 : -errno;
		libbpf_words__hush(false);
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

	libbpf_words__hush(true);
	link = bpf_program__attach_iter(skel->progs.tell_registers, &opts);
	err = link ? 0 : -errno;
	if (!link && err != -ESRCH)
		link = bpf_program__attach_iter(skel->progs.tell_registers, NULL);
	libbpf_words__hush(false);
	if (!link)
		return err;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 ? -errno : 0;
	bpf_link__destroy(link);
	return err ?: fd;
}

static int read_all(int fd, char **ret, size_t *ret_len)
{
	_cleanup_free_ char *buf = NULL;
	size_t len = 0, room = 0;

	for (;;) {
		ssize_t got;

		if (len == room) {
			char *p = realloc(buf, room = room ? room * 2 : 65536);

			if (!p)
				return -ENOMEM;
			buf = p;
		}
		got = read(fd, buf + len, room - len);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (!got)
			break;
		len += got > 0 ? got : 0;
	}
	*ret = buf;
	buf = NULL;
	*ret_len = len;
	return 0;
}

static void take(struct target_thread *to, const struct mt_registers *r)
{
	*to = (struct target_thread){
		.tid = r->tid,
		.sp = r->running ? 0 : r->sp,
		.tp = r->tp,
		.n_regs = MIN(r->n, MT_MAX_REGISTERS),
		.switches = r->switches,
		.signal_stack = r->signal_stack,
	};
	memcpy(to->regs, r->v, to->n_regs * sizeof(*r->v));
}

int registers__read(struct target *t, struct target_thread **ret, size_t *ret_n, void *arg, struct err *e)
{
	_cleanup_free_ char *text = NULL;
	struct target_thread *threads;
	_cleanup_close_ int fd = -1;
	size_t len = 0, n;
	int err = load(e);

	if (err)
		return err;
	if (bpf_map_update_elem(bpf_map__fd(skel->maps.only_pid), &(__u32){ 0 }, &(__s32){ t->pid }, BPF_ANY))
		err = -errno;
	fd = err ? -1 : open_iterator(t->pid);
	err = err ?: fd < 0 ? fd : read_all(fd, &text, &len);
	if (err)
		return err_set(e, err, "cannot read the registers of process %d: %s", t->pid, strerror(-err));
	n = len / sizeof(struct mt_registers);
	if (!n)
		return err_set(e, -ESRCH, "process %d has no threads any more", t->pid);
	threads = calloc(n, sizeof(*threads));
	if (!threads)
		return err_set(e, -ENOMEM, "not enough memory for the registers of %zu threads", n);
	for (size_t i = 0; i < n; i++) {
		struct mt_registers r;

		memcpy(&r, text + i * sizeof(r), sizeof(r));
		take(&threads[i], &r);
	}
	*ret = threads;
	*ret_n = n;
	return 0;
}

void registers__close(void)
{
	registers_bpf__destroy(skel);
	skel = NULL;
	failed = 0;
}
