// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Answers about a file: of true ones malloctrace makes the same as if it had read the file itself, and what it makes of others can be used. */
#include <elf.h>
#include <criterion/criterion.h>
#include <link.h>
#include <malloc.h>

#include "cli/commands.h"
#include "elf/apart.h"
#include "plan_made.h"
#include "probe/plan.h"
#include "process/process.h"
#include "reader_played.h"

/* What the sandbox would answer. */
static void serve(const struct reader_question *about, const struct object *obj, const void *args, struct wire *ret)
{
	struct reader_request q = { .path = obj->path, .fd = dup(obj->fd) };
	_cleanup_free_ void *answer = calloc(1, about->answer->size);

	cr_assert_eq(about->serve(&q, args, answer), 0);
	*ret = (struct wire){};
	wire__put(ret, about->answer, answer);
	wire_type__done(about->answer, answer);
}

static void serve_part(enum file_part part, const struct object *obj, struct wire *ret)
{
	serve(&file_question, obj, &(struct file_request){ .part = part }, ret);
}

static void serve_plan(const struct plan_of *p, struct wire *ret)
{
	serve(&plan_question, p->obj, &(struct plan_request){ .want = wanted, .funcs = p->funcs }, ret);
}

/* A file of which all answers fit a socket: the loader, which every process has mapped. */
static struct object *loader(struct objects *objects)
{
	struct maps maps;
	struct object *obj = NULL;

	cr_assert_eq(maps__read(getpid(), &maps, NULL), 0);
	for (size_t i = 0; i < maps.n && !obj; i++)
		if (strstr(maps.v[i].path, "/ld-linux"))
			cr_assert_eq(objects__get_path(objects, maps.v[i].path, &obj, NULL), 0);
	maps__done(&maps);
	cr_assert_not_null(obj);
	return obj;
}

struct names {
	size_t n;
	uint64_t sum;
};

static int count_name(const struct object_symbol *s, void *arg)
{
	struct names *n = arg;

	n->n++;
	n->sum += s->value * 31 + s->size * 7 + strlen(s->name) + s->name[0];
	return 0;
}

enum { A_PLAN = N_FILE_PARTS, N_ANSWERS };

/* Asks all that there is about one file, and lets the answers be used; whether they were true is of no interest. */
static void ask_about(int kind, struct object *obj, struct plan_of *p)
{
	file_answer_cleanup struct file_answer got = {};
	struct plan plan;

	if (kind < N_FILE_PARTS)
		cr_assert(file__asks((struct apart){ .obj = obj }, (struct file_request){ .part = kind }, &got, NULL));
	switch (kind) {
	case FILE_HEADERS:
		for (size_t i = 0; i < got.headers.n_segments; i++)
			cr_expect_leq(got.headers.segments[i].vaddr, got.headers.segments[i].vaddr + got.headers.segments[i].mem_size);
		if (got.headers.build_id)
			cr_expect_leq(strlen(got.headers.build_id), 2 * OBJECT_MAX_BUILD_ID_BYTES);
		cr_expect_not(object__has_section(&got.headers, "a name that no section has"));
		break;
	case FILE_FUNCTIONS:
		for (size_t i = 0; i < got.functions.n; i++)
			cr_expect_lt(got.functions.v[i].name + strlen(got.names.v + got.functions.v[i].name), got.names.n);
		break;
	case FILE_STARTS:
		for (size_t i = 1; i < got.starts.n; i++)
			cr_expect_leq(got.starts.v[i - 1], got.starts.v[i]);
		break;
	case FILE_CFI:
		for (size_t i = 1; i < got.cfi.n_rows; i++)
			cr_expect_lt(got.cfi.rows[i - 1].pc, got.cfi.rows[i].pc);
		cfi__mark_starts(&got.cfi);
		break;
	case FILE_VARIABLES:
		for (size_t i = 0; i < got.variables.n; i++)
			cr_expect_lt(got.variables.v[i].name + strlen(variable__name(&got.variables, &got.variables.v[i])), got.variables.names.n);
		break;
	case A_PLAN:
		plan_apart__make(p->obj, &p->funcs, &wanted, false, &plan, NULL);
		for (size_t i = 0; i < plan.n_points; i++) {
			uint64_t vaddr;

			cr_expect_lt(plan.points[i].func, p->funcs.n);
			cr_expect(object__offset_to_vaddr(p->obj, plan.points[i].offset, &vaddr) && object__is_code(p->obj, vaddr));
		}
		plan__done(&plan);
		break;
	default:
		break;
	}
}

