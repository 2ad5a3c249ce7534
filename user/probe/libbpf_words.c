// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/* Owns what becomes of libbpf's messages. What always holds: without --verbose there is none. */
#include "probe/libbpf_words.h"

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>

#include "util/log.h"

static _Thread_local bool hushed;

static int print(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (hushed || log_level < LOG_VERBOSE || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, ap);
}

void libbpf_words__keep(void)
{
	libbpf_set_print(print);
}

void libbpf_words__hush(bool quiet)
{
	hushed = quiet;
}
