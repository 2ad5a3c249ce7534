// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What passes between malloctrace and its readers: structs as bytes, and bytes through sockets.
 * Owns the bytes of a struct wire, and what is known of an end that is asked for. Both sides are
 * one program, so a number is as the machine has it. What always holds: no memory is taken for more
 * rows than the bytes that are left can hold.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "reader/reader_parts.h"
#include "reader/wire.h"
#include "util/signals.h"
#include "util/util.h"

#define NO_STRING UINT64_MAX

void wire__bytes(struct wire *w, const void *bytes, size_t n)
{
	if (!n)
		return;
	if (n > w->room - w->n) {
		w->room = MAX(w->room * 2, w->n + n + 256);
		w->v = xrealloc(w->v, w->room);
	}
	memcpy(w->v + w->n, bytes, n);
	w->n += n;
}

void wire__u64(struct wire *w, uint64_t v)
{
	wire__bytes(w, &v, sizeof(v));
}

void wire__string(struct wire *w, const char *s)
{
	size_t n = s ? strlen(s) : 0;

	wire__u64(w, s ? n : NO_STRING);
	if (s)
		wire__bytes(w, s, n + 1);
}

void wire__done(struct wire *w)
{
	free(w->v);
	*w = (struct wire){};
}

static unsigned char *take(struct wire_in *in, size_t n)
{
	unsigned char *at = in->at;

	if (in->bad || n > (size_t)(in->end - at)) {
		in->bad = true;
		return NULL;
	}
	in->at += n;
	return at;
}

/* Nothing is copied of what is bad. */
static void copy(struct wire_in *in, void *ret, size_t n)
{
	const void *bytes = take(in, n);

	if (bytes && n)
		memcpy(ret, bytes, n);
}

uint64_t wire_in__u64(struct wire_in *in)
{
	uint64_t v = 0;

	copy(in, &v, sizeof(v));
	return v;
}

char *wire_in__string(struct wire_in *in, size_t most)
{
	uint64_t n = wire_in__u64(in);
	char *s;

	if (in->bad || n == NO_STRING)
		return NULL;
	in->bad = n > most;
	s = (char *)take(in, in->bad ? 0 : n + 1);
	if (s && !in->bad && memchr(s, 0, n + 1) != s + n)
		in->bad = true;
	return in->bad ? NULL : s;
}

bool wire_in__is_over(const struct wire_in *in)
{
	return !in->bad && in->at == in->end;
}

/* ---- tables */

static size_t *count_of(const struct wire_field *f, const void *record)
{
	return (size_t *)((char *)record + f->n_at);
}

static void put_rows(struct wire *w, const struct wire_field *f, const void *record)
{
	size_t n = *count_of(f, record);
	const char *v = *(char **)((char *)record + f->at);

	wire__u64(w, n);
	if (!f->of)
		wire__bytes(w, v, n * f->size);
	for (size_t i = 0; f->of && i < n; i++)
		wire__put(w, f->of, v + i * f->size);
}

void wire__put(struct wire *w, const struct wire_type *type, const void *record)
{
	for (size_t i = 0; i < type->n; i++) {
		const struct wire_field *f = &type->v[i];
		const char *member = (const char *)record + f->at;

		switch (f->kind) {
		case WIRE_NUMBER:
		case WIRE_BYTES:
			wire__bytes(w, member, f->size);
			break;
		case WIRE_TEXT:
		case WIRE_COPY:
			wire__string(w, *(char *const *)member);
			break;
		case WIRE_CHARS:
			wire__string(w, member);
			break;
		case WIRE_STRUCT:
			wire__put(w, f->of, member);
			break;
		case WIRE_ROWS:
		case WIRE_ARRAY:
			put_rows(w, f, record);
			break;
		}
	}
}

static void get_number(struct wire_in *in, const struct wire_field *f, char *ret)
{
	uint64_t v = 0;

	/* both architectures are little-endian */
	copy(in, &v, f->size);
	in->bad |= v > f->most;
	if (!in->bad)
		memcpy(ret, &v, f->size);
}

