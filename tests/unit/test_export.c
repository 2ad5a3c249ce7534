// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Exports: golden files, JSON's syntax under hostile strings, the table of formats, files on disk. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <zlib.h>

#include "files/export_parts.h"
#include "files/export.h"
#include "files/json/json_writer.h"
#include "files/outfile.h"
#include "golden.h"
#include "model/group.h"
#include "sample_snapshot.h"
#include "util/util.h"
#include "written.h"

static char *written(const char *format, unsigned int flags, const char *metric, size_t *ret_len)
{
	struct snapshot *s = sample__new(flags);
	char *text = written__as(s, format, &(struct export_opts){ .metric = metric__find(metric) }, ret_len);

	snapshot__free(s);
	return text;
}

static void check(const char *name, const char *format, unsigned int flags, const char *metric)
{
	_cleanup_free_ char *text = NULL;
	size_t len;

	text = written(format, flags, metric, &len);
	golden__check(name, text, len);
}

Test(export, looks)
{
	check("sample.json", "json", 0, NULL);
	check("sample-many.json", "json", SAMPLE_MANY, NULL);
	check("sample-heap.json", "json", SAMPLE_HEAP, NULL);
	check("sample-many.folded", "folded", SAMPLE_MANY, NULL);
	check("sample-partial-losses.json", "json", SAMPLE_SINGLE | SAMPLE_PARTIAL | SAMPLE_LOSSES | SAMPLE_OLDER, NULL);
	check("sample-empty.json", "json", SAMPLE_EMPTY, NULL);
	check("sample-count.json", "json", SAMPLE_SINGLE | SAMPLE_COUNT, NULL);
	check("sample-estimated.json", "json", SAMPLE_SINGLE | SAMPLE_ESTIMATED, NULL);
	check("sample-count.folded", "folded", SAMPLE_SINGLE | SAMPLE_COUNT, NULL);
	check("sample-growth.json", "json", SAMPLE_SINGLE | SAMPLE_GROWTH, NULL);
	check("sample-growth.folded", "folded", SAMPLE_GROWTH, NULL);
	check("sample.folded", "folded", 0, NULL);
	check("sample-single-alloc-calls.folded", "folded", SAMPLE_SINGLE, "alloc-calls");
	check("sample-unnamed.folded", "folded", SAMPLE_SINGLE | SAMPLE_UNNAMED, NULL);
	check("sample.speedscope.json", "speedscope", SAMPLE_LOSSES, NULL);
	check("sample.dhat.json", "dhat", SAMPLE_HEAP, NULL);
	check("sample-growth.speedscope.json", "speedscope", SAMPLE_SINGLE | SAMPLE_GROWTH, NULL);
	check("sample.massif", "massif", 0, NULL);
	check("sample-single-losses.massif", "massif", SAMPLE_SINGLE | SAMPLE_LOSSES, NULL);
	check("sample.callgrind", "callgrind", 0, NULL);
	check("sample-count.callgrind", "callgrind", SAMPLE_SINGLE | SAMPLE_COUNT, "alloc-calls");
	check("sample.dot", "dot", SAMPLE_LOSSES, NULL);
	check("sample-unnamed.dot", "dot", SAMPLE_SINGLE | SAMPLE_UNNAMED, "alloc-calls");
}