static void answer(const struct wire *w)
{
	play_reader();
	say_frame(FRAME_DONE, 0, w->v, w->n);
}

/* The same as if it had been read here. */
Test(reader, true_answers)
{
	struct objects *objects = objects__new();
	struct object *obj = loader(objects), again = *obj;
	struct names here = {}, apart = {};
	struct wire answers[N_ANSWERS] = {};
	struct plan_of p;
	struct plan plan;
	struct cfi c, d;

	cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
	object__for_each_function(obj, count_name, &here);
	cr_assert_eq(cfi__compile(obj, false, &c, NULL), 0);
	cr_assert_gt(here.n, 2);
	serve_part(FILE_HEADERS, obj, &answers[FILE_HEADERS]);
	serve_part(FILE_FUNCTIONS, obj, &answers[FILE_FUNCTIONS]);
	serve_part(FILE_CFI, obj, &answers[FILE_CFI]);
	serve_plan(&p, &answers[A_PLAN]);

	readers__set_apart(on_lost);
	answer(&answers[FILE_HEADERS]);
	again.segments = NULL;
	again.n_segments = 0;
	again.build_id = NULL;
	memset(&again.sections, 0, sizeof(again.sections));
	cr_expect_eq(object__read_headers(&again), 0);
	cr_expect(object__has_section(&again, ".dynsym"));
	cr_expect_eq(again.n_segments, obj->n_segments);
	for (size_t i = 0; i < obj->n_segments; i++)
		cr_expect(again.segments[i].vaddr == obj->segments[i].vaddr && again.segments[i].file_size == obj->segments[i].file_size &&
			  again.segments[i].exec == obj->segments[i].exec && again.segments[i].write == obj->segments[i].write);
	cr_expect_str_eq(again.build_id, obj->build_id);
	cr_expect_eq(again.dynamic.vaddr, obj->dynamic.vaddr);
	answer(&answers[FILE_FUNCTIONS]);
	object__for_each_function(obj, count_name, &apart);
	cr_expect_eq(apart.n, here.n);
	cr_expect_eq(apart.sum, here.sum);
	answer(&answers[FILE_CFI]);
	cr_assert_eq(cfi__compile(obj, false, &d, NULL), 0);
	cr_expect_eq(d.n_rows, c.n_rows);
	for (size_t i = 0; i < c.n_rows; i++)
		cr_expect(c.rows[i].pc == d.rows[i].pc && !memcmp(cfi__rule(&c, &c.rows[i]), cfi__rule(&d, &d.rows[i]), sizeof(struct mt_rule)));
	cr_expect_eq(d.starts.n, c.starts.n);
	cr_expect_eq(memcmp(&c.stats, &d.stats, sizeof(c.stats)), 0);
	answer(&answers[A_PLAN]);
	plan_apart__make(p.obj, &p.funcs, &wanted, false, &plan, NULL);
	cr_expect_gt(plan.n_points, 10);
	cr_expect_eq(plan.n_points, p.plan.n_points);
	cr_expect_eq(plan.n_funcs, p.plan.n_funcs);
	cr_expect_str_eq(plan.family, "glibc");
	for (size_t i = 0; i < plan.n_points; i++)
		cr_expect(plan.points[i].offset == p.plan.points[i].offset && plan.points[i].how == p.plan.points[i].how &&
			  plan.points[i].sp_delta == p.plan.points[i].sp_delta);
	for (size_t i = 0; i < plan.n_funcs; i++)
		cr_expect_str_eq(plan.funcs[i].why, p.plan.funcs[i].why);
	cr_expect_eq(n_told, 0, "%s", told);
}

