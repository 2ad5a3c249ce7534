// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what a mapping is called, and which kind of memory it is, by its line in /proc/PID/maps. */
#include <string.h>

#include "heap/parts_inner.h"

const char PART_RESERVED[] = "(reserved, no access)";

/* What is not here and has a name is a file. The first that fits counts. */
static const struct {
	const char *prefix;
	bool shared;		/* only if it is */
	enum part_kind kind;
	const char *name;	/* NULL: as it is */
	bool is_nothing;
} known[] = {
	{ "[vvar", .is_nothing = true },	/* the kernel's clocks: its own memory */
	{ "[vsyscall]", .is_nothing = true },
	{ "[heap]", .kind = PART_HEAP },
	{ "[stack]", .kind = PART_STACK },
	{ "[vdso]", .kind = PART_CODE },
	{ "[anon_shmem:", .kind = PART_SHARED },	/* prctl(PR_SET_VMA_ANON_NAME) */
	{ "[anon:", .kind = PART_ANON },
	{ "[", .kind = PART_OTHER },
	{ "/dev/zero", .shared = true, .kind = PART_SHARED, .name = "(anonymous, shared)" },
	{ "/dev/zero", .kind = PART_ANON },
	{ "/dev/shm/", .kind = PART_SHARED },
	{ "/memfd:", .kind = PART_SHARED },
	{ "/SYSV", .kind = PART_SHARED },
};

static bool is_known(struct parts *p, const struct mapping *m, struct part_name *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strncmp(m->path, known[i].prefix, strlen(known[i].prefix)) || (known[i].shared && !m->shared))
			continue;
		ret->kind = known[i].kind;
		ret->is_nothing = known[i].is_nothing;
		if (known[i].name)
			ret->name = known[i].name;
		return true;
	}
	return false;
}

/* The path, clean. Without memory for it, something. */
static const char *path_of(struct parts *p, const struct mapping *m)
{
	_cleanup_free_ char *name = NULL;

	/* in front of the check of names: all files without one that is linked are of memory, and are told so already */
	if (asprintf(&name, "%s%s", m->path, m->deleted && strncmp(m->path, "/memfd:", 7) && strncmp(m->path, "/SYSV", 5) ? " (deleted)" : "") < 0) {
		name = NULL;
		return "?";
	}
	clean_name(name);
	return pool__string(&p->pool, name);
}

static void name_nameless(struct parts *p, const struct mapping *m, struct part_name *ret)
{
	ret->kind = PART_ANON;
	if (!m->read && !m->write && !m->exec) {
		ret->name = PART_RESERVED;
	} else if (m->exec) {
		ret->kind = PART_CODE;
		ret->name = "(made at run time)";
	}
}

/* Of a module whose file cannot be read; what is known of others is in spans. */
static void name_of_module(struct parts *p, const struct mapping *m, struct module *in, struct part_name *ret)
{
	_cleanup_free_ char *name = NULL;

	if (m->write && asprintf(&name, "(data of %s)", module__file_name(in)) < 0)
		name = NULL;
	ret->kind = m->write ? PART_GLOBAL : PART_CODE;
	ret->name = m->write ? pool__string(&p->pool, name ? name : "(data)") : pool__string(&p->pool, in->path);
	ret->module = m->write ? in->path : NULL;
}

void part_mappings__name(struct parts *p, const struct mapping *m, struct part_name *ret)
{
	struct module *in = modules__find(&p->modules, m->start);

	*ret = (struct part_name){};
	if (in && (m->ino || !module__open(&p->modules, in)) && !m->shared && (m->ino || m->write)) {
		name_of_module(p, m, in, ret);
		return;
	}
	if (!m->ino && !m->path[0]) {
		name_nameless(p, m, ret);
		return;
	}
	ret->kind = PART_FILE;
	ret->name = path_of(p, m);
	is_known(p, m, ret);
}
