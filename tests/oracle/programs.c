// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Owns the programs, their directories and what loads them. A program first
 * loads its libraries, says so, and waits: the tables are made then. All of
 * them go on until they are ended.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/oracle/programs.h"
#include "util/util.h"

#define READY_MS 30000

static const char python[] =
	"import json, re, sqlite3, zlib, decimal, collections, sys\n"
	"db = sqlite3.connect(':memory:'); db.execute('create table t (a, b)')\n"
	"print('ready', flush=True); sys.stdin.readline()\n"
	"def deep(n, f): return f() if not n else deep(n - 1, f)\n"
	"class C:\n"
	"    def __init__(s, n): s.d = {str(i): 'x' * (600 + i) for i in range(n)}\n"
	"    def __del__(s): [0] * 300\n"
	"i = 0\n"
	"while True:\n"
	"    i += 1\n"
	"    json.loads(json.dumps([{'a': list(range(200)), 'b': 'y' * 900}] * 3))\n"
	"    re.compile('(a|b)+%d' % i).sub('z' * 700, 'ab%d' % i * 50)\n"
	"    db.execute('insert into t values (?, ?)', (i, 'w' * 700)); db.execute('select max(a), b from t group by b').fetchall()\n"
	"    zlib.compress(b'q' * 3000); decimal.Decimal(i) ** 300\n"
	"    deep(i % 60, lambda: sorted([bytes(700 + k) for k in range(20)], key=lambda b: -len(b)))\n"
	"    C(10)\n"
	"    if i % 50 == 0: db.execute('delete from t')\n";

static const char perl[] =
	"use Data::Dumper; use List::Util qw(shuffle); use POSIX; $| = 1; print \"ready\\n\"; <STDIN>;\n"
	"sub deep { my ($n, $f) = @_; return $n ? deep($n - 1, $f) : $f->() }\n"
	"for (my $i = 0;; $i++) {\n"
	"  my %h = map { $_ => 'x' x ($_ * 7) } 1 .. 50; my @s = sort { $h{$a} cmp $h{$b} || $a <=> $b } shuffle keys %h;\n"
	"  my $t = join ',', map { sprintf '%05d', $_ } @s; $t =~ s/(\\d+)/<$1>/ge; my @w = split /,/, $t;\n"
	"  deep($i % 40, sub { Dumper({ a => [@w], b => { %h } }) }); eval \"sub f$i { return \\$_[0] + $i }\"; eval { die { c => [1 .. 30] } };\n"
	"}\n";

static const char bash[] =
	"echo ready; read -r x\n"
	"deep() { if (($1)); then deep $(($1 - 1)) \"$2\"; else local a=(one two \"$2\"); b=\"${a[*]//o/0}\"; fi; }\n"
	"declare -A m; i=0\n"
	"while :; do\n"
	"  i=$((i + 1)); deep $((i % 30)) \"w$i\"; m[k$((i % 100))]=\"v$i${b^^}\"; printf -v c '%s-' \"${!m[@]}\"\n"
	"  case $c in *k5*) [[ $c =~ k([0-9]+)-k([0-9]+) ]] && d=${BASH_REMATCH[1]};; esac; eval \"f$((i % 20)) () { local z=\\\"$i\\\"; }\"; f$((i % 20))\n"
	"  for w in {a,b}{1..5}; do e=\"$w$e\"; e=${e:0:200}; done\n"
	"done\n";

static const char sql[] =
	"select count(*) from (select md5(g::text) m, g from generate_series(1, 2000) g) s group by g % 7 order by 1;\n"
	"create temp table t (a int primary key, b text);\n"
	"insert into t select g, repeat('x', g % 500) from generate_series(1, 1000) g;\n"
	"select a.b || b.b from t a join t b on a.a = b.a + 1 where a.b ~ 'x+y?' order by a.a desc limit 5;\n"
	"do $$ begin for i in 1..20 loop begin execute 'select 1/' || (i % 2); exception when others then null; end; end loop; end $$;\n"
	"select xmlagg(xmlelement(name n, a)) is null, jsonb_agg(b), string_agg(b, ',') from t where a < 50;\n"
	"with recursive r(n) as (select 1 union all select n + 1 from r where n < 300) select sum(n) from r;\n"
	"drop table t;\n";

const struct program programs[] = {
	{ .name = "python3", .argv = { "/usr/bin/python3", "-c", python }, .ready = "ready" },
	{ .name = "perl", .argv = { "/usr/bin/perl", "-e", perl }, .ready = "ready" },
	{ .name = "bash", .argv = { "/bin/bash", "-c", bash }, .ready = "ready" },
	{ .name = "redis-server",
	  .argv = { "/usr/bin/redis-server", "--port", "0", "--unixsocket", "DIR/s", "--save", "", "--dir", "DIR" },
	  .ready = "eady to accept connections",
	  .load = { "/usr/bin/redis-benchmark", "-s", "DIR/s", "-q", "-l", "-n", "20000", "-c", "5", "-r", "5000", "-d", "300" } },
	{ .name = "postgres",
	  .prepare = { "/usr/lib/postgresql/*/bin/initdb", "-D", "DIR/db", "-A", "trust", "-N", "--no-instructions" },
	  .argv = { "/usr/lib/postgresql/*/bin/postgres", "--single", "-D", "DIR/db", "postgres" },
	  .ready = "backend>", .feed = sql, .user = "postgres" },
};
const size_t n_programs = ARRAY_SIZE(programs);

