# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# `make fuzz`: each parser of what another process controls, fed with garbage for FUZZ_SECONDS; a crash ends it,
# and the input that made it is in build/fuzz/. One target: tests/fuzz/fuzz_NAME.c, and its row here.

FUZZ_SECONDS ?= 30
FUZZ_FLAGS := -std=gnu17 -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -Wall -Wextra -Wno-unused-parameter -O1 -g \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -Iuser -I. -I$(B)

# what a target is linked with, besides util/
FUZZ_SRC_fuzz_cfi := user/unwind/cfi.c user/unwind/cfi_elf.c user/unwind/ehframe.c user/unwind/cfa.c user/unwind/calls.c \
	user/target/object.c user/target/object_syms.c user/target/maps.c user/target/jitmap.c
FUZZ_TARGETS := fuzz_cfi

.PHONY: fuzz $(FUZZ_TARGETS:%=run-%)
fuzz: $(FUZZ_TARGETS:%=run-%)

.SECONDEXPANSION:
$(FUZZ_TARGETS:%=$(B)/fuzz/%): $(B)/fuzz/%: tests/fuzz/%.c $$(FUZZ_SRC_%) $(wildcard user/util/*.c user/*/*.h bpf/abi.h tests/unit/*.h)
	$(call say,FUZZ,$@)mkdir -p $(@D) && $(CLANG) $(FUZZ_FLAGS) -o $@ $(filter %.c,$^) -ldw -lelf

# What was found worth keeping in one run is where the next one starts.
$(FUZZ_TARGETS:%=run-%): run-%: $(B)/fuzz/%
	$(Q)mkdir -p $(B)/fuzz/$*.corpus && FUZZ_SEEDS=$(B)/fuzz/$*.corpus $< -max_total_time=$(FUZZ_SECONDS) -max_len=8192 \
		-timeout=5 -rss_limit_mb=1024 -artifact_prefix=$(B)/fuzz/$*- -print_final_stats=1 $(B)/fuzz/$*.corpus
