// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what a mapping is called, and which kind of memory it is, by its line in /proc/PID/maps. */
#include <string.h>

#include "heap/parts_inner.h"

const char PART_RESERVED[] = "(reserved, no access)";

/* What is not here and has a name is a file. The first that fits counts. */
static const struct known {
	const char *prefix;
	bool shared;		/* only if it is */
	enum part_kind kind;
	const char *name;	/* NULL: as it is */
	bool is_nothing;
	bool is_never_linked;	/* "(deleted)" says nothing */
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
	{ "/memfd:", .kind = PART_SHARED, .is_never_linked = true },
	{ "/SYSV", .kind = PART_SHARED, .is_never_linked = true },
	{ "", .kind = PART_FILE },
};

static const struct known *known_as(const struct mapping *m)
{
	const struct known *k = known;

	while (strncmp(m->path, k->prefix, strlen(k->prefix)) || (k->shared && !m->shared))
		k++;
	return k;
}

/* The path, clean. Without memory for it, something. */
static const char *path_of(struct parts *p, const struct mapping *m, const struct known *k)
{
	_cleanup_free_ char *name = NULL;

	if (asprintf(&name, "%s%s", m->path, m->deleted && !k->is_never_linked ? " (deleted)" : "") < 0) {
		name = NULL;
		return "?";
	}
	clean_name(name);
	return pool__string(&p->pool, name);
}

static void name_nameless(const struct mapping *m, struct part_name *ret)
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
	ret->kind = m->write ? PART_GLOBAL : PART_CODE;
	ret->name = m->write ? pool__string(&p->pool, "(data)") : pool__string(&p->pool, in->path);
	ret->module = m->write ? in->path : NULL;
}

void part_mappings__name(struct parts *p, const struct mapping *m, struct part_name *ret)
{
	struct module *in = modules__find(&p->modules, m->start);
	const struct known *k;

	*ret = (struct part_name){};
	if (in && (m->ino || !module__open(&p->modules, in)) && !m->shared && (m->ino || m->write)) {
		name_of_module(p, m, in, ret);
		return;
	}
	if (!m->ino && !m->path[0]) {
		name_nameless(m, ret);
		return;
	}
	k = known_as(m);
	ret->kind = k->kind;
	ret->name = k->name ? k->name : path_of(p, m, k);
	ret->is_nothing = k->is_nothing;
}
