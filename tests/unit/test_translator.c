// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#include <criterion/criterion.h>

#include "process/translator.h"

Test(translator, known_by_their_files)
{
	cr_expect_str_eq(translator__of("/usr/bin/valgrind.bin"), "valgrind");
	cr_expect_str_eq(translator__of("/usr/libexec/valgrind/memcheck-arm64-linux"), "valgrind");
	cr_expect_str_eq(translator__of("/opt/vg/libexec/valgrind/none-amd64-linux"), "valgrind");
	cr_expect_str_eq(translator__of("/usr/bin/qemu-aarch64-static"), "qemu");
}

Test(translator, others_are_none)
{
	cr_expect_null(translator__of("/usr/bin/ls"));
	cr_expect_null(translator__of("/usr/bin/qemu-system-aarch64"));
	cr_expect_null(translator__of("/home/me/valgrind"));
	/* what it loads into the programs that it runs is no translator, and what is mapped of it is told too late */
	cr_expect_null(translator__of("/usr/libexec/valgrind/vgpreload_core-arm64-linux.so"));
	cr_expect_null(translator__of(""));
	cr_expect_null(translator__of(NULL));
}
