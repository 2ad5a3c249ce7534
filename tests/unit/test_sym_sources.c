// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Where names come from besides a file's own tables: mini debug info, a
 * debuginfod server, a JIT's list, the vdso; and files that changed or are gone.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <lzma.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "elf/code_book.h"
#include "elf/debugfile.h"
#include "elf/object.h"
#include "names/names.h"
#include "names/sym.h"
#include "reader/reader.h"
#include "space/space.h"
#include "trace/output.h"
#include "util/util.h"

static volatile int sink;

/* in .symtab only: neither exported nor known to any dynamic table */
static __attribute__((noinline)) void *sym_sources_hidden(void)
{
	sink++;
	return __builtin_return_address(0);
}

static __attribute__((noinline)) void *sym_sources_caller(void)
{
	void *here = sym_sources_hidden();

	sink++;
	return here;
}

static struct objects *objects;
static char dir[] = "/tmp/mt-sources-XXXXXX";
static uint64_t caller_vaddr;	/* a return address in sym_sources_caller */

static int find_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uint64_t *)arg = info->dlpi_addr;
	return 1;	/* the program is the first */
}

static void shell(const char *fmt, ...)
{
	char cmd[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	cr_assert_eq(system(cmd), 0, "%s", cmd);
}

static void setup(void)
{
	uint64_t base = 0;

	objects = objects__new();
	cr_assert_not_null(objects);
	cr_assert_not_null(mkdtemp(dir));
	dl_iterate_phdr(find_base, &base);
	caller_vaddr = (uint64_t)sym_sources_caller() - base;
}

static void teardown(void)
{
	objects__free(objects);
	shell("rm -rf %s", dir);
}

TestSuite(sym_sources, .init = setup, .fini = teardown, .timeout = 60);

static const char *in_dir(const char *name)
{
	static char path[4][256];
	static int i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", dir, name);
	return path[i];
}

static struct object *open_object(const char *path)
{
	struct object *obj = NULL;
	struct err e = { 0 };

	cr_assert_eq(objects__get_path(objects, path, &obj, &e), 0, "%s: %s", path, err_msg(&e));
	return obj;
}

static void expect_caller(struct sym *s, struct object *obj, bool named, const char *why)
{
	const struct line *l;
	size_t n = sym__resolve(s, obj, caller_vaddr, &l);

	if (named)
		cr_expect_str_eq(l[n - 1].function ?: "(none)", "sym_sources_caller", "%s", why);
	else
		cr_expect(!l[n - 1].function || strcmp(l[n - 1].function, "sym_sources_caller"), "%s", why);
}

static void have_objcopy(void)
{
	if (system("objcopy --version >/dev/null 2>&1"))
		cr_skip_test("skipped: no objcopy");
}

/* ---- mini debug info */

static void pack(const void *data, size_t len, const char *path)
{
	size_t room = lzma_stream_buffer_bound(len), n = 0;
	_cleanup_free_ uint8_t *out = malloc(room);
	FILE *f = fopen(path, "w");

	cr_assert(out && f);
	cr_assert_eq(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, data, len, out, &n, room), LZMA_OK);
	cr_assert_eq(fwrite(out, 1, n, f), n);
	cr_assert_eq(fclose(f), 0);
}

static int open_mini(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elffile m = { 0 };
	Elf *elf;
	int err;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	cr_assert_not_null(elf);
	err = minidebug__open(&m, elf);
	elffile__close(&m);
	elf_end(elf);
	return err;
}

Test(sym_sources, mini_debug_info)
{
	_cleanup_free_ char *mini = NULL;
	struct sym *s = sym__new(&(struct sym_opts){ .debug_dir = "/nonexistent" });
	struct object *bare, *with;
	size_t len;

	have_objcopy();
	shell("cd %s && objcopy --only-keep-debug /proc/%d/exe m && strip -g m && objcopy -S /proc/%d/exe bare", dir,
	      getpid(), getpid());
	cr_assert_eq(read_small_file(in_dir("m"), &mini, &len), 0);
	pack(mini, len, in_dir("m.xz"));
	shell("cd %s && objcopy --add-section .gnu_debugdata=m.xz bare with", dir);
	bare = open_object(in_dir("bare"));
	with = open_object(in_dir("with"));
	expect_caller(s, bare, false, "stripped");
	expect_caller(s, with, true, "from .gnu_debugdata");
	sym__free(s);
	object__put(bare);
	object__put(with);
}

