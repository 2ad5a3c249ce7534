// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The process that pushes: takes profiles from the one that traces, and hands them to a server by libcurl, which is loaded when it is
 * asked for, as it brings much along. It has to look names up and to speak TLS, so it may read what anybody may, and connect; it is
 * a user that nobody else is, without capabilities, and can start nothing.
 *
 * What always holds: what the server does not take waits, within bounds; what was dropped is counted.
 */
#include "serve/push.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "reader/lockdown.h"
#include "reader/reader.h"
#include "serve/push_parts.h"
#include "serve/push_queue.h"
#include "serve/ready.h"
#include "util/util.h"

#define CONNECT_MS 5000l
#define WHOLE_MS 30000l

/* Numbers of libcurl's ABI, which it keeps since version 7. */
enum curl_option {
	OPT_URL = 10002, OPT_POSTFIELDS = 10015, OPT_USERAGENT = 10018, OPT_HTTPHEADER = 10023, OPT_WRITEFUNCTION = 20011,
	OPT_POSTFIELDSIZE_LARGE = 30120, OPT_NOSIGNAL = 99, OPT_TIMEOUT_MS = 155, OPT_CONNECTTIMEOUT_MS = 156, OPT_PROTOCOLS = 181,
};
#define PROTOCOLS_HTTP 3l	/* http and https */
#define INFO_RESPONSE_CODE 0x200002
#define SERVER_ERRORS 500

struct curl;
struct curl_list;

static struct {
	struct curl *(*init)(void);
	int (*set)(struct curl *c, int option, ...);
	int (*perform)(struct curl *c);
	int (*info)(struct curl *c, int what, ...);
	void (*cleanup)(struct curl *c);
	struct curl_list *(*append)(struct curl_list *l, const char *text);
} curl;

static struct push_queue queue;
static struct push_counts counts;
static char *url, *name;

