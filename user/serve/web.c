// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns the process that speaks HTTP, from the side of the one that traces: how it is started, and what it is told. */
#include "serve/web.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reader/lockdown.h"
#include "serve/ask.h"
#include "serve/ready.h"
#include "serve/web_parts.h"
#include "util/util.h"

const struct served served[N_SERVED] = {
	[SERVE_HEALTH] = { "/healthz", "text/plain; charset=utf-8", NULL, 0, 0 },
	[SERVE_METRICS] = { "/metrics", "text/plain; version=0.0.4; charset=utf-8", NULL, 0, 0 },
	[SERVE_HEAP] = { "/debug/pprof/heap", "application/octet-stream", "heap", 1, 1 },
	[SERVE_ALLOCS] = { "/debug/pprof/allocs", "application/octet-stream", "allocs", 1, 1 },
	[SERVE_JSON] = { "/profile.json", "application/json", NULL, 1, 0 },
	[SERVE_PAGE] = { "/", "text/html; charset=utf-8", NULL, 1, 0 },
};

/* Secrets pass in memory that no file system has. */
static int write_settings(const struct web_opts *o, struct err *e)
{
	const char *texts[N_WEB_TEXTS] = { [WEB_TOKEN] = o->token, [WEB_CERT] = o->cert, [WEB_KEY] = o->key, [WEB_CLIENT_CA] = o->client_ca };
	int fd = memfd_create("settings", MFD_CLOEXEC);

	for (size_t i = 0; fd >= 0 && i < N_WEB_TEXTS; i++) {
		uint32_t n = texts[i] ? (uint32_t)strlen(texts[i]) : 0;

		if (write(fd, &n, sizeof(n)) != sizeof(n) || (n && write(fd, texts[i], n) != (ssize_t)n)) {
			close(fd);
			fd = -1;
		}
	}
	if (fd < 0 || lseek(fd, 0, SEEK_SET))
		return err_set(e, -errno, "settings of the HTTP process: %s", strerror(errno));
	return fd;
}

int web__start(const struct web_opts *o, struct web *ret, struct err *e)
{
	static char *const argv[] = { WEB_CHILD_NAME, NULL }, *const envp[] = { NULL };
	_cleanup_close_ int exe = open("/proc/self/exe", O_PATH | O_CLOEXEC), settings = write_settings(o, e);
	int pair[2], err;
	pid_t pid;

	if (settings < 0)
		return settings;
	if (exe < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_set(e, -errno, "the HTTP process: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		const int fds[] = { pair[1], o->listen_fd, STDERR_FILENO, settings };

		lockdown__exec(&(struct lockdown_start){ exe, fds, ARRAY_SIZE(fds), argv, envp });
	}
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return err_set(e, -errno, "the HTTP process cannot be started: %s", strerror(errno));
	}
	*ret = (struct web){ pid, pair[0] };
	err = ready__await(pair[0], "the process that speaks HTTP", e);
	if (err)
		web__end(ret);
	return err;
}

void web__end(struct web *w)
{
	if (w->fd >= 0)
		close(w->fd);
	if (w->pid > 0) {
		kill(w->pid, SIGKILL);
		waitpid(w->pid, NULL, 0);
	}
	*w = (struct web){ 0, -1 };
}