Test(sym_sources, mini_debug_info_that_lies)
{
	size_t bomb_bytes = 80u << 20;
	_cleanup_free_ char *zeros = calloc(1, bomb_bytes);

	have_objcopy();
	cr_assert_not_null(zeros);
	pack(zeros, bomb_bytes, in_dir("bomb"));
	pack(zeros, 1000, in_dir("zeros"));
	shell("cd %s && objcopy -S /proc/%d/exe bare && objcopy --add-section .gnu_debugdata=bomb bare b && "
	      "objcopy --add-section .gnu_debugdata=zeros bare z && head -c 100 /dev/urandom >r && "
	      "objcopy --add-section .gnu_debugdata=r bare r2 && head -c 40 zeros >cut && "
	      "objcopy --add-section .gnu_debugdata=cut bare c", dir, getpid());
	cr_expect_eq(open_mini(in_dir("bare")), -ENOENT);
	cr_expect_eq(open_mini(in_dir("b")), -EFBIG);
	cr_expect_eq(open_mini(in_dir("z")), -EBADMSG);
	cr_expect_eq(open_mini(in_dir("r2")), -EBADMSG);
	cr_expect_eq(open_mini(in_dir("c")), -EBADMSG, "cut short");
}

/* ---- debuginfod */

struct server {
	int fd;
	pthread_t thread;
	const char *file;	/* what every request gets; NULL: 404 */
	size_t claims;		/* the bytes that it says to have; 0: as many as it has */
	const char *encoding;	/* a header's line; NULL: none */
	bool chunked;		/* it says of no size */
	char request[512];	/* the first line of the last one */
	int n_requests;
};

#define CHUNK ((size_t)1 << 16)

static bool put_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t put = send(fd, bytes, n, MSG_NOSIGNAL);

		if (put <= 0)
			return false;
		bytes += put;
		n -= put;
	}
	return true;
}

static void *serve(void *arg)
{
	struct server *v = arg;
	int fd;

	while ((fd = accept(v->fd, NULL, NULL)) >= 0) {
		char buf[4096], head[256];
		ssize_t got = read(fd, buf, sizeof(buf) - 1);
		_cleanup_free_ char *body = NULL;
		size_t len = 0;

		buf[MAX(got, 0)] = '\0';
		snprintf(v->request, sizeof(v->request), "%.*s", (int)strcspn(buf, "\r\n"), buf);
		v->n_requests++;
		if (v->file)
			read_small_file(v->file, &body, &len);
		if (v->chunked)
			snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n%s\r\n",
				 v->encoding ?: "");
		else
			snprintf(head, sizeof(head),
				 "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
				 body ? "200 OK" : "404 Not Found", v->claims ? v->claims : len, v->encoding ?: "");
		put_all(fd, head, strlen(head));
		for (size_t at = 0; at < len; at += CHUNK) {
			size_t n = MIN(len - at, CHUNK);

			snprintf(head, sizeof(head), "%zx\r\n", n);
			if ((v->chunked && !put_all(fd, head, strlen(head))) || !put_all(fd, body + at, n) ||
			    (v->chunked && !put_all(fd, "\r\n", 2)))
				break;
		}
		if (v->chunked)
			put_all(fd, "0\r\n\r\n", 5);
		close(fd);
	}
	return NULL;
}