static bool load_library(void)
{
	void *lib = dlopen(PUSH_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	int (*global_init)(long) = lib ? (int (*)(long))dlsym(lib, "curl_global_init") : NULL;

	if (!global_init || global_init(3))
		return false;
	curl.init = dlsym(lib, "curl_easy_init");
	curl.set = dlsym(lib, "curl_easy_setopt");
	curl.perform = dlsym(lib, "curl_easy_perform");
	curl.info = dlsym(lib, "curl_easy_getinfo");
	curl.cleanup = dlsym(lib, "curl_easy_cleanup");
	curl.append = dlsym(lib, "curl_slist_append");
	return curl.init && curl.set && curl.perform && curl.info && curl.cleanup && curl.append;
}

static size_t ignore(char *bytes, size_t size, size_t n, void *arg)
{
	return size * n;
}

/* The status that the server gave; 0: it gave none. */
static long send_bytes(struct curl *c, const char *to, const void *bytes, uint64_t n)
{
	static struct curl_list *headers;
	long status = 0;

	if (!headers)
		headers = curl.append(NULL, "Content-Type: application/octet-stream");
	curl.set(c, OPT_URL, to);
	curl.set(c, OPT_PROTOCOLS, PROTOCOLS_HTTP);
	curl.set(c, OPT_NOSIGNAL, 1l);
	curl.set(c, OPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	curl.set(c, OPT_TIMEOUT_MS, WHOLE_MS);
	curl.set(c, OPT_USERAGENT, "malloctrace/" VERSION);
	curl.set(c, OPT_HTTPHEADER, headers);
	curl.set(c, OPT_WRITEFUNCTION, ignore);
	curl.set(c, OPT_POSTFIELDSIZE_LARGE, (int64_t)n);
	curl.set(c, OPT_POSTFIELDS, bytes);
	if (!curl.perform(c))
		curl.info(c, INFO_RESPONSE_CODE, &status);
	return status;
}

static long try_to_send(const struct queued *q)
{
	_cleanup_free_ char *to = push__url(url, name, &q->item);
	void *bytes = q->bytes ? mmap(NULL, q->bytes, PROT_READ, MAP_PRIVATE, q->fd, 0) : MAP_FAILED;
	struct curl *c = to && bytes != MAP_FAILED ? curl.init() : NULL;
	long status = c ? send_bytes(c, to, bytes, q->bytes) : 0;

	if (c)
		curl.cleanup(c);
	if (bytes != MAP_FAILED)
		munmap(bytes, q->bytes);
	return status;
}

static void push_next(void)
{
	uint64_t random = 0;
	long status = try_to_send(push_queue__first(&queue));

	if (status >= 200 && status < 300) {
		counts.pushed++;
		push_queue__done_first(&queue);
		push_queue__worked(&queue);
		return;
	}
	counts.failed++;
	/* what the server does not want now it will not want later; too many requests, and who asks, may change */
	if (status >= 400 && status < SERVER_ERRORS && status != 429 && status != 401 && status != 403 && status != 408) {
		counts.dropped++;
		push_queue__done_first(&queue);
	}
	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	push_queue__failed(&queue, now_ns(), random);
}

/* false: there is nobody any more who has profiles */
static bool take_item(int flags)
{
	struct push_item item;
	struct stat st;
	int fd;
	ssize_t got = reader_socket__get(PUSH_CONTROL_FD, &item, sizeof(item), &fd, flags);

	if (!got || (got < 0 && errno != EINTR && errno != EAGAIN))
		return false;
	if (got == sizeof(item) && fd >= 0 && !fstat(fd, &st))
		counts.dropped += push_queue__put(&queue, &item, fd, (uint64_t)st.st_size);
	else if (fd >= 0)
		close(fd);
	return true;
}

static int wait_ms(void)
{
	uint64_t now = now_ns();

	if (!push_queue__first(&queue))
		return -1;
	return queue.due_ns > now ? (int)((queue.due_ns - now) / MS_NS) + 1 : 0;
}

static void run(void)
{
	struct pollfd p = { .fd = PUSH_CONTROL_FD, .events = POLLIN };

	for (;;) {
		struct push_counts before = counts;

		if (poll(&p, 1, wait_ms()) > 0 && !take_item(MSG_DONTWAIT))
			return;
		if (push_queue__first(&queue) && now_ns() >= queue.due_ns)
			push_next();
		/* who does not read them gets the next ones */
		if (memcmp(&before, &counts, sizeof(counts)))
			(void)!reader_socket__put(PUSH_CONTROL_FD, &counts, sizeof(counts), -1, MSG_DONTWAIT);
	}
}

#define CALL(x) { .number = __NR_##x }

static const struct lockdown_refusal refused[] = {
	CALL(execve), CALL(execveat), CALL(ptrace), CALL(process_vm_readv), CALL(process_vm_writev), CALL(bpf), CALL(perf_event_open),
	CALL(mount), CALL(umount2), CALL(pivot_root), CALL(chroot), CALL(setns), CALL(unshare), CALL(add_key), CALL(request_key), CALL(keyctl),
	CALL(init_module), CALL(finit_module), CALL(delete_module), CALL(kexec_load), CALL(io_uring_setup), CALL(userfaultfd), CALL(personality),
};

static const struct lockdown_limit limits[] = {
	{ RLIMIT_CORE, 0 },
	{ RLIMIT_FSIZE, 0 },
	{ RLIMIT_MEMLOCK, 0 },
	{ RLIMIT_NOFILE, 1024 },
};

static bool read_settings(void)
{
	FILE *f = fdopen(PUSH_SETTINGS_FD, "r");
	size_t room = 0;
	bool ok = f && getline(&url, &room, f) > 0;

	room = 0;
	ok = ok && getline(&name, &room, f) > 0;
	if (!ok)
		return false;
	url[strcspn(url, "\n")] = name[strcspn(name, "\n")] = '\0';
	fclose(f);
	return true;
}

int push_child__main(void)
{
	prctl(PR_SET_NAME, PUSH_CHILD_NAME);
	if (!read_settings() || lockdown__give_up_rights(ROOT_POWERLESS) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    lockdown__limit(limits, ARRAY_SIZE(limits)) || lockdown__refuse(refused, ARRAY_SIZE(refused)))
		return 1;
	if (!load_library()) {
		ready__say(PUSH_CONTROL_FD, PUSH_LIBRARY " cannot be loaded: install libcurl4 (Debian), libcurl (Fedora) or curl (Arch); a static malloctrace cannot push");
		return 1;
	}
	ready__say(PUSH_CONTROL_FD, NULL);
	run();
	_exit(0);
}
