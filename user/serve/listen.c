// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What always holds: an address that is no loopback one is not listened at without a token, or an authority for clients; a socket
 * is made, and removed, in no directory that a link of another user leads to.
 */
#include "serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "util/invoker.h"
#include "util/parse.h"
#include "util/util.h"

#define UNIX_PREFIX "unix:"
#define TOKEN_MIN 16
#define BACKLOG 64

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un un;
};

static bool is_unix(const char *text)
{
	return !strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX));
}

static int bad(const char *text, struct err *e)
{
	return err_set(e, -EINVAL, "--listen %s: want ADDRESS:PORT, such as 127.0.0.1:9464 or [::1]:9464, or unix:/PATH", text);
}

/* "127.0.0.1:9464", "[::1]:9464", "localhost:9464" */
static int parse(const char *text, union address *ret, socklen_t *ret_len, struct err *e)
{
	const char *colon = strrchr(text, ':');
	char host[64];
	uint64_t port;
	size_t len;

	*ret = (union address){};
	if (!colon || (size_t)(colon - text) >= sizeof(host) || parse_u64(colon + 1, 1, 65535, &port))
		return bad(text, e);
	len = (size_t)(colon - text);
	if (len > 2 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	memcpy(host, text, len);
	host[len] = '\0';
	if (!strcmp(host, "localhost"))
		strcpy(host, "127.0.0.1");
	if (inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((uint16_t)port);
		*ret_len = sizeof(ret->v4);
		return 0;
	}
	if (inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1) {
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_port = htons((uint16_t)port);
		*ret_len = sizeof(ret->v6);
		return 0;
	}
	return bad(host, e);
}

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
	return a->any.sa_family == AF_UNIX || IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

/* Descriptor of the directory that the socket is to be in; the caller's. */
static int open_dir(const struct sockaddr_un *a, const char **ret_name, struct err *e)
{
	const char *slash = strrchr(a->sun_path, '/');
	_cleanup_free_ char *dir = xstrndup(a->sun_path, MAX(slash - a->sun_path, 1));
	_cleanup_err_ struct err why = {};
	int fd = trusted_dir__open(dir, &why);

	*ret_name = slash + 1;
	if (fd < 0)
		err_set(e, fd, "--listen unix:%s: directory %s: %s", a->sun_path, dir, why.code ? err_msg(&why) : strerror(-fd));
	return fd;
}

/* What was left by one that was killed is nobody's: only a socket is removed, and only if nobody listens there. */
static int clear_path(const struct sockaddr_un *a, int dir_fd, const char *name, struct err *e)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, -EEXIST, "--listen unix:%s: it exists, and is no socket", a->sun_path);
	/* who listens, and takes no connections, is not waited for */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && (!connect(fd, (const struct sockaddr *)a, sizeof(*a)) || errno == EAGAIN))
		return err_set(e, -EADDRINUSE, "--listen unix:%s: another process listens there", a->sun_path);
	unlinkat(dir_fd, name, 0);
	return 0;
}

static int bind_path(int fd, const struct sockaddr_un *a, struct err *e)
{
	struct sockaddr_un held = { .sun_family = AF_UNIX };
	_cleanup_close_ int dir_fd = -1;
	const char *name;
	mode_t mask;
	int err;

	dir_fd = open_dir(a, &name, e);
	err = dir_fd < 0 ? dir_fd : clear_path(a, dir_fd, name, e);
	if (err)
		return err;
	/* that directory, whatever its path names by now */
	if ((size_t)snprintf(held.sun_path, sizeof(held.sun_path), "/proc/self/fd/%d/%s", dir_fd, name) >= sizeof(held.sun_path))
		return err_set(e, -ENAMETOOLONG, "--listen unix:%s: %s", a->sun_path, strerror(ENAMETOOLONG));
	/* a path is its owner's */
	mask = umask(0177);
	err = bind(fd, (const struct sockaddr *)&held, sizeof(held)) ? -errno : 0;
	umask(mask);
	return err ? err_set(e, err, "--listen unix:%s: %s", a->sun_path, strerror(-err)) : 0;
}

static int parse_unix(const char *text, union address *ret, socklen_t *ret_len, struct err *e)
{
	const char *path = text + strlen(UNIX_PREFIX);

	if (*path != '/' || strlen(path) >= sizeof(ret->un.sun_path))
		return bad(text, e);
	*ret = (union address){ .un.sun_family = AF_UNIX };
	strcpy(ret->un.sun_path, path);
	*ret_len = sizeof(ret->un);
	return 0;
}