static void get_text(struct wire_in *in, const struct wire_field *f, char *ret)
{
	char *s = wire_in__string(in, f->kind == WIRE_CHARS ? f->size - 1u : f->most);

	if (s && f->clean)
		clean_name(s);
	if (f->kind == WIRE_CHARS) {
		in->bad |= !s;
		strcpy(ret, s ? s : "");
		return;
	}
	*(char **)ret = s && f->kind == WIRE_COPY ? xstrdup(s) : s;
}

static size_t least_bytes(const struct wire_type *type)
{
	size_t bytes = 0;

	for (size_t i = 0; i < type->n; i++) {
		const struct wire_field *f = &type->v[i];

		bytes += f->kind == WIRE_NUMBER || f->kind == WIRE_BYTES ? f->size :
			 f->kind == WIRE_STRUCT				 ? least_bytes(f->of) :
									   sizeof(uint64_t);
	}
	return bytes;
}

static void get_rows(struct wire_in *in, const struct wire_field *f, char *record)
{
	size_t n = wire_in__u64(in), each = f->of ? least_bytes(f->of) : f->size;
	char *v;

	in->bad |= n > (size_t)(in->end - in->at) / each;
	if (in->bad || !n)
		return;
	v = xcalloc(n, f->size);
	*(char **)(record + f->at) = v;
	*count_of(f, record) = n;
	if (f->room_at)
		*(size_t *)(record + f->room_at) = n;
	if (!f->of)
		copy(in, v, n * f->size);
	for (size_t i = 0; f->of && i < n && !in->bad; i++)
		wire_in__get(in, f->of, v + i * f->size);
}

static void get_field(struct wire_in *in, const struct wire_field *f, char *record)
{
	switch (f->kind) {
	case WIRE_NUMBER:
		get_number(in, f, record + f->at);
		break;
	case WIRE_BYTES:
		copy(in, record + f->at, f->size);
		break;
	case WIRE_TEXT:
	case WIRE_COPY:
	case WIRE_CHARS:
		get_text(in, f, record + f->at);
		break;
	case WIRE_STRUCT:
		wire_in__get(in, f->of, record + f->at);
		break;
	case WIRE_ROWS:
	case WIRE_ARRAY:
		get_rows(in, f, record);
		break;
	}
}

void wire_type__clear(const struct wire_type *type, void *record)
{
	for (size_t i = 0; i < type->n; i++) {
		const struct wire_field *f = &type->v[i];
		char *member = (char *)record + f->at;

		switch (f->kind) {
		case WIRE_STRUCT:
			wire_type__clear(f->of, member);
			break;
		case WIRE_ROWS:
		case WIRE_ARRAY:
			*(char **)member = NULL;
			*count_of(f, record) = 0;
			if (f->room_at)
				*(size_t *)((char *)record + f->room_at) = 0;
			break;
		default:
			memset(member, 0, f->size);
		}
	}
}

bool wire_in__get(struct wire_in *in, const struct wire_type *type, void *ret)
{
	wire_type__clear(type, ret);
	for (size_t i = 0; i < type->n && !in->bad; i++)
		get_field(in, &type->v[i], ret);
	if (!in->bad && type->is_sane)
		in->bad = !type->is_sane(ret);
	if (in->bad)
		wire_type__done(type, ret);
	return !in->bad;
}

void wire_type__done(const struct wire_type *type, void *record)
{
	for (size_t i = 0; i < type->n; i++) {
		const struct wire_field *f = &type->v[i];
		char *member = (char *)record + f->at, *v;

		if (f->kind == WIRE_STRUCT)
			wire_type__done(f->of, member);
		if (f->kind != WIRE_COPY && f->kind != WIRE_ROWS && f->kind != WIRE_ARRAY)
			continue;
		v = *(char **)member;
		for (size_t k = 0; f->kind == WIRE_ROWS && k < *count_of(f, record); k++)
			wire_type__done(f->of, v + k * f->size);
		free(v);
	}
	wire_type__clear(type, record);
}

