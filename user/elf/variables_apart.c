// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Variables, and names that DWARF may know, asked of a reader. Owns nothing beyond a call. */
#include <errno.h>
#include <string.h>

#include "elf/apart.h"
#include "elf/debugfile.h"
#include "elf/defined.h"
#include "util/util.h"

#define IDENT_MAX (1u << 20)

int variables_apart__serve(struct reader_request *q)
{
	struct object *obj = apart__object(q);
	struct variables all = {};
	int err = obj ? variables__read(obj, NULL, &all) : -ENOMEM;

	wire__u64(&q->out, all.n);
	for (size_t i = 0; i < all.n; i++) {
		wire__u64(&q->out, all.v[i].start);
		wire__u64(&q->out, all.v[i].end);
		wire__u64(&q->out, all.v[i].name);
	}
	wire__u64(&q->out, all.names_len);
	wire__bytes(&q->out, all.names, all.names_len);
	variables__done(&all);
	object__put(obj);
	return err;
}

/* What other code goes by: by address, none overlaps another, and each name ends. */
static int get_variables(struct wire_in *in, struct variables *all)
{
	const char *names;
	uint64_t most = 0;

	all->n = all->room = wire_in__count(in, 3 * sizeof(uint64_t));
	all->v = all->n ? calloc(all->n, sizeof(*all->v)) : NULL;
	if (all->n && !all->v)
		return -ENOMEM;
	for (size_t i = 0; i < all->n && !in->bad; i++) {
		struct variable *v = &all->v[i];

		v->start = wire_in__u64(in);
		v->end = wire_in__u64(in);
		v->name = wire_in__u64(in);
		most = MAX(most, (uint64_t)v->name);
		in->bad |= v->start >= v->end || (i && v->start < v[-1].end);
	}
	all->names_len = all->names_room = wire_in__count(in, 1);
	names = wire_in__bytes(in, all->names_len);
	in->bad |= all->n && (!names || most >= all->names_len || names[all->names_len - 1]);
	if (in->bad || !all->names_len)
		return 0;
	all->names = malloc(all->names_len);
	if (!all->names)
		return -ENOMEM;
	memcpy(all->names, names, all->names_len);
	return 0;
}

int variables_apart__read(const struct object *obj, const char *debug_dir, struct variables *ret)
{
	apart_cleanup struct apart a;
	struct variables all = {};
	int err;

	*ret = all;
	apart__begin(&a, READ_VARIABLES, obj);
	a.debug_dir = debug_dir;
	err = apart__ask(&a);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = get_variables(&a.in, &all);
	if (err || apart__settle(&a)) {
		variables__done(&all);
		return err;
	}
	*ret = all;
	return 0;
}

int defined_apart__serve_inlined(struct reader_request *q)
{
	struct object *obj = apart__object(q);
	const char *ident = wire_in__string(&q->in, IDENT_MAX);

	wire__u64(&q->out, obj && ident && defined__may_be_inlined(obj, NULL, ident));
	object__put(obj);
	return obj ? 0 : -ENOMEM;
}

bool defined_apart__may_be_inlined(const struct object *obj, const char *debug_dir, const char *ident)
{
	apart_cleanup struct apart a;
	bool may;

	apart__begin(&a, READ_INLINED, obj);
	a.debug_dir = debug_dir;
	wire__string(&a.args, ident);
	if (apart__ask(&a))
		return false;
	may = wire_in__bool(&a.in);
	return !apart__settle(&a) && may;
}