static int parse_guarded(const struct serve_options *o, union address *ret, socklen_t *ret_len, struct err *e)
{
	int err = is_unix(o->listen) ? parse_unix(o->listen, ret, ret_len, e) : parse(o->listen, ret, ret_len, e);

	if (!err && !is_loopback(ret) && !o->token_file && !o->client_ca)
		return err_set(e, -EINVAL, "--listen %s: others can reach this address, and what is served has names from every process: it needs --token-file FILE, or --tls-client-ca FILE",
			       o->listen);
	return err;
}

int listen__check(const struct serve_options *o, struct err *e)
{
	union address a;
	socklen_t len;

	return parse_guarded(o, &a, &len, e);
}

int listen__open(const struct serve_options *o, struct err *e)
{
	union address a;
	socklen_t len = 0;
	int one = 1, silence_s = 10, tries = 3, fd, err = parse_guarded(o, &a, &len, e);

	if (err)
		return err;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, -errno, "--listen %s: %s", o->listen, strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* what is accepted inherits it: a client whose machine vanished is noticed */
	if (a.any.sa_family != AF_UNIX) {
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
		setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &silence_s, sizeof(silence_s));
		setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &silence_s, sizeof(silence_s));
		setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
	}
	if (a.any.sa_family == AF_UNIX) {
		struct invoker_rights own = invoker__begin();

		err = bind_path(fd, &a.un, e);
		invoker__end(&own);
	} else if (bind(fd, &a.any, len)) {
		err = err_set(e, -errno, "--listen %s: %s", o->listen, strerror(errno));
	}
	if (!err && listen(fd, BACKLOG))
		err = err_set(e, -errno, "--listen %s: %s", o->listen, strerror(errno));
	if (err)
		close(fd);
	return err ? err : fd;
}

static void remove_path(const char *path)
{
	struct invoker_rights own = invoker__begin();
	_cleanup_close_ int dir_fd = -1;
	struct sockaddr_un a = {};
	const char *name;

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	dir_fd = open_dir(&a, &name, NULL);
	if (dir_fd >= 0)
		unlinkat(dir_fd, name, 0);
	invoker__end(&own);
}

void listen__close(const struct serve_options *o)
{
	close(o->listen_fd);
	if (is_unix(o->listen))
		remove_path(o->listen + strlen(UNIX_PREFIX));
}

char *listen__words(const struct serve_options *o)
{
	if (is_unix(o->listen))
		return xstrdup(o->listen);
	return xasprintf("%s://%s/", o->cert ? "https" : "http", o->listen);
}

/* ---- files */

static int read_text(const char *option, const char *path, char **ret, struct err *e)
{
	_cleanup_close_ int fd = path ? invoker__open_named(path) : -1;
	int err = !path ? 0 : fd < 0 ? fd : read_small_fd(fd, ret, NULL);

	if (err)
		return err_set(e, err, "%s %s: %s", option, path, strerror(-err));
	/* no text means that none was given: nothing would be asked of strangers */
	if (path && (!**ret || strlen(*ret) > SERVE_SECRET_MAX))
		return err_set(e, -EINVAL, "%s %s: it is empty, or has more than %u KiB", option, path, SERVE_SECRET_MAX >> 10);
	return 0;
}

/* A static malloctrace is linked without what HTTPS needs: then there is one. */
__attribute__((weak)) extern const bool serve__lacks_tls;

int secrets__read(const struct serve_options *o, struct serve_secrets *ret, struct err *e)
{
	int err = o->cert && &serve__lacks_tls ?
			  err_set(e, -ENOTSUP, "--tls-cert: this malloctrace is a static one, which speaks plain HTTP; take one that is linked with libmicrohttpd, or put a proxy in front of it") : 0;

	err = err ?: read_text("--token-file", o->token_file, &ret->token, e) ?: read_text("--tls-cert", o->cert, &ret->cert, e) ?:
		  read_text("--tls-key", o->key, &ret->key, e) ?: read_text("--tls-client-ca", o->client_ca, &ret->client_ca, e);

	if (err || !ret->token)
		return err;
	ret->token[strcspn(ret->token, "\r\n")] = '\0';
	if (strlen(ret->token) < TOKEN_MIN || strpbrk(ret->token, " \t"))
		return err_set(e, -EINVAL, "--token-file %s: want a word of at least %d characters in its first line", o->token_file, TOKEN_MIN);
	return 0;
}

void secrets__done(struct serve_secrets *s)
{
	char *texts[] = { s->token, s->cert, s->key, s->client_ca };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (texts[i])
			explicit_bzero(texts[i], strlen(texts[i]));
		free(texts[i]);
	}
	*s = (struct serve_secrets){};
}
