// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Unwind rows, asked of a reader. A file has few different rules and many rows, so each rule is sent once. Owns nothing beyond
 * a call.
 */
#include <errno.h>
#include <string.h>

#include "elf/apart.h"
#include "elf/cfi_parts.h"
#include "util/hash.h"
#include "util/util.h"

#define WORD_BYTES 1024		/* of an error's sentence */

/* ---- the answer */

struct rules {
	struct vec(struct mt_rule) v;
	struct hash by_content;	/* number + 1 */
};

static int number_of(struct rules *all, const struct mt_rule *rule, uint32_t *ret)
{
	uint64_t words[sizeof(*rule) / 8], key;
	struct mt_rule *slot;
	uintptr_t number;

	memcpy(words, rule, sizeof(words));
	key = hash__mix(hash__mix(words[0], words[1]), words[2]);
	number = (uintptr_t)hash__get(&all->by_content, key);
	if (number && !memcmp(&all->v.v[number - 1], rule, sizeof(*rule))) {
		*ret = (uint32_t)number - 1;
		return 0;
	}
	slot = vec_push(&all->v);
	if (!slot)
		return -ENOMEM;
	*slot = *rule;
	*ret = (uint32_t)all->v.n - 1;
	/* two that have one key are sent again and again */
	return number ? 0 : hash__put(&all->by_content, key, (void *)(uintptr_t)all->v.n);
}

static int put_rows(struct wire *w, const struct cfi *c)
{
	_cleanup_free_ uint32_t *numbers = calloc(c->n_rows + 1, sizeof(*numbers));
	struct rules rules = {};
	int err = numbers ? 0 : -ENOMEM;

	for (size_t i = 0; i < c->n_rows && !err; i++)
		err = number_of(&rules, &c->rows[i].rule, &numbers[i]);
	if (!err) {
		wire__u64(w, rules.v.n);
		wire__bytes(w, rules.v.v, rules.v.n * sizeof(*rules.v.v));
		wire__u64(w, c->n_rows);
		for (size_t i = 0; i < c->n_rows; i++) {
			wire__u64(w, c->rows[i].pc);
			wire__bytes(w, &numbers[i], sizeof(numbers[i]));
		}
	}
	vec_done(&rules.v);
	hash__done(&rules.by_content);
	return err;
}

int cfi_apart__serve(struct reader_request *q)
{
	struct object *obj = NULL;
	struct err e = {};
	struct cfi c = {};
	int err;

	if (q->fd < 0) {
		size_t len = wire_in__u64(&q->in);
		const void *image = wire_in__bytes(&q->in, len);

		err = image ? cfi__compile_image(image, len, wire_in__bool(&q->in), &c, &e) : -EINVAL;
	} else {
		obj = apart__object(q);
		err = obj ? cfi__compile(obj, wire_in__bool(&q->in), &c, &e) : -ENOMEM;
	}
	if (err) {
		wire__string(&q->out, err_msg(&e));
	} else {
		wire__u64(&q->out, c.machine);
		wire__u64(&q->out, c.stats.n_fdes);
		wire__u64(&q->out, c.stats.n_bad_fdes);
		wire__u64(&q->out, c.stats.n_call_rows);
		wire__u64(&q->out, c.stats.n_no_record);
		wire__u64(&q->out, c.stats.n_unsupported);
		err = put_rows(&q->out, &c);
		wire__u64(&q->out, c.starts.n);
		for (size_t i = 0; i < c.starts.n; i++) {
			wire__u64(&q->out, c.starts.v[i].pc);
			wire__bytes(&q->out, &(uint8_t){ c.starts.v[i].after_call }, 1);
		}
	}
	cfi__done(&c);
	err_done(&e);
	object__put(obj);
	return err;
}

/* ---- the question */

static bool is_rule(const struct mt_rule *r)
{
	return r->cfa <= MT_CFA_UNSUPPORTED && r->ra <= MT_SAVED_UNSUPPORTED && r->fp <= MT_SAVED_UNSUPPORTED && r->record <= 1 && !r->pad2;
}

/* -ENOMEM, of ours */
static int get_rows(struct wire_in *in, struct cfi *c)
{
	size_t n_rules = wire_in__count(in, sizeof(struct mt_rule));
	const unsigned char *rules = wire_in__bytes(in, n_rules * sizeof(struct mt_rule));

	c->n_rows = wire_in__count(in, sizeof(uint64_t) + sizeof(uint32_t));
	in->bad |= c->n_rows > 2 + (size_t)CFI_MAX_ROWS;
	c->rows = c->n_rows ? calloc(c->n_rows, sizeof(*c->rows)) : NULL;
	if (c->n_rows && !c->rows)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_rows && !in->bad; i++) {
		struct cfi_row *row = &c->rows[i];
		const void *number;
		uint32_t n = 0;

		row->pc = wire_in__u64(in);
		number = wire_in__bytes(in, sizeof(n));
		if (number)
			memcpy(&n, number, sizeof(n));
		if (!number || n >= n_rules || (i && row->pc <= row[-1].pc)) {
			in->bad = true;
			break;
		}
		memcpy(&row->rule, rules + n * sizeof(row->rule), sizeof(row->rule));
		in->bad |= !is_rule(&row->rule);
	}
	/* what looks rows up goes by this */
	in->bad |= c->n_rows && c->rows[c->n_rows - 1].rule.cfa != MT_CFA_NONE;
	return 0;
}

static int get_starts(struct wire_in *in, struct cfi *c)
{
	size_t n = wire_in__count(in, sizeof(uint64_t) + 1);

	for (size_t i = 0; i < n && !in->bad; i++) {
		struct cfi_start *s = vec_push(&c->starts);
		const uint8_t *after_call;

		if (!s)
			return -ENOMEM;
		s->pc = wire_in__u64(in);
		after_call = wire_in__bytes(in, 1);
		s->after_call = after_call && *after_call;
		in->bad |= i && s->pc <= s[-1].pc;
	}
	return 0;
}

int cfi_apart__compile(const struct object *obj, const void *image, size_t len, bool calls_only, struct cfi *ret, struct err *e)
{
	apart_cleanup struct apart a;
	struct cfi c = {};
	int err;

	apart__begin(&a, READ_CFI, obj);
	if (!obj) {
		wire__u64(&a.args, len);
		wire__bytes(&a.args, image, len);
	}
	wire__u64(&a.args, calls_only);
	err = apart__ask(&a);
	if (err == READER_LOST || err == -EINTR)
		return err_set(e, -EIO, "it could not be read");
	if (err) {
		char words[WORD_BYTES];
		const char *said = wire_in__string(&a.in, sizeof(words) - 1);

		snprintf(words, sizeof(words), "%s", said ? said : strerror(-err));
		clean_name(words);
		return err_set(e, err, "%s", words);
	}
	c.machine = wire_in__upto(&a.in, UINT16_MAX);
	c.stats.n_fdes = wire_in__u64(&a.in);
	c.stats.n_bad_fdes = wire_in__u64(&a.in);
	c.stats.n_call_rows = wire_in__u64(&a.in);
	c.stats.n_no_record = wire_in__u64(&a.in);
	c.stats.n_unsupported = wire_in__u64(&a.in);
	err = get_rows(&a.in, &c) ?: get_starts(&a.in, &c);
	if (!err && apart__settle(&a))
		err = -EIO;
	if (err) {
		cfi__done(&c);
		return err == -ENOMEM ? err_set(e, err, "no memory for unwind tables") : err_set(e, err, "it could not be read");
	}
	*ret = c;
	return 0;
}