/* What there was no time for is no file without anything in it: it is read when it is asked for again. */
Test(reader, headers_later)
{
	struct objects *objects = objects__new();
	struct object *obj = loader(objects), again = *obj;
	struct wire headers = {};

	serve_part(FILE_HEADERS, obj, &headers);
	again.segments = NULL;
	again.n_segments = 0;
	again.build_id = NULL;
	again.is_elf = false;
	readers__set_apart(on_lost);
	readers__end_at(1);
	cr_expect_eq(object__read_headers(&again), -EINTR);
	readers__end_at(0);
	answer(&headers);
	cr_expect_eq(object__read_headers(&again), 0);
	cr_expect(again.is_elf);
	cr_expect_eq(again.n_segments, obj->n_segments);
	cr_expect_eq(n_told, 0, "%s", told);
}

/* Most variables of C begin with an underscore: no demangler is asked about them. */
Test(reader, names_that_are_not_mangled)
{
	char buf[DEMANGLE_OUT_MAX + 1];

	readers__set_apart(on_lost);
	readers__lend(-1);
	demangle("_IO_2_1_stdout_", buf);
	cr_expect_str_eq(buf, "_IO_2_1_stdout_");
	cr_expect_eq(n_told, 0, "%s", told);
	demangle("_Z3foov", buf);
	cr_expect_eq(n_told, 1);
}

/* A byte of a true answer is another one, or its end is missing: whatever is made of it can be used. */
Test(reader, false_answers, .timeout = 120)
{
	static const int kinds[] = { FILE_HEADERS, FILE_FUNCTIONS, FILE_STARTS, FILE_CFI, FILE_VARIABLES, A_PLAN };
	struct objects *objects = objects__new();
	struct object *obj = loader(objects);
	struct wire answers[ARRAY_SIZE(kinds)] = {};
	struct plan_of p;

	cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
	for (size_t i = 0; i + 1 < ARRAY_SIZE(kinds); i++)
		serve_part(kinds[i], obj, &answers[i]);
	serve_plan(&p, &answers[ARRAY_SIZE(kinds) - 1]);
	srand(1);
	readers__set_apart(NULL);
	for (unsigned int turn = 0; turn < 6000; turn++) {
		size_t i = turn % ARRAY_SIZE(kinds), at = (size_t)rand() % answers[i].n, len = answers[i].n;
		unsigned char was = answers[i].v[at];

		/* numbers at the edge first, then anything */
		answers[i].v[at] = turn & 1 ? (unsigned char)rand() : turn & 2 ? 0xff : 0;
		if (turn % 7 == 0)
			answers[i].n = at;
		answer(&answers[i]);
		/* a file that was lost once would not be asked for again */
		close(obj->fd);
		obj->fd = memfd_create("again", 0);
		close(p.obj->fd);
		p.obj->fd = memfd_create("again", 0);
		ask_about(kinds[i], obj, &p);
		answers[i].v[at] = was;
		answers[i].n = len;
	}
}

/* The answer of another question: what nobody asked for is not kept, however often it comes. */
Test(reader, answers_with_more_than_was_asked)
{
	static const int kinds[] = { FILE_HEADERS, FILE_STARTS, FILE_CFI, FILE_VARIABLES };
	struct objects *objects = objects__new();
	struct object *obj = loader(objects), *other = object__over(dup(obj->fd), obj->path);
	struct wire functions = {};
	uint64_t address;
	size_t before = 0;

	serve_part(FILE_FUNCTIONS, obj, &functions);
	cr_assert_gt(functions.n, 256);
	readers__set_apart(NULL);
	for (int turn = 0; turn < 102; turn++) {
		if (turn == 2)
			before = mallinfo2().uordblks;
		for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
			answer(&functions);
			ask_about(kinds[i], other, NULL);
		}
		answer(&functions);
		cr_expect_not(defined__may_be_inlined(other, NULL, "f"));
		answer(&functions);
		cr_expect_not(object__initial_address(other, 0, &address));
	}
	cr_expect_lt(mallinfo2().uordblks, before + 10 * functions.n);
	object__put(other);
	wire__done(&functions);
}

/* ---- points that are none */