/* The directory of the version that is installed stands for a '*'. */
static void find(const char *path, char *ret, size_t room)
{
	const char *star = strchr(path, '*');

	snprintf(ret, room, "%s", path);
	for (int v = 30; star && v > 8; v--) {
		snprintf(ret, room, "%.*s%d%s", (int)(star - path), path, v, star + 1);
		if (!access(ret, X_OK))
			return;
	}
}

bool program__installed(const struct program *p)
{
	const char *const *all[] = { p->argv, p->load, p->prepare };
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i][0]) {
			find(all[i][0], path, sizeof(path));
			if (access(path, X_OK))
				return false;
		}
	return true;
}

/* A process of ours that dies with us. */
static pid_t launch(const char *const *argv, const struct running *r, const char *user, int in, int out)
{
	struct passwd *pw = user ? getpwnam(user) : NULL;
	static char text[16][256];
	char *args[17] = { 0 };
	pid_t pid;

	for (int i = 0; i < 16 && argv[i]; i++) {
		find(argv[i], text[i], sizeof(text[i]));
		if (!strncmp(argv[i], "DIR", 3))
			snprintf(text[i], sizeof(text[i]), "%s%s", r->dir, argv[i] + 3);
		/* a script is longer than any path */
		args[i] = strlen(argv[i]) >= sizeof(text[i]) ? (char *)argv[i] : text[i];
	}
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(in, 0);
	dup2(out, 1);
	dup2(out, 2);
	if (pw && (chdir(r->dir) || setgid(pw->pw_gid) || setuid(pw->pw_uid)))
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execv(args[0], args);
	_exit(127);
}

static int prepare(const struct program *p, const struct running *r, struct err *e)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int status;
	pid_t pid;

	if (!p->prepare[0])
		return 0;
	pid = launch(p->prepare, r, p->user, null, null);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return err_set(e, -EIO, "%s failed", p->prepare[0]);
	return 0;
}

static int wait_ready(const struct program *p, struct running *r, struct err *e)
{
	struct pollfd f = { .fd = r->out, .events = POLLIN };
	char text[65536];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof(text) - 1 && poll(&f, 1, READY_MS) == 1 && (got = read(r->out, text + n, sizeof(text) - 1 - n)) > 0) {
		n += (size_t)got;
		text[n] = 0;
		if (strstr(text, p->ready))
			return 0;
	}
	text[n] = 0;
	return err_set(e, -EIO, "it does not get ready: %.300s", text);
}

int program__start(const struct program *p, struct running *ret, struct err *e)
{
	struct running r = RUNNING_NONE;
	struct passwd *pw = p->user ? getpwnam(p->user) : NULL;
	int in[2], out[2], err;

	snprintf(r.dir, sizeof(r.dir), "/tmp/unwind-oracle-XXXXXX");
	if ((p->user && !pw) || !mkdtemp(r.dir) || (pw && chown(r.dir, pw->pw_uid, pw->pw_gid)))
		return err_set(e, -EIO, "no directory, or no user %s", p->user ? p->user : "");
	*ret = r;
	err = prepare(p, &r, e);
	if (err)
		return err;
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return err_set(e, -errno, "pipe: %s", strerror(errno));
	ret->pid = launch(p->argv, &r, p->user, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	ret->in = in[1];
	ret->out = out[0];
	return wait_ready(p, ret, e);
}

/* What it writes is nobody's business, but must be taken away; what it reads never ends. */
static void serve(const struct program *p, const struct running *r)
{
	char text[65536];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	fcntl(r->in, F_SETFL, O_NONBLOCK);
	for (size_t at = 0;;) {
		struct pollfd f[2] = { { .fd = r->out, .events = POLLIN }, { .fd = p->feed ? r->in : -1, .events = POLLOUT } };

		if (poll(f, 2, -1) < 0 || (f[0].revents && read(r->out, text, sizeof(text)) <= 0))
			_exit(0);
		if (f[1].revents) {
			ssize_t n = write(r->in, p->feed + at, strlen(p->feed + at));

			at = n > 0 ? at + (size_t)n : at;
			at = p->feed[at] ? at : 0;
		}
	}
}

int program__go(const struct program *p, struct running *r, struct err *e)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	r->feeder = fork();
	if (!r->feeder)
		serve(p, r);
	if (p->load[0])
		r->load = launch(p->load, r, NULL, null, null);
	if (r->feeder < 0 || r->load < 0 || (!p->feed && write(r->in, "\n", 1) != 1))
		return err_set(e, -errno, "cannot set it to work: %s", strerror(errno));
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *f)
{
	return remove(path);
}

void program__end(struct running *r)
{
	pid_t all[] = { r->load, r->feeder, r->pid };

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i] > 0) {
			pid_t got;

			kill(all[i], SIGKILL);
			/* its threads, which we trace, must be waited for before it */
			while ((got = waitpid(-1, NULL, __WALL)) != all[i] && (got > 0 || errno == EINTR))
				;
		}
	if (r->in >= 0)
		close(r->in);
	if (r->out >= 0)
		close(r->out);
	if (r->dir[0])
		nftw(r->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	*r = RUNNING_NONE;
}
