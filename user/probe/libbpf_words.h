/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/* libbpf's own words, kept for --verbose: the sentence that a user needs is made from the errno. */
#ifndef MT_LIBBPF_WORDS_H
#define MT_LIBBPF_WORDS_H

#include <stdbool.h>

/* Once, before there is another thread: libbpf has one such function for all of them. */
void libbpf_words__keep(void);
/* Of this thread, until it is taken back: what it tries now may fail, and that is no news. */
void libbpf_words__hush(bool quiet);

#endif