/* What zlib makes of it depends on zlib. The caller's. */
static unsigned char *inflated(const struct snapshot *s, size_t *ret_len)
{
	_cleanup_free_ unsigned char *text = NULL;
	unsigned char *plain = malloc(1 << 20);
	z_stream z = {};
	size_t len;

	text = (unsigned char *)written__as(s, "pprof", NULL, &len);
	cr_assert_eq(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
	z.next_in = text;
	z.avail_in = (unsigned int)len;
	z.next_out = plain;
	z.avail_out = 1 << 20;
	cr_assert_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_len = z.total_out;
	inflateEnd(&z);
	return plain;
}

static void check_pprof(const char *name, unsigned int flags)
{
	struct snapshot *s = sample__new(flags);
	_cleanup_free_ unsigned char *plain = NULL;
	size_t len;

	plain = inflated(s, &len);
	golden__check(name, (char *)plain, len);
	snapshot__free(s);
}

Test(export, pprof_looks)
{
	check_pprof("sample.pb", SAMPLE_LOSSES);
	check_pprof("sample-growth.pb", SAMPLE_SINGLE | SAMPLE_GROWTH);
	check_pprof("sample-count-unnamed.pb", SAMPLE_SINGLE | SAMPLE_COUNT | SAMPLE_UNNAMED);
}

/* The first byte of the first mapping, which is its number: 127 at most. */
static unsigned int first_mapping(const unsigned char *v, size_t n)
{
	size_t at = 0, len;

	while (at + 4 < n) {
		unsigned int tag = v[at++], shift = 0;

		for (len = 0; v[at] & 0x80; shift += 7)
			len |= (size_t)(v[at++] & 0x7f) << shift;
		len |= (size_t)v[at++] << shift;
		if (tag == (3 << 3 | 2))
			return v[at] == 1 << 3 ? v[at + 1] : 0;
		at += (tag & 7) == 2 ? len : 0;
	}
	return 0;
}

/* Readers call a profile by its first mapping. */
Test(export, pprof_program_first)
{
	for (size_t i = 0; i < 3; i++) {
		struct snapshot *s = sample__new(SAMPLE_SINGLE);
		_cleanup_free_ unsigned char *plain = NULL;
		size_t len;

		((struct snap_process *)s->processes)[0].exe = s->modules[i].path;
		plain = inflated(s, &len);
		cr_expect_eq(first_mapping(plain, len), i + 1, "%u", first_mapping(plain, len));
		snapshot__free(s);
	}
}

/* What only passes calls on to the allocator is dropped; what also stands above others is not. */
Test(export, pprof_drops_allocators)
{
	struct snapshot *s = sample__new(0);
	_cleanup_free_ char *with = drop_frames__regex(s), *without = NULL;
	bool found = false;

	cr_expect_str_eq(with, "(?:std::vector::_M_realloc_insert)(?: const)?");
	/* one stack has an operator new that calls others */
	for (size_t i = 0; i < s->n_sites; i++)
		for (uint32_t k = 1; k < s->sites[i].n_stack; k++) {
			struct frame f = place__frame(s, &s->places[s->sites[i].stack[k]], 0);

			if (!f.line || strcmp(f.line->function, "operator new(unsigned long)"))
				continue;
			((struct snap_site *)s->sites)[i].n_stack = k;
			found = true;
		}
	cr_assert(found);
	without = drop_frames__regex(s);
	cr_expect_str_eq(without, "(?:operator new|std::vector::_M_realloc_insert)(?: const)?");
	snapshot__free(s);
}

/* Of the C++ library's operators, those that pprof reads as it is done here. */
Test(export, pprof_drops_operators)
{
	static const struct {
		const char *function, *regex;
	} cases[] = {
		{ "std::map<int, int>::operator[](int const&)", "(?:std::map::operator\\[\\])(?: const)?" },
		{ "std::string::operator+=(char const*)", "(?:std::string::operator\\+=)(?: const)?" },
		{ "std::function<int (int)>::operator()(int) const", "" },
		{ "std::ostream& std::operator<< <char>(std::ostream&, char)", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot *s = sample__new(0);
		_cleanup_free_ char *regex = NULL;
		struct line renamed;

		for (size_t k = 0; k < s->n_places; k++) {
			struct frame f = place__frame(s, &s->places[k], 0);

			if (!f.line || !f.line->function || !strstr(f.line->function, "_M_realloc_insert"))
				continue;
			renamed = *f.line;
			renamed.function = cases[i].function;
			((struct place *)s->places)[k].lines = &renamed;
			((struct place *)s->places)[k].n_lines = 1;
		}
		regex = drop_frames__regex(s);
		cr_expect_str_eq(regex, cases[i].regex, "%s: got %s", cases[i].function, regex);
		snapshot__free(s);
	}
}

Test(export, empty_ones_are_whole)
{
	static const char *const names[] = { "folded", "json", "text", "pprof", "speedscope", "dhat", "massif", "callgrind", "dot", "html" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *text = NULL;
		size_t len;

		text = written(names[i], SAMPLE_EMPTY, NULL, &len);
		cr_assert(len > 0 || i == 0, "%s", names[i]);
	}
}

Test(export, what_was_not_recorded_is_refused)
{
	struct snapshot *s = sample__new(SAMPLE_COUNT);
	_cleanup_err_ struct err e = {};

	cr_assert_eq(massif__write(stdout, s, &(struct export_opts){}, &e), -EINVAL);
	cr_assert(export__find_by_name("massif")->needs & ~s->known);
	snapshot__free(s);
}

static void check_by(const char *name, const char *format, const char *by)
{
	struct snapshot *s = sample__new(SAMPLE_MANY), *g;
	_cleanup_free_ char *text = NULL;
	size_t len;

	s->sites[0].tid = 1435;
	s->sites[1].tid = 77;
	g = snapshot__group(s, grouping__find(by));
	text = written__as(g, format, NULL, &len);
	golden__check(name, text, len);
	snapshot__free(g);
	snapshot__free(s);
}

Test(export, looks_of_a_machine)
{
	struct snapshot *s = sample__machine();
	_cleanup_free_ char *text = NULL;
	size_t len;

	text = written__as(s, "json", NULL, &len);
	golden__check("sample-machine.json", text, len);
	snapshot__free(s);
}

Test(export, looks_of_groups)
{
	check_by("sample-by-comm.json", "json", "comm");
	check_by("sample-by-comm.folded", "folded", "comm");
	check_by("sample-by-cgroup.folded", "folded", "cgroup");
	check_by("sample-by-none.folded", "folded", "none");
	check_by("sample-by-thread.folded", "folded", "thread");
	check_by("sample-by-thread.json", "json", "thread");
	check_by("sample-by-thread.callgrind", "callgrind", "thread");
	check_by("sample-by-none.speedscope.json", "speedscope", "none");
}

/* Two files at one path: a frame says which. */
Test(export, json_tells_files_of_one_path_apart)
{
	static const struct snap_module modules[] = { { "/x", "01", NULL }, { "/y", "02", NULL }, { "/x", "03", NULL } };
	struct place places[] = { { .module = 0, .offset = 1 }, { .module = 1, .offset = 2 }, { .module = 2, .offset = 3 }, { .module = -1, .offset = 4 } };
	uint32_t stack[] = { 0, 1, 2, 3 };
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	_cleanup_free_ char *text = NULL;

	s->modules = modules;
	s->n_modules = ARRAY_SIZE(modules);
	s->places = places;
	s->n_sites = 1;
	((struct snap_site *)s->sites)[0].stack = stack;
	s->sites[0].n_stack = ARRAY_SIZE(stack);
	text = written__as(s, "json", NULL, NULL);
	cr_expect(strstr(text, "\"stack\": [0, 1, 2, 3]"), "%s", text);
	cr_expect(strstr(text, "{\"module\": \"/x\", \"build_id\": \"01\", \"offset\": \"0x1\", \"inlined\": false},\n    "
			       "{\"module\": \"/y\", \"offset\": \"0x2\", \"inlined\": false},\n    "
			       "{\"module\": \"/x\", \"build_id\": \"03\", \"offset\": \"0x3\", \"inlined\": false},\n    "
			       "{\"module\": null, \"offset\": \"0x4\", \"inlined\": false}"), "%s", text);
	snapshot__free(s);
}

Test(export, folded_weights_add_up)
{
	for (size_t m = 0; m < n_metrics; m++) {
		struct snapshot *s = sample__new(0);
		_cleanup_free_ char *text = NULL;
		uint64_t want = 0, got = 0;
		size_t len;

		text = written("folded", 0, metrics[m].name, &len);
		for (size_t i = 0; i < s->n_sites; i++)
			want += metric__of(&metrics[m], &s->sites[i]);
		for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
			got += strtoull(strrchr(line, ' '), NULL, 10);
		cr_assert_eq(got, want, "%s", metrics[m].name);
		snapshot__free(s);
	}
}

Test(export, folded_names_add_no_frames)
{
	struct snapshot *s = sample__new(SAMPLE_SINGLE);
	const struct line line = { .function = "a;b\nc\td e" };
	_cleanup_free_ char *text = NULL;

	for (size_t i = 0; i < s->n_places; i++)
		s->places[i] = (struct place){ .module = -1, .resolved = true, .n_lines = 1, .lines = &line };
	s->n_sites = 1;
	((struct snap_site *)s->sites)[0].n_stack = 2;
	text = written__as(s, "folded", NULL, NULL);
	cr_assert_str_eq(text, "a:b c d e;a:b c d e 32505856\n");
	snapshot__free(s);
}

static void encodes(const char *s, const char *want)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	struct json j = { .out = open_memstream(&text, &len) };

	json__str(&j, NULL, s);
	fclose(j.out);
	cr_assert_str_eq(text, want);
}

Test(export, json_strings)
{
	encodes("plain", "\"plain\"");
	encodes("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
	encodes("\n\t\x1b[31m\x7f", "\"\\u000a\\u0009\\u001b[31m\\u007f\"");
	encodes("é … 𝄞", "\"é … 𝄞\"");
	encodes("\xff", "\"\xef\xbf\xbd\"");
	encodes("cut \xe2\x80", "\"cut \xef\xbf\xbd\xef\xbf\xbd\"");
	encodes("overlong \xc0\xaf", "\"overlong \xef\xbf\xbd\xef\xbf\xbd\"");
	encodes("surrogate \xed\xa0\x80!", "\"surrogate \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd!\"");
	encodes("too high \xf4\x90\x80\x80", "\"too high \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	encodes(NULL, "null");
}

Test(export, json_nesting_and_numbers)
{
	_cleanup_free_ char *text = NULL;
	size_t len;
	struct json j = { .out = open_memstream(&text, &len) };

	json__object(&j, NULL);
	json__u64(&j, "max", UINT64_MAX);
	json__i64(&j, "low", -1);
	json__array(&j, "list");
	json__array_end(&j);
	json__array(&j, "two");
	json__line(&j, 2);
	json__object(&j, NULL);
	json__object_end(&j);
	json__hex(&j, NULL, 0x1f);
	json__array_end(&j);
	json__bool(&j, "yes", true);
	json__object_end(&j);
	fclose(j.out);
	cr_assert_str_eq(text, "{\"max\": 18446744073709551615, \"low\": -1, \"list\": [], "
			       "\"two\": [\n  {}, \"0x1f\"], \"yes\": true}");
}

Test(export, formats_by_name_and_path)
{
	cr_assert_str_eq(export__find_by_path("/a/b.json")->name, "json");
	cr_assert_str_eq(export__find_by_path("x.folded")->name, "folded");
	cr_assert_str_eq(export__find_by_path("x.txt")->name, "text");
	cr_assert_str_eq(export__find_by_path("x.speedscope.json")->name, "speedscope", "the longest suffix counts");
	cr_assert_str_eq(export__find_by_path("x.pb.gz")->name, "pprof");
	cr_assert_str_eq(export__find_by_path("x.html")->name, "html");
	cr_assert_null(export__find_by_path("json"));
	cr_assert_null(export__find_by_name(".json"));
	cr_assert_null(export__find_by_path("x.doc"));
	for (int i = 0; i < 2; i++) {
		cr_assert_str_eq(EXPORT_SUFFIXES, ".txt .json .folded .pb.gz .speedscope.json .dhat.json .massif .callgrind .dot .html");
		cr_assert_str_eq(EXPORT_NAMES, "text json folded pprof speedscope dhat massif callgrind dot html");
	}
}

Test(export, writing_fails_aloud)
{
	static const char *const names[] = { "json", "folded", "text", "pprof", "speedscope", "dhat", "massif", "callgrind", "dot", "html" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct snapshot *s = sample__new(0);
		_cleanup_err_ struct err e = {};
		FILE *full = fopen("/dev/full", "w");

		setvbuf(full, NULL, _IONBF, 0);
		cr_assert_eq(export__find_by_name(names[i])->write(full, s, &(struct export_opts){}, &e), -EIO);
		cr_assert_not_null(e.msg);
		fclose(full);
		snapshot__free(s);
	}
}

/* ---- files on disk */

static char dir[] = "/tmp/mt-outfile-XXXXXX";

static void enter_dir(void)
{
	cr_assert(mkdtemp(dir) && !chdir(dir));
}

static void leave_dir(void)
{
	_cleanup_free_ char *cmd = NULL;

	cr_assert(!chdir("/") && asprintf(&cmd, "rm -rf %s", dir) > 0);
	cr_assert_eq(system(cmd), 0);
}

TestSuite(outfile, .init = enter_dir, .fini = leave_dir);

static size_t n_entries(void)
{
	DIR *d = opendir(".");
	size_t n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

static void holds(const char *path, const char *want)
{
	_cleanup_free_ char *text = NULL;

	cr_assert_eq(read_small_file(path, &text, NULL), 0);
	cr_assert_str_eq(text, want);
}

Test(outfile, checking_leaves_everything_as_it_was)
{
	put("old.json", "old");
	cr_assert_eq(outfile__check("old.json", NULL), 0);
	cr_assert_eq(outfile__check("new.json", NULL), 0);
	cr_assert_eq(outfile__check("-", NULL), 0);
	cr_assert_eq(outfile__check("/dev/null", NULL), 0);
	cr_assert_eq(outfile__check("/dev/stdout", NULL), 0);
	holds("old.json", "old");
	cr_assert_eq(n_entries(), 1);
}

Test(outfile, refuses)
{
	static const struct {
		const char *path;
		int err;
	} bad[] = {
		{ "", -EINVAL },	   { "no/such/dir.json", -ENOENT }, { "sub", -EISDIR },
		{ "sub/", -EISDIR },	   { ".", -EISDIR },		    { "..", -EISDIR },
		{ "link.json", -ELOOP },   { "dangling.json", -ELOOP },	    { "file/x.json", -ENOTDIR },
		{ "/dev/fd/999", -EBADF }, { "/dev/fd/0", -EBADF },
	};

	cr_assert(!mkdir("sub", 0700) && !symlink("file", "link.json") && !symlink("nowhere", "dangling.json"));
	put("file", "precious");
	close(0);
	cr_assert_eq(open("/dev/null", O_RDONLY), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_err_ struct err checked = {}, opened = {};
		struct outfile o;

		cr_assert_eq(outfile__check(bad[i].path, &checked), bad[i].err, "%s", bad[i].path);
		cr_assert_eq(outfile__open(&o, bad[i].path, &opened), bad[i].err, "%s", bad[i].path);
		cr_assert_str_eq(err_msg(&checked), err_msg(&opened));
	}
	holds("file", "precious");
	cr_assert_eq(n_entries(), 4);
}

Test(outfile, commit_replaces_the_whole_file_at_once)
{
	struct outfile o;
	struct stat st;

	put("a.json", "old");
	cr_assert_eq(outfile__open(&o, "a.json", NULL), 0);
	fputs("new", o.f);
	fflush(o.f);
	holds("a.json", "old");
	cr_assert_eq(outfile__commit(&o, NULL), 0);
	holds("a.json", "new");
	cr_assert_eq(n_entries(), 1);
	cr_assert(!stat("a.json", &st) && (st.st_mode & 07777) == 0600);
}

Test(outfile, abort_leaves_no_trace)
{
	struct outfile o;

	put("a.json", "old");
	cr_assert_eq(outfile__open(&o, "a.json", NULL), 0);
	fputs("half", o.f);
	outfile__abort(&o);
	holds("a.json", "old");
	cr_assert_eq(n_entries(), 1);
}

Test(outfile, a_link_that_appears_later_is_not_followed)
{
	struct outfile o;

	put("victim", "precious");
	cr_assert_eq(outfile__open(&o, "./a.json", NULL), 0);
	fputs("new", o.f);
	cr_assert_eq(symlink("victim", "a.json"), 0);
	cr_assert_eq(outfile__commit(&o, NULL), 0);
	holds("victim", "precious");
	holds("a.json", "new");
}

Test(outfile, a_full_disk_keeps_the_old_file)
{
	_cleanup_err_ struct err e = {};
	struct outfile o;

	put("a.json", "old");
	cr_assert_eq(outfile__open(&o, "a.json", NULL), 0);
	/* every write from here on goes to a device that is always full */
	cr_assert_geq(dup2(open("/dev/full", O_WRONLY), fileno(o.f)), 0);
	fputs("new", o.f);
	cr_assert_eq(outfile__commit(&o, &e), -ENOSPC);
	cr_assert(strstr(err_msg(&e), "a.json"));
	holds("a.json", "old");
	cr_assert_eq(n_entries(), 1);
}

/* Whoever put it there would have what is written, or would keep us waiting. */
static void refused(const char *path, int want, const char *why)
{
	_cleanup_err_ struct err e = {};
	struct outfile o;

	cr_expect_eq(outfile__check(path, &e), want, "%s: %s", path, err_msg(&e));
	cr_expect(strstr(err_msg(&e), why), "%s: wanted '%s', got: %s", path, why, err_msg(&e));
	cr_expect_eq(outfile__open(&o, path, &e), want, "%s", path);
}

static void taken(const char *path)
{
	_cleanup_err_ struct err e = {};
	struct outfile o;

	/* not outfile__check(), which holds the directory from then on */
	cr_expect_eq(outfile__open(&o, path, &e), 0, "%s: %s", path, err_msg(&e));
	if (!e.code)
		outfile__abort(&o);
}

/* A directory's link that somebody else made where everybody may make one leads wherever that user wants. */
Test(outfile, links_of_others)
{
	const uid_t other = 65534, third = 65533;
	_cleanup_free_ char *here = realpath(".", NULL), *far = NULL, *by_proc = NULL;

	if (geteuid())
		cr_skip_test("skipped: gives files to others, which takes root");
	cr_assert(!mkdir("away", 0700) && !mkdir("all", 0700) && !chmod("all", 0777) && !symlink("../away", "all/D") && !mkdir("all/sub", 0700));
	cr_assert(asprintf(&far, "%s/all/D/../away/x.json", here) > 0 && asprintf(&by_proc, "/proc/self/cwd/all/D/x.json") > 0);
	cr_assert(!symlink("all/D", "own") && !symlink(here, "all/sub/up"));
	taken("all/D/x.json");
	taken("own/x.json");
	taken(far);
	taken(by_proc);
	taken("all//sub/./up/away/../all/D/x.json");
	taken("/proc/self/root/dev/../tmp/x.json");
	cr_assert_eq(lchown("all/D", other, other), 0);
	refused("all/D/x.json", -ELOOP, "directory all/D: uid 65534 made the symbolic link D, where others can write");
	refused("own/x.json", -ELOOP, "uid 65534 made the symbolic link D");
	refused(far, -ELOOP, "uid 65534 made the symbolic link D");
	refused(by_proc, -ELOOP, "uid 65534 made the symbolic link D");
	cr_assert_eq(chmod("all", 01777), 0);
	refused("all/D/x.json", -ELOOP, "uid 65534 made the symbolic link D");
	cr_assert_eq(chmod("all", 0770), 0);
	refused("all/D/x.json", -ELOOP, "uid 65534 made the symbolic link D");
	/* by the owner of the directory, or where nobody else may make one */
	cr_assert(!chmod("all", 0777) && !chown("all", other, other));
	taken("all/D/x.json");
	cr_assert(!chown("all", third, third) && !chmod("all", 0755));
	taken("all/D/x.json");
	cr_assert(!symlink("b", "a") && !symlink("a", "b"));
	refused("a/x.json", -ELOOP, "cannot write a/x.json: directory a: ");
}

/* rename would refuse it after a long trace. */
Test(outfile, files_of_others_in_a_sticky_directory)
{
	const uid_t other = 65534, third = 65533;

	if (geteuid())
		cr_skip_test("skipped: gives files to others, which takes root");
	cr_assert(!chmod(".", 0755) && !mkdir("all", 0700) && !chmod("all", 01777) && !close(creat("all/x.json", 0666)));
	cr_assert(!chmod("all/x.json", 0666) && !chown("all/x.json", third, third));
	taken("all/x.json");
	setfsuid(other);
	refused("all/x.json", -EPERM, "it belongs to uid 65533");
	taken("all/y.json");
	setfsuid(third);
	taken("all/x.json");
	setfsuid(0);
}

Test(outfile, only_files_that_we_make, .timeout = 10)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "socket.json" };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), own;
	char name[32];

	cr_assert_eq(mkfifo("pipe.json", 0600), 0);
	refused("pipe.json", -EINVAL, "it is a FIFO, not a file");
	/* also if it is read */
	cr_assert_geq(open("pipe.json", O_RDONLY | O_NONBLOCK), 0);
	refused("pipe.json", -EINVAL, "it is a FIFO, not a file");
	cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	refused("socket.json", -EINVAL, "it is a socket, not a file");
	refused("/dev/zero", -EINVAL, "it is a device, not a file");
	cr_assert_eq(mkdir("dir.json", 0700), 0);
	refused("dir.json", -EISDIR, "it is a directory, not a file");
	cr_assert_eq(n_entries(), 3);
	/* a descriptor that nobody gave to us */
	own = memfd_create("own", MFD_CLOEXEC);
	snprintf(name, sizeof(name), "/dev/fd/%d", own);
	refused(name, -EBADF, "it is not open for writing");
	/* what everybody expects */
	cr_expect_eq(outfile__check("/dev/null", NULL), 0);
	fcntl(own, F_SETFD, 0);
	cr_expect_eq(outfile__check(name, NULL), 0);
}

Test(outfile, stdout_stays_open, .init = cr_redirect_stdout)
{
	for (int i = 0; i < 2; i++) {
		struct outfile o;

		cr_assert_eq(outfile__open(&o, i ? "/dev/stdout" : "-", NULL), 0);
		fputs("data\n", o.f);
		cr_assert_eq(outfile__commit(&o, NULL), 0);
	}
	puts("after");
	fflush(stdout);
	cr_assert_stdout_eq_str("data\ndata\nafter\n");
}

static void numbered(const char *path, unsigned int n, const char *want)
{
	_cleanup_free_ char *got = outfile__numbered(path, n);

	cr_assert_str_eq(got, want);
}

Test(outfile, numbers_go_before_the_suffix)
{
	numbered("leak.html", 1, "leak.1.html");
	numbered("x.speedscope.json", 2, "x.2.speedscope.json");
	numbered("/a/x.pb.gz", 30, "/a/x.30.pb.gz");
	numbered("v1.2.json", 1, "v1.2.1.json");
	numbered("bare", 1, "bare.1");
	numbered("-", 1, "-");
	numbered("/dev/null", 1, "/dev/null");
	numbered("/dev/stdout", 1, "/dev/stdout");
}

/* What `| head` leaves behind is no error of a disk, whenever it was that the write failed. */
Test(outfile, a_reader_that_is_gone)
{
	static char much[1 << 17];
	struct outfile o = {};
	int fds[2];

	signal(SIGPIPE, SIG_IGN);
	cr_assert_eq(pipe(fds), 0);
	o.f = fdopen(fds[1], "w");
	close(fds[0]);
	fwrite(much, 1, sizeof(much), o.f);
	cr_assert_eq(outfile__error(&o), -EPIPE);
	cr_assert_eq(outfile__error(&o), -EPIPE);
	fclose(o.f);
}
