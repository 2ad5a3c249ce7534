// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* What always holds: an address that is no loopback one is not listened at without a token, or an authority for clients. */
#include "serve/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
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

/* What was left by one that was killed is nobody's: only a socket is removed, and only if nobody listens there. */
static int clear_path(const struct sockaddr_un *a, struct err *e)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (lstat(a->sun_path, &st))
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, -EEXIST, "--listen unix:%s: it exists, and is no socket", a->sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && !connect(fd, (const struct sockaddr *)a, sizeof(*a)))
		return err_set(e, -EADDRINUSE, "--listen unix:%s: another process listens there", a->sun_path);
	unlink(a->sun_path);
	return 0;
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

static int parse_guarded(const struct opt_serve *o, union address *ret, socklen_t *ret_len, struct err *e)
{
	int err = is_unix(o->listen) ? parse_unix(o->listen, ret, ret_len, e) : parse(o->listen, ret, ret_len, e);

	if (!err && !is_loopback(ret) && !o->token_file && !o->client_ca)
		return err_set(e, -EINVAL, "--listen %s: others can reach this address, and what is served has names from every process: it needs --token-file FILE, or --tls-client-ca FILE",
			       o->listen);
	return err;
}

int listen__check(const struct opt_serve *o, struct err *e)
{
	union address a;
	socklen_t len;

	return parse_guarded(o, &a, &len, e);
}

int listen__open(const struct opt_serve *o, struct err *e)
{
	union address a;
	socklen_t len = 0;
	int one = 1, fd, err = parse_guarded(o, &a, &len, e);
	mode_t mask;

	if (!err && is_unix(o->listen))
		err = clear_path(&a.un, e);
	if (err)
		return err;
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, -errno, "--listen %s: %s", o->listen, strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* a path is its owner's */
	mask = umask(0177);
	err = bind(fd, &a.any, len) || listen(fd, BACKLOG) ? -errno : 0;
	umask(mask);
	if (err) {
		close(fd);
		return err_set(e, err, "--listen %s: %s", o->listen, strerror(-err));
	}
	return fd;
}

void listen__close(const struct opt_serve *o)
{
	close(o->listen_fd);
	if (is_unix(o->listen))
		unlink(o->listen + strlen(UNIX_PREFIX));
}

char *listen__words(const struct opt_serve *o)
{
	char *text = NULL;

	if (is_unix(o->listen))
		return strdup(o->listen);
	return asprintf(&text, "%s://%s/", o->cert ? "https" : "http", o->listen) < 0 ? NULL : text;
}

/* ---- files */

static int read_text(const char *option, const char *path, char **ret, struct err *e)
{
	_cleanup_close_ int fd = path ? invoker__open_named(path, O_RDONLY | O_NOCTTY | O_CLOEXEC, 0) : -1;
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

int secrets__read(const struct opt_serve *o, struct serve_secrets *ret, struct err *e)
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