/* A true plan, with one point moved: it comes back without any, and the file is lost. */
static void want_refused(const struct plan_of *p, const struct wire *truth, size_t i, uint64_t offset)
{
	unsigned int before = n_told;
	struct wire lie = *truth;
	struct plan plan;
	unsigned char *at = NULL;

	lie.v = malloc(truth->n);
	memcpy(lie.v, truth->v, truth->n);
	/* points come last; one that is of two kinds is there twice */
	for (size_t k = 0; k + 8 <= lie.n; k++)
		if (!memcmp(lie.v + k, &p->plan.points[i].offset, 8))
			at = lie.v + k;
	cr_assert_not_null(at);
	memcpy(at, &offset, 8);
	answer(&lie);
	plan_apart__make(p->obj, &p->funcs, &wanted, false, &plan, NULL);
	cr_expect_eq(plan.n_points, 0, "%#llx is taken", (unsigned long long)offset);
	cr_expect_eq(n_told, before + 1);
	plan__done(&plan);
	free(lie.v);
}

/* Another copy: a file that was lost is not asked for again. */
static void renew(struct plan_of *p)
{
	int again = memfd_create("again", 0);
	struct stat st;
	char buf[65536];
	off_t at = 0;
	ssize_t got;

	while ((got = pread(p->obj->fd, buf, sizeof(buf), at)) > 0)
		at += pwrite(again, buf, (size_t)got, at);
	close(p->obj->fd);
	p->obj->fd = again;
	cr_assert_eq(fstat(again, &st), 0);
	p->obj->mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
}

static void want_points_verified(bool remote)
{
	struct wire truth = {};
	struct object_segment *s;
	struct plan_of p;
	size_t entry, ret = SIZE_MAX;

	cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
	serve_plan(&p, &truth);
	for (entry = 0; p.plan.points[entry].how != ON_ENTRY || p.plan.points[entry].no_args; entry++)
		;
	for (size_t i = 0; i < p.plan.n_points; i++)
		if (p.plan.points[i].how == ON_RET_INSN)
			ret = i;
	/* all is code, if the reader is believed */
	for (size_t i = 0; i < p.obj->n_segments; i++)
		p.obj->segments[i].exec = true;
	s = &p.obj->segments[0];
	p.obj->remote = remote;
	readers__set_apart(on_lost);
	for (unsigned int lie = 0; lie < 5; lie++) {
		uint64_t first = p.plan.points[entry].offset;

		renew(&p);
		if (lie == 0)		/* in the middle of an instruction */
			want_refused(&p, &truth, entry, first + 1);
		else if (lie == 1)	/* in the middle of a function */
			want_refused(&p, &truth, entry, first + 0x60);
		else if (lie == 2)	/* no code */
			want_refused(&p, &truth, entry, s->file_off + 64);
		else if (lie == 3 && ret != SIZE_MAX)	/* no return */
			want_refused(&p, &truth, ret, p.plan.points[ret].offset - 4);
		else if (lie == 4 && ret != SIZE_MAX)	/* a return is no entry */
			want_refused(&p, &truth, entry, p.plan.points[ret].offset);
	}
}

Test(reader, points_are_verified) { want_points_verified(false); }
/* A file whose file system may not answer: what is read is a copy. */
Test(reader, points_of_copies_are_verified) { want_points_verified(true); }

/* Together, from the last one on and each of them twice: as each of them alone. */
Test(reader, points_are_verified_in_any_order)
{
	struct verified_point *all;
	struct plan_of p;
	size_t n;

	cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
	n = p.plan.n_points;
	cr_assert_gt(n, 2);
	all = calloc(3 * n, sizeof(*all));
	for (size_t i = 0; i < 3 * n; i++)	/* the last third: in the middle of instructions */
		all[i] = (struct verified_point){ .offset = p.plan.points[n - 1 - i % n].offset + i / (2 * n), .name = "malloc" };
	verify__points(p.obj, all, 3 * n);
	for (size_t i = 0; i < 3 * n; i++) {
		struct verified_point one = { .offset = all[i].offset, .name = "malloc" };

		verify__points(p.obj, &one, 1);
		cr_expect_eq(all[i].is, one.is, "%zu", i);
		cr_expect_eq(all[i].start, one.start, "%zu", i);
		cr_expect(i >= 2 * n || one.is, "%zu", i);
	}
	free(all);
}

/* ---- what lies behind a function, or between its instructions */