/*
 * ---- to and from a reader or the starter, neither of which need ever answer
 *
 * Nobody on the other side decides how long it takes: each call ends in bounded time, and much
 * sooner if an end is asked for.
 */

#define LOOK_NS (50 * MS_NS)	/* how often it is looked whether an end is asked for */

static struct {			/* atomic, both */
	int hurry;
	uint64_t at_ns;		/* of readers__end_at() */
} ends;

void wait__for_part(struct wait *w)
{
	uint64_t part_until_ns = now_ns() + w->part_ns, all_until_ns = w->begun_ns + WAIT_ANSWER_NS;

	w->is_last = all_until_ns < part_until_ns;
	w->until_ns = MIN(part_until_ns, all_until_ns);
}

static bool is_end(const struct wait *w)
{
	uint64_t now = now_ns(), end_ns = __atomic_load_n(&ends.at_ns, __ATOMIC_RELAXED);

	return (end_ns && now >= MAX(end_ns, w->begun_ns) + w->grace_ns) ||
	       (now - w->begun_ns > WAIT_LONG_NS && (signal_asks_for_end() || __atomic_load_n(&ends.hurry, __ATOMIC_RELAXED)));
}

bool readers__is_end(uint64_t begun_ns)
{
	return is_end(&(struct wait){ .begun_ns = begun_ns });
}

enum outcome wait__judge(const struct wait *w)
{
	return is_end(w) ? CALLED_OFF : now_ns() >= w->until_ns ? LATE : ANSWERED;
}

void readers__hurry(bool on)
{
	__atomic_fetch_add(&ends.hurry, on ? 1 : -1, __ATOMIC_RELAXED);
}

void readers__end_at(uint64_t ns)
{
	__atomic_store_n(&ends.at_ns, ns, __ATOMIC_RELAXED);
}

/* Until the socket can be read from, or written to. */
static enum outcome wait_for(int fd, short events, const struct wait *w)
{
	struct pollfd p = { .fd = fd, .events = events };

	for (;;) {
		enum outcome o = wait__judge(w);
		int n;

		if (o != ANSWERED)
			return o;
		n = poll(&p, 1, LOOK_NS / MS_NS);
		if (n > 0)
			return ANSWERED;
		if (n < 0 && errno != EINTR)
			return DIED;
	}
}

static bool try_again(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

enum outcome talk__put(int fd, const void *bytes, size_t n, int passed, const struct wait *w)
{
	for (size_t done = 0; done < n;) {
		ssize_t put = reader_socket__put(fd, (const char *)bytes + done, n - done, done ? -1 : passed, MSG_DONTWAIT);
		enum outcome o;

		if (put >= 0) {
			done += (size_t)put;
			continue;
		}
		if (!try_again())
			return DIED;
		o = wait_for(fd, POLLOUT, w);
		if (o != ANSWERED)
			return o;
	}
	return ANSWERED;
}

enum outcome talk__get(int fd, void *bytes, size_t n, const struct wait *w)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = recv(fd, (char *)bytes + done, n - done, MSG_DONTWAIT);
		enum outcome o;

		if (got > 0) {
			done += (size_t)got;
			continue;
		}
		if (!got || !try_again())
			return DIED;
		o = wait_for(fd, POLLIN, w);
		if (o != ANSWERED)
			return o;
	}
	return ANSWERED;
}

/* ---- for both sides: bytes and a descriptor */

ssize_t reader_socket__put(int fd, const void *bytes, size_t n, int passed, int flags)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec v = { (void *)bytes, n };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (passed >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &passed, sizeof(passed));
	}
	return sendmsg(fd, &m, flags | MSG_NOSIGNAL);
}

ssize_t reader_socket__get(int fd, void *bytes, size_t n, int *ret_passed, int flags)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {};
	struct iovec v = { bytes, n };
	/* with the padding, room for two: the kernel closes what has none */
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int)) };
	ssize_t got = recvmsg(fd, &m, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = got < 0 ? NULL : CMSG_FIRSTHDR(&m);

	*ret_passed = -1;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_passed, CMSG_DATA(c), sizeof(int));
	return got;
}
