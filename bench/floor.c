// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns one program of two instructions and its links. The points come from the
 * product's own plan of the file, so that the floor moves when they do.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/floor.h"
#include "probe/features.h"
#include "probe/plan.h"
#include "util/util.h"

struct floor {
	int prog;
	struct vec(int) links;
};

static int load_empty(bool multi, struct err *e)
{
	static const struct bpf_insn empty[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = multi ? ATTACH_UPROBE_MULTI : 0);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "bench_empty", "GPL", empty, ARRAY_SIZE(empty), &opts);

	return fd >= 0 ? fd : err_set(e, -errno, "loading an empty program: %s", strerror(errno));
}

/* "8", or "config:0" */
static int read_number(const char *path, unsigned int *ret, struct err *e)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	if (f && fscanf(f, "%*[a-z:]") >= 0 && fscanf(f, "%u", ret) == 1)
		return 0;
	return err_set(e, -ENOENT, "%s: no number in it", path);
}

/* By hand, not by libbpf: its attach functions want a loaded object around the program. */
static int perf_link(int prog, const char *path, uint64_t offset, bool at_return, pid_t pid, struct err *e)
{
	unsigned int type, return_bit;
	struct perf_event_attr attr = { .size = sizeof(attr), .uprobe_path = (uintptr_t)path, .probe_offset = offset };
	int fd;

	if (read_number("/sys/bus/event_source/devices/uprobe/type", &type, e) ||
	    read_number("/sys/bus/event_source/devices/uprobe/format/retprobe", &return_bit, e))
		return e->code;
	attr.type = type;
	attr.config = at_return ? 1ULL << return_bit : 0;
	fd = syscall(__NR_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return err_set(e, -errno, "perf_event_open: %s", strerror(errno));
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, prog) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = -errno;

		close(fd);
		return err_set(e, err, "attaching to a perf event: %s", strerror(-err));
	}
	return fd;
}

static int add_link(struct floor *f, bool multi, const char *path, uint64_t offset, bool at_return, pid_t pid,
		    struct err *e)
{
	int *link = vec_push(&f->links);
	int fd;

	if (!link)
		return err_set(e, -ENOMEM, "out of memory");
	if (multi) {
		fd = uprobe_multi__link(f->prog, path, &(struct uprobe_points){ .offsets = &offset, .n = 1 }, at_return, pid);
		if (fd < 0)
			err_set(e, -errno, "uprobe_multi link to %s: %s", path, strerror(errno));
	} else {
		fd = perf_link(f->prog, path, offset, at_return, pid, e);
	}
	if (fd < 0) {
		f->links.n--;
		return e->code;
	}
	*link = fd;
	return 0;
}

static int attach_ours(struct floor *f, bool multi, const struct plan *p, int row, bool without_entry, pid_t pid,
		       struct err *e)
{
	for (size_t i = 0; i < p->n_points; i++)
		if (p->points[i].func == (uint32_t)row && !(without_entry && p->points[i].how == ON_ENTRY) &&
		    add_link(f, multi, p->object->fd_path, p->points[i].offset, p->points[i].how == ON_RETURN, pid, e))
			return e->code;
	return 0;
}

static int attach_usual(struct floor *f, bool multi, const struct plan *p, int row, bool with_return, pid_t pid,
			struct err *e)
{
	uint64_t offset;

	for (size_t i = 0; i < p->n_funcs; i++) {
		if (p->funcs[i].func != (uint32_t)row)
			continue;
		if (!object__vaddr_to_offset(p->object, p->funcs[i].vaddr, &offset))
			return err_set(e, -EINVAL, "%s: a function outside of its segments", p->object->path);
		if (add_link(f, multi, p->object->fd_path, offset, false, pid, e))
			return e->code;
		if (with_return && add_link(f, multi, p->object->fd_path, offset, true, pid, e))
			return e->code;
	}
	return 0;
}

static int attach(struct floor *f, enum layout layout, bool multi, const struct plan *p,
		  const struct alloc_funcs *funcs, pid_t pid, struct err *e)
{
	static const struct {
		const char *name;
		bool with_return;
	} wanted[] = { { "malloc", true }, { "free", false } };

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		int row = alloc_funcs__find(funcs, wanted[i].name);
		size_t before = f->links.n;

		if (layout == LAYOUT_ONE && !wanted[i].with_return)
			continue;
		if (layout == LAYOUT_OURS || layout == LAYOUT_TWO || layout == LAYOUT_ONE)
			attach_ours(f, multi, p, row, layout != LAYOUT_OURS && wanted[i].with_return, pid, e);
		else
			attach_usual(f, multi, p, row, wanted[i].with_return, pid, e);
		if (e->code)
			return e->code;
		if (f->links.n == before)
			return err_set(e, -ENOENT, "no %s in %s", wanted[i].name, p->object->path);
	}
	return 0;
}

int floor__attach(enum layout layout, pid_t pid, const char *libc, struct floor **ret, struct err *e)
{
	bool multi = layout != LAYOUT_USUAL_PERF && feature__has(FEATURE_UPROBE_MULTI);
	struct objects *objects = objects__new();
	struct floor *f = calloc(1, sizeof(*f));
	struct alloc_funcs funcs = { 0 };
	struct object *obj = NULL;
	struct plan plan = { 0 };
	size_t n_symbols;

	if (!f) {
		err_set(e, -ENOMEM, "out of memory");
		goto out;
	}
	alloc_funcs__init(&funcs);
	f->prog = load_empty(multi, e);
	if (f->prog < 0 || objects__get_path(objects, libc, &obj, e))
		goto out;
	plan__make(obj, &funcs, NULL, true, &plan, &n_symbols);
	attach(f, layout, multi, &plan, &funcs, pid, e);
out:
	plan__done(&plan);
	if (obj)
		object__put(obj);
	alloc_funcs__done(&funcs);
	objects__free(objects);
	if (e->code) {
		floor__detach(f);
		return e->code;
	}
	*ret = f;
	return 0;
}

void floor__detach(struct floor *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->links.n; i++)
		close(f->links.v[i]);
	vec_done(&f->links);
	if (f->prog > 0)
		close(f->prog);
	free(f);
}
