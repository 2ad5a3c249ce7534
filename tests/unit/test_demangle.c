// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Demangling: a table of names, and names made to hurt. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "elf/symtab.h"
#include "util/util.h"

static const struct {
	const char *in, *out;
} names[] = {
	{ "main", "main" },
	{ "", "" },
	{ "_start", "_start" },
	{ "_Z", "_Z" },
	{ "_ZN2ns9leak_hereEv", "ns::leak_here()" },
	{ "_ZN2ns9leak_hereEiPKc", "ns::leak_here(int, char const*)" },
	{ "_Znwm", "operator new(unsigned long)" },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back(int const&)" },
	{ "_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work()" },
	{ "_ZN1AC2Ev", "A::A()" },
	{ "_Z3foov.part.0", "foo() [clone .part.0]" },
	{ "_ZN4main4leak17h0123456789abcdefE", "main::leak" },
	{ "_ZN5alloc7raw_vec19RawVec$LT$T$C$A$GT$7reserve17habcdef0123456789E", "alloc::raw_vec::RawVec<T,A>::reserve" },
	{ "_RNvCs4fqI2P2rA04_11rust_simple4leak", "rust_simple::leak" },
	{ "_RNvC000.gotke", "_RNvC000.gotke" },	/* its identifiers are empty */
	{ "_Rubbish", "_Rubbish" },
	{ "evil\033[31mname\n", "evil?[31mname?" },
};

Test(demangle, table)
{
	char buf[DEMANGLE_OUT_MAX + 1];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = demangle(names[i].in, buf);

		cr_expect_str_eq(buf, names[i].out, "%s became %s", names[i].in, buf);
		cr_expect_eq(len, strlen(buf));
	}
}

Test(demangle, long_names_are_cut)
{
	char in[DEMANGLE_IN_MAX + 100], buf[DEMANGLE_OUT_MAX + 1];

	/* three bytes a character: a cut at a fixed byte would split one */
	for (size_t i = 0; i + 3 < sizeof(in); i += 3)
		memcpy(in + i, "€", 4);
	cr_expect_leq(demangle(in, buf), DEMANGLE_OUT_MAX);
	cr_expect_gt(strlen(buf), DEMANGLE_OUT_MAX - 6);
	cr_expect_str_eq(buf + strlen(buf) - strlen("€…"), "€…");
	cr_expect_null(strchr(buf, '?'));

	memset(in, 'a', sizeof(in) - 1);
	in[sizeof(in) - 1] = '\0';
	memcpy(in, "_Z5000", 6);
	cr_expect_eq(demangle(in, buf), DEMANGLE_OUT_MAX);
	cr_expect_eq(memcmp(buf, "_Z5000aaa", 9), 0, "too long to be demangled, but not as it is");

	memset(in, 'a', DEMANGLE_OUT_MAX);
	in[DEMANGLE_OUT_MAX] = '\0';
	cr_expect_eq(demangle(in, buf), DEMANGLE_OUT_MAX);
	cr_expect_str_eq(buf, in, "what just fits is whole");
}

/* Each parameter is a pair of the one before it, twice: 2^60 names if printed in full. */
Test(demangle, bomb, .timeout = 10)
{
	char in[DEMANGLE_IN_MAX] = "_Z1f1AIiiE", buf[DEMANGLE_OUT_MAX + 1];
	size_t len;

	for (int i = 1; i < 60; i++) {
		char part[32];

		/* S_ is A, S0_ is A<int, int>, then each new pair */
		if (i - 1 < 10)
			snprintf(part, sizeof(part), "S_IS%d_S%d_E", i - 1, i - 1);
		else if (i - 1 < 36)
			snprintf(part, sizeof(part), "S_IS%c_S%c_E", 'A' + i - 11, 'A' + i - 11);
		else
			snprintf(part, sizeof(part), "S_IS1%c_S1%c_E", i - 37 < 10 ? '0' + i - 37 : 'A' + i - 47,
				 i - 37 < 10 ? '0' + i - 37 : 'A' + i - 47);
		strcat(in, part);
	}
	len = demangle(in, buf);
	cr_expect_leq(len, DEMANGLE_OUT_MAX);
	cr_expect_eq(strncmp(buf, "f(A<int, int>, A<A<int, int>, A<int, int> >", 43), 0, "%s", buf);
	cr_expect_str_eq(buf + len - strlen("…"), "…");
}

/* The arguments of each conversion are read twice, and so is what is in them: 2^29 times, without a byte coming out. */
Test(demangle, time_bomb, .timeout = 60)
{
	char in[DEMANGLE_IN_MAX] = "_ZN1AcvT_I", buf[DEMANGLE_OUT_MAX + 1];
	uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	for (int i = 0; i < 28; i++)
		strcat(in, "N1AcvT_I");
	strcat(in, "i");
	for (int i = 0; i < 28; i++)
		strcat(in, "EE");
	strcat(in, "EEv");
	cr_assert_gt(strlen(in), 280);
	/* the first ones have more time than those after them */
	for (int i = 0; i < 40; i++) {
		demangle(in, buf);
		cr_expect_str_eq(buf, in, "it stays as it is");
	}
	cr_expect_lt(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began, 4 * SECOND_NS);
	cr_expect_eq(demangle("_ZNSt6vectorIiSaIiEE9push_backERKiSt6vectorIiSaIiEERKS1_S4_S4_S4_S4_S4_S4_", buf), strlen(buf));
	cr_expect_eq(strncmp(buf, "std::vector<int, std::allocator<int> >::push_back(", 50), 0, "others are read: %s", buf);
}

static void *read_in_thread(void *name)
{
	char buf[DEMANGLE_OUT_MAX + 1];
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	demangle(name, buf);
	return strcmp(buf, name) ? name : NULL;
}

/* Whatever signals a thread has blocked. */
Test(demangle, time_bomb_in_a_thread, .timeout = 60)
{
	char in[DEMANGLE_IN_MAX] = "_ZN1AcvT_I";
	pthread_t thread;
	void *read;

	for (int i = 0; i < 40; i++)
		strcat(in, "N1AcvT_I");
	strcat(in, "i");
	for (int i = 0; i < 40; i++)
		strcat(in, "EE");
	strcat(in, "EEv");
	cr_assert_eq(pthread_create(&thread, NULL, read_in_thread, in), 0);
	cr_assert_eq(pthread_join(thread, &read), 0);
	cr_expect_null(read, "it stays as it is");
}
