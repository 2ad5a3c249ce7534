# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# `make oracle`, as root: our stacks against libdw's in real programs, and against what programs of our own know of theirs
# (tests/live/t_truth.c). ORACLE_ARGS goes to unwind_oracle; ORACLE_SCALE=N%: how many lots are drawn.

ORACLE := $(B)/oracle
ORACLE_ARGS ?=
ORACLE_SCALE ?= 400
# The product's own loader, with a skeleton that has one program more.
ORACLE_AGAIN := $(shell grep -rl --include='*.c' malloctrace.skel.h user)
ORACLE_OBJ := $(patsubst %.c,$(ORACLE)/%.o,$(ORACLE_AGAIN) $(wildcard tests/oracle/*.c))
ORACLE_OBJ := $(filter-out %.bpf.o,$(ORACLE_OBJ))

.PHONY: oracle
oracle: $(ORACLE)/unwind_oracle $(B)/malloctrace $(B)/live-tests fixtures
	$(Q)$(B)/live-tests --bin $(B)/malloctrace --fixtures $(B)/fixtures --filter 'truth_*' --scale $(ORACLE_SCALE)
	$(Q)$(ORACLE)/unwind_oracle $(ORACLE_ARGS)

$(ORACLE)/malloctrace.bpf.o: tests/oracle/oracle.bpf.c tests/oracle/oracle.h $(wildcard bpf/*) $(wildcard vmlinux/*/*.h) Makefile
	$(call say,BPF,$@)mkdir -p $(ORACLE) && $(CLANG) -g -O2 -mcpu=v3 -target bpf -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Werror -Wno-unused-parameter \
		-Ivmlinux/$(ARCH) -I. -I/usr/include/$(MULTIARCH) -c $< -o $(ORACLE)/full.bpf.o && \
		$(BPFTOOL) gen object $@ $(ORACLE)/full.bpf.o

$(ORACLE)/malloctrace.skel.h: $(ORACLE)/malloctrace.bpf.o
	$(call say,SKEL,$@)$(skeleton)

$(ORACLE_OBJ): | $(ORACLE)/malloctrace.skel.h

$(ORACLE)/%.o: %.c Makefile tests/oracle/oracle.mk
	$(call say,CC,$@)mkdir -p $(@D) && $(CC) -I$(ORACLE) $(ALL_CFLAGS) -c $< -o $@

$(ORACLE)/unwind_oracle: $(ORACLE_OBJ) $(filter-out $(ORACLE_AGAIN:%.c=$(B)/%.o),$(LIB_OBJ))
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)