#define X86_RET 0xc3
#define ARM_NOP 0x1f, 0x20, 0x03, 0xd5
#define ARM_RET 0xc0, 0x03, 0x5f, 0xd6
#define ARM_B(words) words, 0, 0, 0x14
#define ARM_BL(words) words, 0, 0, 0x94
#define ARM_CBZ(words) (words) << 5, 0, 0, 0xb4

/* A function f is at the beginning of the code, perhaps a function g behind it: what is where? */
static const struct {
	const char *name;
	uint16_t machine;
	uint8_t size;		/* of f; 0: its symbol does not say */
	uint8_t g;		/* 0: there is none */
	uint8_t code[64];
	struct {
		uint8_t at;
		unsigned int is;
	} want[6];		/* up to one that is at 0 */
} pieces[] = {
	{ "a table behind a return", EM_X86_64, 3, 0,
	  { 0x31, 0xc0, X86_RET, 0x90, X86_RET, X86_RET, 0xeb, 0x10 },
	  { { 2, POINT_RETURN }, { 3, 0 }, { 4, 0 }, { 5, 0 }, { 6, 0 } } },
	{ "the same without a size", EM_X86_64, 0, 0,
	  { 0x31, 0xc0, X86_RET, 0x90, X86_RET, X86_RET, 0xeb, 0x10 },
	  { { 2, POINT_RETURN }, { 3, 0 }, { 4, 0 }, { 5, 0 }, { 6, 0 } } },
	{ "behind a call that does not return", EM_X86_64, 5, 0,
	  { 0xe8, 0, 1, 0, 0, 0x90, X86_RET },
	  { { 5, 0 }, { 6, 0 } } },
	{ "between a jump and where it leads", EM_X86_64, 6, 0,
	  { 0xeb, 0x03, X86_RET, 0x90, 0x90, X86_RET },
	  { { 2, 0 }, { 3, 0 }, { 5, POINT_RETURN } } },
	{ "both ways of a branch", EM_X86_64, 6, 0,
	  { 0x74, 0x02, 0x90, X86_RET, 0x90, X86_RET },
	  { { 3, POINT_RETURN }, { 5, POINT_RETURN } } },
	{ "what only another function comes to", EM_X86_64, 5, 16,
	  { 0x74, 0x0e, X86_RET, 0x90, X86_RET, 0x90, X86_RET, [16] = 0xeb, 0xf2 },
	  { { 2, POINT_RETURN }, { 4, POINT_RETURN }, { 6, 0 } } },
	{ "behind a jump that a table chooses", EM_X86_64, 8, 0,
	  { 0xff, 0xe0, 0x90, X86_RET },
	  { { 2, 0 }, { 3, 0 } } },
	{ "a table behind a return", EM_AARCH64, 8, 0,
	  { ARM_NOP, ARM_RET, ARM_NOP, ARM_RET },
	  { { 4, POINT_RETURN }, { 8, 0 }, { 12, 0 } } },
	{ "the same without a size", EM_AARCH64, 0, 0,
	  { ARM_NOP, ARM_RET, ARM_NOP, ARM_RET },
	  { { 4, POINT_RETURN }, { 8, 0 }, { 12, 0 } } },
	{ "behind a call that does not return", EM_AARCH64, 4, 0,
	  { ARM_BL(8), ARM_RET },
	  { { 4, 0 } } },
	{ "between a jump and where it leads", EM_AARCH64, 12, 0,
	  { ARM_B(2), ARM_RET, ARM_RET },
	  { { 4, 0 }, { 8, POINT_RETURN } } },
	{ "both ways of a branch", EM_AARCH64, 12, 0,
	  { ARM_CBZ(2), ARM_RET, ARM_RET },
	  { { 4, POINT_RETURN }, { 8, POINT_RETURN } } },
};

static unsigned int found_at(const struct object *obj, uint64_t offset)
{
	struct verified_point v = { .offset = offset };

	verify__points(obj, &v, 1);
	return v.is & (POINT_RETURN | POINT_JUMP);
}