static void server__start(struct server *v)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	char url[64];

	v->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(!bind(v->fd, (struct sockaddr *)&at, sizeof(at)) && !listen(v->fd, 8));
	cr_assert_eq(getsockname(v->fd, (struct sockaddr *)&at, &len), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(at.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", in_dir("cache"), 1);
	/* a proxy of the environment is not to be asked for this machine */
	unsetenv("http_proxy");
	unsetenv("HTTP_PROXY");
	unsetenv("all_proxy");
	unsetenv("ALL_PROXY");
	cr_assert_eq(pthread_create(&v->thread, NULL, serve, v), 0);
}

static void server__stop(struct server *v)
{
	shutdown(v->fd, SHUT_RDWR);
	pthread_join(v->thread, NULL);
	close(v->fd);
}

static void make_stripped(void)
{
	have_objcopy();
	shell("cd %s && objcopy --only-keep-debug /proc/%d/exe p.debug && objcopy -S /proc/%d/exe bare", dir, getpid(),
	      getpid());
}

static void have_library(struct debuginfod **d)
{
	_cleanup_err_ struct err e = {};

	if (debuginfod__new(NULL, d, &e)) {
		cr_assert(strstr(err_msg(&e), "libdebuginfod.so.1 cannot be loaded"), "%s", err_msg(&e));
		cr_skip_test("skipped: no libdebuginfod");
	}
}

Test(sym_sources, debuginfod_is_not_asked_unasked)
{
	struct server v = { .file = in_dir("p.debug") };
	struct debuginfod *d = NULL;
	struct object *obj;
	struct sym *s;

	make_stripped();
	server__start(&v);
	obj = open_object(in_dir("bare"));
	s = sym__new(&(struct sym_opts){ .debug_dir = "/nonexistent" });
	expect_caller(s, obj, false, "nobody was asked");
	sym__free(s);
	cr_expect_eq(v.n_requests, 0, "asked unasked: %s", v.request);
	have_library(&d);
	cr_expect_eq(v.n_requests, 0, "asked before a file was missing");
	debuginfod__free(d);
	server__stop(&v);
	object__put(obj);
}

Test(sym_sources, debuginfod_is_asked_by_build_id)
{
	struct server v = { .file = in_dir("p.debug") };
	struct debuginfod *d = NULL;
	const struct line *l;
	struct object *obj;
	char want[256];
	struct sym *s;

	make_stripped();
	server__start(&v);
	have_library(&d);
	obj = open_object(in_dir("bare"));
	s = sym__new(&(struct sym_opts){ .debug_dir = "/nonexistent", .debuginfod = d });
	expect_caller(s, obj, true, "from the server");
	sym__resolve(s, obj, caller_vaddr, &l);
	cr_expect(l[0].file && strstr(l[0].file, "test_sym_sources.c"), "%s", l[0].file);
	snprintf(want, sizeof(want), "GET /buildid/%s/debuginfo HTTP/1.1", obj->build_id);
	cr_expect_str_eq(v.request, want);
	cr_expect_eq(v.n_requests, 1);
	sym__free(s);
	debuginfod__free(d);
	server__stop(&v);
	object__put(obj);
}

Test(sym_sources, debuginfod_sends_another_file)
{
	struct server v = { .file = in_dir("other") };
	struct debuginfod *d = NULL;
	struct object *obj;
	struct sym *s;

	make_stripped();
	shell("cd %s && objcopy --remove-section .note.gnu.build-id p.debug other", dir);
	server__start(&v);
	have_library(&d);
	obj = open_object(in_dir("bare"));
	s = sym__new(&(struct sym_opts){ .debug_dir = "/nonexistent", .debuginfod = d });
	expect_caller(s, obj, false, "a file without the build id was taken");
	cr_expect_eq(v.n_requests, 1);
	sym__free(s);
	debuginfod__free(d);
	server__stop(&v);
	object__put(obj);
}

static void note_done(const char *path, int err, void *arg)
{
	*(int *)arg = err;
}

Test(sym_sources, debuginfod_that_is_not_there)
{
	struct debuginfod_calls calls = { .done = note_done };
	_cleanup_err_ struct err e = {};
	struct debuginfod *d = NULL;
	int done = 0;

	unsetenv("DEBUGINFOD_URLS");
	cr_expect_eq(debuginfod__new(NULL, &d, &e), -ENOENT);
	cr_expect(strstr(err_msg(&e), "DEBUGINFOD_URLS"), "%s", err_msg(&e));
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
	setenv("DEBUGINFOD_CACHE_PATH", in_dir("cache"), 1);
	have_library(&d);
	debuginfod__free(d);
	calls.arg = &done;
	cr_assert_eq(debuginfod__new(&calls, &d, NULL), 0);
	cr_expect_lt(debuginfod__get(d, "00112233445566778899aabbccddeeff00112233", "/x"), 0);
	cr_expect_lt(done, 0);
	cr_expect_neq(done, -ENOENT, "not reached is not the same as not found");
	done = 1;
	cr_expect_eq(debuginfod__get(d, "10112233445566778899aabbccddeeff00112233", "/y"), -ENOENT);
	cr_expect_eq(done, 1, "nobody was asked again");
	debuginfod__free(d);
}

/* A file that is too large is not downloaded, and the server is asked for others. */
Test(sym_sources, debuginfod_sends_too_much)
{
	struct server v = { .file = in_dir("small"), .claims = 3ull << 29 };
	struct debuginfod_calls calls = { .done = note_done };
	struct debuginfod *d = NULL;
	int done = 0;

	shell("cd %s && echo small > small", dir);
	server__start(&v);
	have_library(&d);
	debuginfod__free(d);
	calls.arg = &done;
	cr_assert_eq(debuginfod__new(&calls, &d, NULL), 0);
	cr_expect_eq(debuginfod__get(d, "00112233445566778899aabbccddeeff00112233", "/x"), -EFBIG);
	cr_expect_eq(done, -EFBIG);
	cr_expect_lt(debuginfod__get(d, "10112233445566778899aabbccddeeff00112233", "/y"), 0);
	cr_expect_eq(strncmp(v.request, "GET /buildid/1011", 17), 0, "%s", v.request);
	debuginfod__free(d);
	server__stop(&v);
}

/* Unpacked it is too large, whatever arrives: nothing is taken of it, and the server is asked for others. */
static void want_bounded(struct server *v)
{
	struct debuginfod_calls calls = { .done = note_done, .most_bytes = 4 << 20 };
	struct debuginfod *d = NULL;
	int done = 0;

	signal(SIGXFSZ, SIG_IGN);	/* as malloctrace does */
	shell("cd %s && head -c 8M /dev/zero >zeros && gzip -k zeros && head -c 1M /dev/zero >small", dir);
	v->file = in_dir(v->encoding ? "zeros.gz" : "zeros");
	server__start(v);
	have_library(&d);
	debuginfod__free(d);
	calls.arg = &done;
	cr_assert_eq(debuginfod__new(&calls, &d, NULL), 0);
	cr_expect_eq(debuginfod__get(d, "00112233445566778899aabbccddeeff00112233", "/x"), -EFBIG);
	cr_expect_eq(done, -EFBIG);
	shell("cd %s && test -z \"$(find cache -size +4096k)\"", dir);
	v->file = in_dir("small");
	v->encoding = NULL;
	cr_expect_geq(debuginfod__get(d, "10112233445566778899aabbccddeeff00112233", "/y"), 0);
	cr_expect_eq(done, 0);
	debuginfod__free(d);
	server__stop(v);
}

static char gzipped[] = "Content-Encoding: gzip\r\n";

Test(sym_sources, debuginfod_sends_a_bomb) { want_bounded(&(struct server){ .encoding = gzipped }); }
Test(sym_sources, debuginfod_sends_chunks) { want_bounded(&(struct server){ .chunked = true }); }
Test(sym_sources, debuginfod_sends_a_bomb_in_chunks)
{
	want_bounded(&(struct server){ .encoding = gzipped, .chunked = true });
}

/* ---- while a file is written */

#define LOOKUP_NS (SECOND_NS / 2)	/* far more than one takes to begin */

static struct {
	struct names *names;
	struct snapshot *s;
	struct server *server;
	rlim_t most;		/* a file may have, when this one was written */
} written;

static bool is_asked_within(struct server *v, uint64_t ns)
{
	uint64_t until_ns = now_ns() + ns;

	while (!__atomic_load_n(&v->n_requests, __ATOMIC_RELAXED) && now_ns() < until_ns)
		sched_yield();
	return v->n_requests;
}

/* A screen that is up wants a name meanwhile. */
static int write_slowly(FILE *out, const struct snapshot *s, const struct export_opts *o,
			struct err *e)
{
	const uint32_t place = 0;
	struct rlimit limit;

	names__want(written.names, written.s, &place, 1);
	cr_expect_not(is_asked_within(written.server, LOOKUP_NS), "%s", written.server->request);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	written.most = limit.rlim_cur;
	return 0;
}

/* All files are bounded while one is downloaded: nothing is, until ours is written. */
Test(sym_sources, debuginfod_is_not_asked_while_a_file_is_written)
{
	static const struct export_format format = { .name = "slow", .write = write_slowly };
	static const struct opts opts;
	struct snap_module module = {};
	struct place place = { .module = 0 };
	struct snapshot s = { .modules = &module, .n_modules = 1, .places = &place, .n_places = 1 };
	struct output o = { .opts = &opts };
	struct debuginfod *d = NULL;
	struct server v = {};
	struct rlimit limit;
	struct object *obj;

	make_stripped();
	server__start(&v);
	have_library(&d);
	obj = open_object(in_dir("bare"));
	module.path = obj->path;
	module.handle = obj;
	place.offset = caller_vaddr;
	o.sym = sym__new(&(struct sym_opts){ .debug_dir = "/nonexistent", .debuginfod = d });
	o.names = names__new(o.sym);
	written.names = o.names;
	written.s = &s;
	written.server = &v;
	cr_assert_eq(output__write_stream(&o, &s, &format, NULL, stdout, NULL), 0);
	cr_expect(is_asked_within(&v, 20 * SECOND_NS), "the name is not looked up");
	names__free(o.names);
	cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_expect_eq(written.most, limit.rlim_cur);
	sym__free(o.sym);
	debuginfod__free(d);
	server__stop(&v);
	object__put(obj);
}

/* ---- JIT */

static struct object *make_list(const char *text)
{
	int fd = open(in_dir("list"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct object *obj = NULL;

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	obj = jitmap__over(fd, "/tmp/perf-1\x1b.map");
	jitmap__refresh(obj);
	return obj;
}

static void append(const char *text)
{
	int fd = open(in_dir("list"), O_WRONLY | O_APPEND | O_CLOEXEC);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

#define expect_jit(obj, addr, name) cr_expect_str_eq(jitmap__find((obj)->jit, (addr)) ?: "(none)", (name))

Test(sym_sources, jit_list)
{
	struct object *obj = make_list("1000 100 LazyCompile:~f /a b.js:1\n0x2000 0x10 g\r\n zz 1 x\n3000 h\n4000 0 empty\n"
				       "fffffffffffffff0 100 wraps\n10000000000000000 1 big\n5000 10 a\033[31mred\n"
				       "\n6000 10 \n7000 10 unfin");

	cr_expect_str_eq(obj->path, "/tmp/perf-1?.map");
	expect_jit(obj, 0xfff, "(none)");
	expect_jit(obj, 0x1000, "LazyCompile:~f /a b.js:1");
	expect_jit(obj, 0x10ff, "LazyCompile:~f /a b.js:1");
	expect_jit(obj, 0x1100, "(none)");
	expect_jit(obj, 0x2008, "g");
	expect_jit(obj, 0x3000, "(none)");
	expect_jit(obj, 0x4000, "(none)");
	expect_jit(obj, 0xfffffffffffffff8, "(none)");
	expect_jit(obj, 0x5001, "a?[31mred");
	expect_jit(obj, 0x7001, "(none)");

	append("ished\n1000 80 newer\n");
	expect_jit(obj, 0x7001, "(none)");
	jitmap__refresh(obj);
	expect_jit(obj, 0x7001, "unfinished");
	expect_jit(obj, 0x1001, "newer");

	cr_assert_eq(truncate(in_dir("list"), 0), 0);
	append("9000 10 anew\n");
	jitmap__refresh(obj);
	expect_jit(obj, 0x9001, "anew");
	expect_jit(obj, 0x2008, "(none)");
	object__put(obj);
}

Test(sym_sources, jit_names_are_cleaned_and_demangled)
{
	struct object *obj = make_list("1000 100 _ZN3foo3barEv\n");
	struct sym *s = sym__new(NULL);
	const struct line *l;

	cr_assert_eq(sym__resolve(s, obj, 0x1100, &l), 1);
	cr_expect_str_eq(l->function, "foo::bar()", "the call before the return address");
	cr_expect_eq(sym__resolve(s, obj, 0x1000, &l), 1);
	cr_expect_null(l->function);
	sym__free(s);
	object__put(obj);
}

static char own_list[64];

static void name_own_list(void)
{
	snprintf(own_list, sizeof(own_list), "/tmp/perf-%d.map", getpid());
	unlink(own_list);
}

Test(sym_sources, jit_of_a_process)
{
	struct space space = {};
	char text[128];
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t at = (uint64_t)code + 0x40;
	size_t n_new;
	FILE *f;

	name_own_list();
	cr_assert_eq(space__refresh(&space, objects, getpid(), &n_new, NULL), 0);
	space__refresh_jit(&space, getpid());
	cr_expect_null(space.jit);
	f = fopen(own_list, "w");
	snprintf(text, sizeof(text), "%llx 40 jitted\n%llx 40 liar\n", (unsigned long long)(uintptr_t)code,
		 (unsigned long long)(uintptr_t)&sym_sources_caller);
	fputs(text, f);
	fclose(f);
	space__refresh_jit(&space, getpid());
	unlink(own_list);
	cr_assert_not_null(space.jit);
	cr_expect_str_eq(space.jit->path, own_list);
	cr_expect_eq(space__find_jit(&space, space__find(&space, at - 1), at - 1), space.jit);
	cr_expect_null(space__find_jit(&space, space__find(&space, at), at), "behind the function");
	at = (uint64_t)&sym_sources_caller;
	cr_expect_null(space__find_jit(&space, space__find(&space, at), at), "a file's code has the file's names");
	space__done(&space);
	munmap(code, 4096);
}

Test(sym_sources, jit_list_of_others)
{
	struct object *obj = NULL;
	int fd;

	name_own_list();
	cr_expect_eq(jitmap__open(getpid(), &obj), -ENOENT);
	cr_assert_eq(symlink("/etc/passwd", own_list), 0);
	cr_expect_eq(jitmap__open(getpid(), &obj), -ELOOP);
	unlink(own_list);
	cr_assert_eq(mkfifo(own_list, 0600), 0);
	cr_expect_eq(jitmap__open(getpid(), &obj), -EPERM);
	unlink(own_list);
	fd = open(own_list, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	close(fd);
	cr_assert_eq(link(own_list, in_dir("second")), 0);
	cr_expect_eq(jitmap__open(getpid(), &obj), -EPERM, "two names");
	unlink(in_dir("second"));
	if (geteuid() == 0) {
		cr_assert_eq(chown(own_list, 65534, 65534), 0);
		cr_expect_eq(jitmap__open(getpid(), &obj), -EPERM, "another user's");
		cr_assert_eq(chown(own_list, 0, 0), 0);
	}
	cr_expect_eq(jitmap__open(getpid(), &obj), 0);
	object__put(obj);
	unlink(own_list);
}

/* ---- the vdso */

struct vdso_count {
	struct sym *s;
	struct object *obj;
	int n;
};

static int expect_vdso_name(const struct object_symbol *symbol, void *arg)
{
	struct vdso_count *c = arg;
	const struct line *l;

	cr_expect_eq(sym__resolve(c->s, c->obj, symbol->value + 4, &l), 1);
	cr_expect_not_null(l->function, "%s", symbol->name);
	/* x86_64 has weak names without underscores beside them */
	if (l->function)
		cr_expect(strstr(symbol->name, l->function), "%s is not %s", l->function, symbol->name);
	c->n++;
	return 0;
}

Test(sym_sources, vdso)
{
	uint64_t at = getauxval(AT_SYSINFO_EHDR);
	struct vdso_count c = { .s = sym__new(NULL) };
	struct space space = {}, again = {};
	const struct space_range *r;
	size_t n_new, n_before;

	if (!at)
		cr_skip_test("skipped: this kernel gives no vdso");
	cr_assert_eq(space__refresh(&space, objects, getpid(), &n_new, NULL), 0);
	r = space__find(&space, at + 64);
	cr_assert(r && r->object);
	cr_expect_str_eq(r->object->path, "[vdso]");
	cr_expect(r->object->is_elf && r->object->n_segments);
	c.obj = r->object;
	object__for_each_function(r->object, expect_vdso_name, &c);
	cr_expect_geq(c.n, 2);
	n_before = space.n;
	cr_assert_eq(space__refresh(&space, objects, getpid(), &n_new, NULL), 0);
	/* somebody may begin to trace the whole machine meanwhile: the kernel then gives this process a page of code of its own */
	for (size_t i = n_before; i < space.n; i++)
		cr_expect_str_eq(space.v[i].label ?: "a file", "[uprobes]", "known by now");
	cr_assert_eq(space__refresh(&again, objects, getpid(), &n_new, NULL), 0);
	cr_expect_eq(space__find(&again, at + 64)->object, c.obj, "equal images are one object");
	sym__free(c.s);
	space__done(&space);
	space__done(&again);
}

/* ---- files that change or go */

static void count(const char *path, void *arg)
{
	(*(int *)arg)++;
}

Test(sym_sources, a_file_that_was_overwritten)
{
	int told = 0;
	struct sym *s = sym__new(&(struct sym_opts){ .on_changed = count, .arg = &told });
	struct object *obj, *now;
	const struct line *l;

	shell("cp /proc/%d/exe %s", getpid(), in_dir("p"));
	obj = open_object(in_dir("p"));
	cr_assert_not_null(obj->build_id);
	expect_caller(s, obj, true, "as it was");
	shell("touch -d '2001-01-01' %s", in_dir("p"));
	sym__resolve(s, obj, caller_vaddr + 1, &l);
	cr_expect_not_null(l->function, "only touched: the build id is the same");
	shell("cat /bin/sh >%s", in_dir("p"));
	expect_caller(s, obj, true, "what was found before stays");
	cr_expect_eq(told, 0);
	for (int i = 2; i < 4; i++) {
		cr_expect_eq(sym__resolve(s, obj, caller_vaddr + i, &l), 1);
		cr_expect_null(l->function, "from another file now: %s", l->function);
	}
	cr_expect_eq(told, 1);
	now = open_object(in_dir("p"));
	cr_expect_neq(now, obj, "for who opens it now it is another file");
	cr_expect_str_neq(now->build_id ?: "", obj->build_id);
	sym__free(s);
	object__put(obj);
	object__put(now);
}

/* A process may write any build id into its copy of a page: the file stays what others map. */
Test(sym_sources, own_build_id_in_memory)
{
	struct space space = {}, same = {};
	const struct space_range *r;
	struct object *obj;
	char *at;
	size_t len, n_new;
	int fd;

	shell("cp /proc/%d/exe %s", getpid(), in_dir("p"));
	obj = open_object(in_dir("p"));
	fd = open(in_dir("p"), O_RDONLY | O_CLOEXEC);
	len = (obj->build_id_off + 64 + 65535) & ~65535ull;
	at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	cr_assert_neq(at, MAP_FAILED);
	cr_assert_eq(mprotect(at, len, PROT_READ | PROT_EXEC), 0);
	cr_assert_eq(space__refresh(&same, objects, getpid(), &n_new, NULL), 0);
	r = space__find(&same, (uint64_t)at);
	cr_assert(r && r->object == obj);
	cr_expect_not(obj->changed);

	cr_assert_eq(mprotect(at, len, PROT_READ | PROT_WRITE), 0);
	at[obj->build_id_off] ^= 1;
	cr_assert_eq(mprotect(at, len, PROT_READ | PROT_EXEC), 0);
	cr_assert_eq(space__refresh(&space, objects, getpid(), &n_new, NULL), 0);
	r = space__find(&space, (uint64_t)at);
	cr_expect(r && r->object == obj);
	cr_expect_not(obj->changed);
	cr_expect_eq(readers__n_unread(), 0);
	munmap(at, len);
	close(fd);
	object__put(obj);
	space__done(&space);
	space__done(&same);
}

/* A process maps the file of an overlay's lower layer; the upper one has another version by now. */
Test(sym_sources, another_build_id_in_memory)
{
	char *at, *path = NULL, options[256];
	const struct space_range *r;
	struct space space = {};
	struct object *obj;
	unsigned char id;
	size_t len, n_new;
	struct maps maps;
	int fd, upper;

	if (geteuid() || unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, NULL))
		cr_skip_test("skipped: only root mounts");
	shell("cd %s && mkdir lower upper work above && cp /proc/%d/exe lower/p", dir, getpid());
	snprintf(options, sizeof(options), "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", dir,
		 dir, dir);
	if (mount("overlay", in_dir("above"), "overlay", 0, options))
		cr_skip_test("skipped: no overlay can be mounted here");
	cr_assert_gt(asprintf(&path, "%s/above/p", dir), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	obj = open_object(in_dir("lower/p"));
	len = (obj->build_id_off + 64 + 65535) & ~65535ull;
	at = mmap(NULL, len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	cr_assert_neq(at, MAP_FAILED);
	id = at[obj->build_id_off] ^ 1;
	object__put(obj);
	upper = open(path, O_RDWR | O_CLOEXEC);
	cr_assert_eq(pwrite(upper, &id, 1, (off_t)obj->build_id_off), 1);
	obj = open_object(path);
	cr_assert_eq(maps__read(getpid(), &maps, NULL), 0);
	cr_assert_eq(space__refresh(&space, objects, getpid(), &n_new, NULL), 0);
	r = space__find(&space, (uint64_t)at);
	cr_assert_not_null(r);
	cr_expect_null(r->object);
	cr_expect_str_eq(r->label, path);
	cr_expect_not(obj->changed, "it is what others map from now on");
	/* before 6.8 its numbers show that already */
	cr_expect_eq(readers__n_unread(),
		     mapping__is_file(maps__find(&maps, (uintptr_t)at), upper));
	maps__done(&maps);
	object__put(obj);
	space__done(&space);
	munmap(at, len);
	close(upper);
	close(fd);
	cr_expect(!umount2(in_dir("above"), MNT_DETACH) && !umount2(dir, MNT_DETACH));
	free(path);
}

Test(sym_sources, names_outlive_process_and_file)
{
	struct sym *s = sym__new(NULL);
	const struct space_range *r = NULL;
	struct space space = {};
	int ready[2], status;
	size_t n_new;
	pid_t pid;
	char c;

	shell("cp /proc/%d/exe %s", getpid(), in_dir("p"));
	cr_assert_eq(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		int fd = open(in_dir("p"), O_RDONLY | O_CLOEXEC);
		void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		unlink(in_dir("p"));
		if (at == MAP_FAILED || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	cr_assert_eq(read(ready[0], &c, 1), 1);
	cr_assert_eq(space__refresh(&space, objects, pid, &n_new, NULL), 0);
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	for (size_t i = 0; i < space.n; i++)
		if (space.v[i].object && !strcmp(space.v[i].object->path, in_dir("p")))
			r = &space.v[i];
	if (!r && geteuid())
		cr_skip_test("skipped: a deleted file is reached by root only");
	cr_assert_not_null(r);
	cr_expect_eq(access(in_dir("p"), F_OK), -1);
	expect_caller(s, r->object, true, "of a process that is gone, in a file that is gone");
	sym__free(s);
	space__done(&space);
	close(ready[0]);
	close(ready[1]);
}
