// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What the verifier goes through to load the programs, by option: it refuses more than a million instructions, and each takes its
 * time when malloctrace starts. A change that makes it a lot more is to be seen before an older kernel refuses it.
 */
#include "lt.h"

#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Measured on 6.18, arm64; the budget leaves two fifths more. What is not here is small. */
static const struct budget {
	const char *program;
	unsigned int insns;
	const char *options;	/* that it was measured with */
} budgets[] = {
	{ "reach_call", 260000, "--sample 117,200, --free-stacks 116,331, without 106,229, --mode count 90,746; with frames of Python 236,695" },
	{ "leave_mapping", 115000, "--mmap 81,463" },
	{ "enter_mapping", 48000, "--mmap 34,401" },
	{ "fault_ends", 112000, "--mode growth 79,493" },
	{ "leave_map", 111000, "--mode growth 79,265" },
	{ NULL, 18000, "task_exec with --free-stacks 12,396" },
};

static unsigned int budget_of(const char *program)
{
	const struct budget *b = budgets;

	while (b->program && strcmp(b->program, program))
		b++;
	return b->insns;
}

/* A file of a process that is a program: what is known of it. */
static bool program_of(pid_t pid, const char *fd, struct bpf_prog_info *ret)
{
	union bpf_attr attr = {};
	char path[300], *text, *id;
	int prog = -1, err;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, fd);
	text = read_all(path, NULL);
	id = text && strstr(text, "prog_type:") ? strstr(text, "prog_id:") : NULL;
	if (id) {
		attr.prog_id = (uint32_t)atoi(id + strlen("prog_id:"));
		prog = (int)syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attr, sizeof(attr));
	}
	free(text);
	if (prog < 0)
		return false;
	*ret = (struct bpf_prog_info){};
	attr = (union bpf_attr){ .info = { .bpf_fd = (uint32_t)prog, .info_len = sizeof(*ret), .info = (uint64_t)(uintptr_t)ret } };
	err = (int)syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
	close(prog);
	return !err;
}

static void want_in_budget(struct test *t, pid_t pid, const char *with, const char *main_program)
{
	unsigned int most = 0;
	struct dirent *e;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	d = opendir(path);
	must(t, d != NULL, "%s: %s", path, strerror(errno));
	while ((e = readdir(d))) {
		struct bpf_prog_info info;

		if (e->d_name[0] == '.' || !program_of(pid, e->d_name, &info))
			continue;
		want(t, info.verified_insns <= budget_of(info.name), "%s%s: %s takes the verifier %u instructions, its budget is %u", with, *with ? "" : "no option",
		     info.name, info.verified_insns, budget_of(info.name));
		if (!strcmp(info.name, main_program))
			most = info.verified_insns;
	}
	closedir(d);
	if (!most)
		skip(t, "this kernel does not say what its verifier took");
	printf("  %s: %s %u\n", *with ? with : "no option", main_program, most);
}

TEST(programs_keep_to_their_budget)
{
	static const struct {
		const char *option, *value, *program;
	} runs[] = {
		{ "", "", "reach_call" }, { "--mode", "count", "reach_call" }, { "--sample", "4096", "reach_call" },
		{ "--overhead", "5", "reach_call" }, { "--within", "main", "reach_call" }, { "--free-stacks", "", "reach_call" },
		{ "--events", "", "reach_call" }, { "--mode", "leak", "reach_call" }, { "--mmap", "", "leave_mapping" }, { "--mode", "growth", "fault_ends" },
		/* frames of Python are walked where it is not known which programs will come */
		{ "-f", "", "reach_call" },
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		struct spawn how = { .argv = { lt_bin, "-p" } };
		unsigned int n = 3;
		struct fx f;
		struct mt m;
		char with[64];

		fx__start(t, &f, "basic", "family", NULL);
		how.argv[2] = pid_arg(f.c.pid);
		if (*runs[i].option)
			how.argv[n++] = runs[i].option;
		if (*runs[i].value)
			how.argv[n++] = runs[i].value;
		mt__start_v(t, &m, &how);
		mt__wait_attached(t, &m);
		snprintf(with, sizeof(with), "%s%s%s", runs[i].option, *runs[i].value ? " " : "", runs[i].value);
		want_in_budget(t, m.c.pid, with, runs[i].program);
		mt__stop(t, &m, SIGINT, 0);
		fx__quit(t, &f);
	}
}
