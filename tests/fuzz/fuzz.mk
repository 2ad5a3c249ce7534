# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# `make fuzz`: each parser of what another process controls, fed with garbage for FUZZ_SECONDS. A crash ends it, and
# the input that made it is in build/fuzz/. A target is tests/fuzz/fuzz_NAME.c and two rows here: what it is linked
# with, and its name.

FUZZ_SECONDS ?= 30
FUZZ_FLAGS := -std=gnu17 -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -Wall -Wextra -Wno-unused-parameter -O1 -g \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -Iuser -I. -I$(B)
FUZZ_LIBS := -ldw -lelf -lcap -liberty -ljansson -llzma -lz -lm -ldl -lncursesw -ltinfo

FUZZ_OBJECT := $(addprefix user/elf/,elffile.c object.c object_elf.c object_syms.c jitmap.c) user/process/maps.c $(wildcard user/util/*.c)
FUZZ_SRC_cfi := $(addprefix user/elf/,cfi.c cfi_elf.c ehframe.c cfa.c calls.c)
FUZZ_SRC_sym := $(filter-out $(FUZZ_OBJECT),$(wildcard user/elf/*.c user/names/*.c))
FUZZ_SRC_profile := $(wildcard user/files/*.c user/files/*/*.c user/present/*.c user/present/*/*.c user/model/*.c user/recording/*.c)
FUZZ_TARGETS := cfi sym profile

.PHONY: fuzz $(FUZZ_TARGETS:%=fuzz-%)
fuzz: $(FUZZ_TARGETS:%=fuzz-%)

define fuzz_target
$(B)/fuzz/fuzz_$(1): tests/fuzz/fuzz_$(1).c $(FUZZ_SRC_$(1)) $(FUZZ_OBJECT) $(wildcard user/*/*.h bpf/abi*.h tests/unit/*.h)
endef
$(foreach t,$(FUZZ_TARGETS),$(eval $(call fuzz_target,$(t))))

$(FUZZ_TARGETS:%=$(B)/fuzz/fuzz_%):
	$(call say,FUZZ,$@)mkdir -p $(@D) && $(CLANG) $(FUZZ_FLAGS) -o $@ $(filter %.c,$^) $(FUZZ_LIBS)

# Inputs that one run found worth keeping are where the next one starts.
$(FUZZ_TARGETS:%=fuzz-%): fuzz-%: $(B)/fuzz/fuzz_%
	$(Q)mkdir -p $(B)/fuzz/$*.corpus && FUZZ_SEEDS=$(B)/fuzz/$*.corpus $< -max_total_time=$(FUZZ_SECONDS) -max_len=16384 \
		-timeout=10 -rss_limit_mb=2048 -artifact_prefix=$(B)/fuzz/$*- -print_final_stats=1 $(B)/fuzz/$*.corpus
