# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# `make fuzz`: each parser of what others control, fed with garbage for FUZZ_SECONDS, as many at a time as there are
# processors (make -j). A crash, a leak, or a minute with one input end it, and the input is in build/fuzz/. A target is
# tests/fuzz/fuzz_NAME.c: it is linked with what it needs of malloctrace, and with nothing else.
#
# `make fuzz-check` is the same for FUZZ_CHECK_SECONDS each, a part of `make test`: that all of them are built, and hold. Its
# seed is always the same one, so that what it says comes of the change it tests.

FUZZ_SECONDS ?= 30
FUZZ_CHECK_SECONDS ?= 2
# 0: another one each time
FUZZ_SEED ?= 0
FUZZ_DIR := $(B)/fuzz
FUZZ_SANITIZERS := address,undefined -fno-sanitize-recover=undefined -fno-sanitize=object-size,alignment,null,vptr
FUZZ_FLAGS := -std=gnu17 -D_GNU_SOURCE -DVERSION='"$(VERSION)"' -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -Wno-string-plus-int -O1 -gline-tables-only -Iuser -I. -Itests/fuzz -I$(B) -MMD -MP
FUZZ_LIBS := -lncursesw -ltinfo -lbpf -ldw -lelf -lcapstone -lcap -liberty -ljansson -llzma -lz -lm -ldl
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))

# Folders that parse or show; of probe/ what has no part in the kernel.
FUZZ_SRC := $(foreach d,util reader recording model present present/text files files/json files/html options process elf space names,$(wildcard user/$(d)/*.c)) \
	$(addprefix user/serve/,metrics.c web.c) \
	$(addprefix user/probe/,allocators.c find.c insn.c lookalikes.c place.c plan_apart.c registers.c spots.c verify.c within.c)
FUZZ_OBJ := $(FUZZ_SRC:%.c=$(FUZZ_DIR)/%.o)

.PHONY: fuzz fuzz-check $(FUZZ_TARGETS:%=fuzz-%)
fuzz: $(FUZZ_TARGETS:%=fuzz-%)

fuzz-check: $(FUZZ_TARGETS:%=$(FUZZ_DIR)/fuzz_%)
	$(Q)$(MAKE) --no-print-directory fuzz FUZZ_SECONDS=$(FUZZ_CHECK_SECONDS) FUZZ_SEED=1

$(FUZZ_OBJ): | $(SKELETONS) $(B)/html_page.h $(B)/completion.bash.h $(B)/completion.zsh.h $(B)/completion.fish.h

$(FUZZ_DIR)/%.o: %.c tests/fuzz/fuzz.mk
	$(call say,FUZZ,$@)mkdir -p $(@D) && $(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,$(FUZZ_SANITIZERS) -c $< -o $@

$(FUZZ_DIR)/libuser.a: $(FUZZ_OBJ)
	$(call say,FUZZ,$@)rm -f $@ && ar rcs $@ $^

$(FUZZ_TARGETS:%=$(FUZZ_DIR)/fuzz_%): $(FUZZ_DIR)/fuzz_%: $(FUZZ_DIR)/tests/fuzz/fuzz_%.o $(FUZZ_DIR)/libuser.a
	$(call say,FUZZ,$@)$(CLANG) -fsanitize=fuzzer,$(FUZZ_SANITIZERS) -o $@ $^ $(FUZZ_LIBS)

# Inputs that one run found worth keeping are where the next one starts. What it says is shown where it failed.
$(FUZZ_TARGETS:%=fuzz-%): fuzz-%: $(FUZZ_DIR)/fuzz_%
	$(Q)mkdir -p $(FUZZ_DIR)/$*.corpus && if FUZZ_SEEDS=$(FUZZ_DIR)/$*.corpus $< -seed=$(FUZZ_SEED) -max_total_time=$(FUZZ_SECONDS) -max_len=16384 -timeout=60 \
		-rss_limit_mb=2048 -artifact_prefix=$(FUZZ_DIR)/$*- -print_final_stats=1 $(FUZZ_DIR)/$*.corpus > $(FUZZ_DIR)/$*.log 2>&1; then \
		printf '  %-7s %s\n' FUZZED "$*: $$(sed -n 's/^stat::number_of_executed_units: *//p' $(FUZZ_DIR)/$*.log) inputs"; \
	else tail -n 60 $(FUZZ_DIR)/$*.log; exit 1; fi
