// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* malloctrace: parse, run, exit status. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/commands.h"
#include "options/opts.h"
#include "probe/attach.h"
#include "probe/kernel.h"
#include "reader/reader.h"
#include "serve/serve.h"
#include "trace/session.h"
#include "util/err.h"
#include "util/invoker.h"
#include "util/log.h"
#include "util/signals.h"
#include "util/util.h"

#define STACK_MIN (256u << 10)

/*
 * A standard descriptor that is closed would be given to a table or a file of
 * ours, and reports and messages would be written into that. What takes its
 * place can be used no more than a closed one.
 */
static int fill_standard_fds(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
			return -1;
	return 0;
}

static void on_lost(const char *path, const char *why, bool in_figures)
{
	if (path)
		say("%s could not be read: %s; it is shown as addresses%s", path, why, in_figures ? ", and an allocator in it is not seen" : "");
	else
		say("files of targets cannot be read: %s; those that come are shown as addresses, and allocators in them are not seen", why);
}

/* Threads have as much. Where it is too small the kernel would end malloctrace in the midst of its work, without a word. */
static bool stack_is_too_small(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_STACK, &r) || r.rlim_cur >= STACK_MIN)
		return false;
	say_error("a stack may have only %llu KiB (ulimit -s), and %u are needed", (unsigned long long)r.rlim_cur >> 10, STACK_MIN >> 10);
	return true;
}

/* What a reader that left early, as `| head` does, did not read is no error. */
static int end_of_output(struct err *e)
{
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return errno == EPIPE ? 0 : err_set(e, -EIO, "cannot write standard output: %s", strerror(errno ?: EIO));
}

int main(int argc, char **argv)
{
	_cleanup_err_ struct err e = {};
	struct opts o;
	int status = 0, err;

	environment__clean();
	signals__begin();
	if (fill_standard_fds()) {
		say_error("standard input, output or error is closed, and /dev/null cannot take its place");
		return EXIT_FAILED;
	}
	/* files would be written as another user than the one who names them */
	if (getuid() != geteuid()) {
		say_error("malloctrace must not run set-user-ID: use sudo, or capabilities (setcap; docs/SECURITY.md, 'Without root')");
		return EXIT_FAILED;
	}
	if (argc > 0 && !strcmp(argv[0], CHECK_CHILD_NAME))
		return check_child__main(argc, argv);
	if (argc > 0 && !strcmp(argv[0], READER_CHILD_NAME))
		return reader_child__main(reader_questions);
	if (argc > 0 && !strcmp(argv[0], WEB_CHILD_NAME))
		return web_child__main();
	readers__set_apart(on_lost);
	if (array_first(arg, argv, (size_t)argc, !strcmp(*arg, "--")))
		xmalloc__end_with(EXIT_CMD_UNTRACED);
	err = opts__parse(&o, argc, argv, &e);
	if (err) {
		say_error("%s", err_msg(&e));
		opts__done(&o);
		return EXIT_USAGE;
	}
	log_level = o.verbosity;
	if (stack_is_too_small()) {
		opts__done(&o);
		return o.command == CMD_TRACE && o.cmd ? EXIT_CMD_UNTRACED : EXIT_FAILED;
	}
	if (o.serve.on && !serve_command__begin(&o, argc, argv, &status, &err, &e)) {
		if (err)
			say_error("%s", err_msg(&e));
		opts__done(&o);
		return err && !status ? EXIT_FAILED : status;
	}
	if (o.command == CMD_TRACE || o.command == CMD_DOCTOR || o.command == CMD_HEAP)
		readers__prepare();
	xmalloc__end_with(o.command == CMD_TRACE && o.cmd ? EXIT_CMD_UNTRACED : EXIT_FAILED);
	libbpf_words__keep();
	err = o.command == CMD_TRACE || o.command == CMD_DOCTOR || o.command == CMD_HEAP ? targets__find(&o, &e) : 0;
	if (err) {
		say_error("%s", err_msg(&e));
		if (o.command == CMD_DOCTOR)
			printf("no: %s\n", err_msg(&e));
		opts__done(&o);
		return err == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	switch (o.command) {
	case CMD_HELP:
		opts__help(stdout, o.help_of, o.help_all);
		err = end_of_output(&e);
		break;
	case CMD_VERSION:
		puts("malloctrace " VERSION);
		err = end_of_output(&e);
		break;
	case CMD_COMPLETION:
		complete__print(stdout, o.completion);
		err = end_of_output(&e);
		break;
	case CMD_DOCTOR:
		doctor__run(stdout, &o, &status);
		err = end_of_output(&e);
		break;
	case CMD_REPORT:
		err = profiles__report(&o, &status, &e);
		break;
	case CMD_DIFF:
		err = profiles__diff(&o, &status, &e);
		break;
	case CMD_HEAP:
		err = heap_command__run(&o, &status, &e);
		break;
	case CMD_TRACE:
		err = session__run(&o, &status, &e);
		break;
	}
	if (err)
		say_error("%s", e.code ? err_msg(&e) : strerror(-err));
	if (err && !status)
		status = EXIT_FAILED;
	opts__done(&o);
	readers__end();
	return status;
}