Test(reader, only_code_that_is_reached_is_probed)
{
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct maker k;
		struct plan_of p;

		make(&k, pieces[i].machine, ET_DYN, pieces[i].code, sizeof(pieces[i].code));
		add(&k, "f", 0, pieces[i].size, STB_GLOBAL, STT_FUNC);
		if (pieces[i].g)
			add(&k, "g", pieces[i].g, 2, STB_GLOBAL, STT_FUNC);
		open_made(&p, &k, false);
		for (size_t n = 0; pieces[i].want[n].at; n++)
			cr_expect_eq(found_at(p.obj, CODE_AT + pieces[i].want[n].at), pieces[i].want[n].is,
				     "%s, machine %u: %u", pieces[i].name, pieces[i].machine,
				     pieces[i].want[n].at);
		close_plan(&p);
	}
}

/*
 * ---- many functions: each jumps to one that no other leads to, and the last ones back behind the jumps of the
 * first
 */

#define FUNCTIONS 24000		/* of a round */
#define ROUNDS 4
#define FUNCTION_BYTES 16
#define JUMP_BYTES 5

struct many {
	Elf64_Ehdr eh;
	Elf64_Phdr ph;
	Elf64_Shdr sh[3];
	uint8_t code[ROUNDS * FUNCTIONS * FUNCTION_BYTES];
	Elf64_Sym syms[ROUNDS * FUNCTIONS];
};

#define CODE_OFF offsetof(struct many, code)
#define SYMS_OFF offsetof(struct many, syms)

static void jump(uint8_t *code, uint64_t from, uint64_t to)
{
	int32_t by = (int32_t)(to - from) - JUMP_BYTES;

	code[from] = 0xe9;
	memcpy(code + from + 1, &by, sizeof(by));
	code[from + JUMP_BYTES] = X86_RET;
}

static struct many *make_many(void)
{
	struct many *m = calloc(1, sizeof(*m));
	const size_t n = ARRAY_SIZE(m->syms);

	memcpy(m->eh.e_ident, ELFMAG, SELFMAG);
	m->eh.e_ident[EI_CLASS] = ELFCLASS64;
	m->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	m->eh.e_ident[EI_VERSION] = EV_CURRENT;
	m->eh.e_type = ET_DYN;
	m->eh.e_machine = EM_X86_64;
	m->eh.e_phoff = offsetof(struct many, ph);
	m->eh.e_phentsize = sizeof(m->ph);
	m->eh.e_phnum = 1;
	m->eh.e_shoff = offsetof(struct many, sh);
	m->eh.e_shentsize = sizeof(m->sh[0]);
	m->eh.e_shnum = 3;
	m->ph = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = CODE_OFF,
			      .p_vaddr = CODE_OFF, .p_filesz = sizeof(m->code), .p_memsz = sizeof(m->code) };
	m->sh[1] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = 2, .sh_entsize = sizeof(*m->syms),
				 .sh_offset = SYMS_OFF, .sh_size = sizeof(m->syms) };
	m->sh[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = SYMS_OFF, .sh_size = 1 };
	for (size_t i = 0; i < n; i++) {
		size_t to = (i + FUNCTIONS) % n;

		jump(m->code, i * FUNCTION_BYTES, to * FUNCTION_BYTES + (to < i ? JUMP_BYTES : 0));
		m->syms[i] = (Elf64_Sym){ .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
					  .st_value = CODE_OFF + i * FUNCTION_BYTES,
					  .st_size = JUMP_BYTES + 1 };
	}
	return m;
}

/* There are two seconds: a search in all that was read before, for each of them, would take many. */
Test(reader, many_functions_are_verified_in_time)
{
	struct verified_point *v = calloc(FUNCTIONS, sizeof(*v));
	struct objects *objects = objects__new();
	int fd = memfd_create("mt-many", MFD_CLOEXEC);
	_cleanup_free_ char *path = NULL;
	struct many *m = make_many();
	struct object *obj;
	size_t n = 0;

	cr_assert_eq(write(fd, m, sizeof(*m)), (ssize_t)sizeof(*m));
	cr_assert_geq(asprintf(&path, "/proc/self/fd/%d", fd), 0);
	cr_assert_eq(objects__get_path(objects, path, &obj, NULL), 0);
	for (size_t i = 0; i < FUNCTIONS; i++)
		v[i].offset = CODE_OFF + i * FUNCTION_BYTES + JUMP_BYTES;
	verify__points(obj, v, FUNCTIONS);
	for (size_t i = 0; i < FUNCTIONS; i++)
		n += v[i].is == POINT_RETURN;
	cr_expect_eq(n, FUNCTIONS);
	close(fd);
	free(m);
	free(v);
}

/* Without a symbol; it ends in a call that does not return, and a table of returns lies behind it. */
__asm__(".text\n"
	".balign 16\n"
	".cfi_startproc\n"
	".Lunnamed:\n"
#if defined(__aarch64__)
	"	bl .Lunnamed\n"
	".cfi_endproc\n"
	"	ret\n"
	"	ret\n"
#else
	"	call .Lunnamed\n"
	".cfi_endproc\n"
	"	.byte 0xc3, 0xc3, 0xc3\n"
#endif
	".balign 16\n"
	".section .data.rel.ro, \"aw\"\n"
	".balign 8\n"
	".local unnamed_function\n"
	"unnamed_function:\n"
	"	.quad .Lunnamed\n"
	".text\n");
extern const uint64_t unnamed_function;

static int note_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uint64_t *)arg = info->dlpi_addr;
	return 1;	/* the program is the first */
}

Test(reader, unwind_entries_say_where_functions_end)
{
	struct objects *objects = objects__new();
	struct verified_point v = {};
	uint64_t base = 0, offset;
	struct object *obj;

	dl_iterate_phdr(note_base, &base);
	cr_assert_eq(objects__get_path(objects, "/proc/self/exe", &obj, NULL), 0);
	cr_assert(object__vaddr_to_offset(obj, unnamed_function - base, &offset));
	v.offset = offset;
	verify__points(obj, &v, 1);
	cr_expect_eq(v.is & POINT_START, POINT_START);
	for (unsigned int at = 4; at < 12; at++)
		cr_expect_eq(found_at(obj, offset + at), 0, "%u", at);
}

/* A counter is what the kernel writes to in every process that maps the file. */
Test(reader, counters_are_verified)
{
	struct object_segment *data = NULL;
	struct wire truth = {};
	struct spot_point *at = NULL;
	struct plan_of p;

	cr_assert(open_plan(&p, "/lib/" MULTIARCH "/libc.so.6", false));
	for (size_t i = 0; i < p.obj->n_segments; i++)
		if (p.obj->segments[i].write)
			data = &p.obj->segments[i];
	cr_assert_not_null(data);
	cr_assert_gt(p.plan.loader.n, 0);
	serve_plan(&p, &truth);
	for (size_t k = 0; k + sizeof(*at) <= truth.n && !at; k++)
		if (!memcmp(truth.v + k, &p.plan.loader.v[0], sizeof(*at)))
			at = (struct spot_point *)(truth.v + k);
	cr_assert_not_null(at);
	readers__set_apart(on_lost);
	for (int lie = 0; lie < 3; lie++) {
		struct spot_point is = p.plan.loader.v[0];
		struct plan plan;

		is.counter = lie == 1 ? data->file_off + 64 : 0;
		is.offset += lie == 2 ? 0x60 : 0;
		memcpy(at, &is, sizeof(is));
		renew(&p);
		answer(&truth);
		plan_apart__make(p.obj, &p.funcs, &wanted, false, &plan, NULL);
		cr_expect_eq(plan.loader.n, lie ? 0 : p.plan.loader.n, "%d", lie);
		plan__done(&plan);
	}
}

/* The reader does not choose the entry point. */
Test(reader, entry_is_verified)
{
	struct objects *objects = objects__new();
	uint64_t entry, found;
	struct object *obj;
	Elf64_Ehdr eh;

	cr_assert_eq(objects__get_path(objects, "/proc/self/exe", &obj, NULL), 0);
	cr_assert_eq(object__read_at(obj, 0, &eh, sizeof(eh)), 0);
	cr_assert(object__vaddr_to_offset(obj, eh.e_entry, &entry));
	obj->segments[0].vaddr++;
	cr_assert(verify__entry(obj, &found));
	cr_expect_eq(found, entry);
}
