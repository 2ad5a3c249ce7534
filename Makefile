# malloctrace: see README.md. `make V=1` shows commands, `make SAN=1` builds with sanitizers into build-san/, `make COV=1` what counts its lines into build-cov/.

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= cc
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)

B := $(if $(SAN),build-san,$(if $(COV),build-cov,build))
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2);)

# The machine that the result runs on: CROSS=x86_64-linux-gnu- builds for another one.
CROSS ?=
ifneq ($(CROSS),)
CC := $(CROSS)gcc
endif
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null || $(CC) -dumpmachine)
ARCH := $(if $(findstring x86_64,$(MULTIARCH)),x86,arm64)

CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wno-unused-parameter $(if $(WERROR),-Werror)
comma := ,
SANFLAGS := $(if $(SAN),-fsanitize=address$(comma)undefined -fno-omit-frame-pointer) $(if $(COV),--coverage -fprofile-update=atomic)
# It runs as root and reads what others wrote: whatever flags a packager has, these come after them (scripts/check-hardened).
# FORTIFY needs an optimizer, and sanitizers look into what it hides.
has_flag = $(shell $(CC) -Werror $(1) -x c -c /dev/null -o /dev/null 2>/dev/null && echo '$(1)')
HARDEN_CC := -fPIE -fstack-protector-strong $(call has_flag,-fstack-clash-protection) \
	$(call has_flag,$(if $(filter arm64,$(ARCH)),-mbranch-protection=standard,-fcf-protection))
HARDEN_CPP := $(if $(SAN)$(filter -O0,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
HARDEN_LD := -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack
# no fused multiply-add: a figure has the same digits on every architecture
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -ffp-contract=off -DVERSION='"$(VERSION)"' $(WARN) $(CFLAGS) $(HARDEN_CC) $(HARDEN_CPP) $(SANFLAGS) -Iuser -I. -I$(B) -MMD -MP
LIBS := -lncursesw -ltinfo -lbpf -ldw -lelf -lcapstone -lcap -liberty -ljansson -llzma -lz -lm

SRC := $(shell find user -name '*.c')
OBJ := $(SRC:%.c=$(B)/%.o)
# what the program has and tests have not: its main(), and that of the process that speaks HTTP
LIB_OBJ := $(filter-out $(B)/user/main.o $(B)/user/serve/web_child.o,$(OBJ))

.DEFAULT_GOAL := all
.PHONY: all test test-long check unit live clean check-layers screens analysis coverage

all: $(B)/malloctrace

# ---- the BPF side: checked against no running kernel; each object is embedded as a skeleton
SKELETONS := $(patsubst bpf/%.bpf.c,$(B)/%.skel.h,$(wildcard bpf/*.bpf.c))

.SECONDARY: $(SKELETONS:.skel.h=.bpf.o)

$(B)/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h vmlinux/*/*.h) Makefile
	$(call say,BPF,$@)mkdir -p $(B) && $(CLANG) -g -O2 -mcpu=v3 -target bpf -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Wno-unused-parameter $(BPF_FLAGS) \
		-Ivmlinux/$(ARCH) -I. -I/usr/include/$(MULTIARCH) -c $< -o $(B)/$*.full.o && \
		$(BPFTOOL) gen object $@ $(B)/$*.full.o

# A skeleton names the types of the programs' variables, and does not define them.
skeleton = { echo '\#include "bpf/abi.h"' && $(BPFTOOL) gen skeleton $< name $(@F:.skel.h=_bpf); } > $@.tmp && mv $@.tmp $@

$(B)/%.skel.h: $(B)/%.bpf.o
	$(call say,SKEL,$@)$(skeleton)

# ---- the page of the HTML report
$(B)/html_page.h: scripts/html-page $(wildcard user/files/html/page/*)
	$(call say,PAGE,$@)mkdir -p $(B) && scripts/html-page user/files/html/page > $@.tmp && mv $@.tmp $@

$(B)/user/files/html/html.o: $(B)/html_page.h

# ---- the completion scripts of shells, without what comes from the table of options
$(B)/completion.%.h: user/options/completion/malloctrace.% Makefile
	$(call say,TEXT,$@)mkdir -p $(B) && sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $< > $@.tmp && mv $@.tmp $@

$(B)/user/options/opts_help.o: $(B)/completion.bash.h $(B)/completion.zsh.h $(B)/completion.fish.h

# ---- the program
$(OBJ): | $(SKELETONS)

$(B)/%.o: %.c Makefile
	$(call say,CC,$@)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c $< -o $@

$(B)/malloctrace: $(OBJ)
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -pie $(HARDEN_LD) -o $@ $^ -lmicrohttpd -lgnutls $(LIBS)

-include $(shell find $(B) \( -path $(B)/package -o -path $(B)/release \) -prune -o -name '*.d' -type f -print 2>/dev/null)

# ---- tests
UNIT_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/unit/*.c))
$(UNIT_OBJ): WARN += -Wno-missing-field-initializers
$(UNIT_OBJ): | $(SKELETONS)

$(B)/unit-tests: $(UNIT_OBJ) $(LIB_OBJ)
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lcriterion

# Recipes here call make again: what they install must be there before the rest is read. All processors build, unless -j says.
parallel = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

test test-long:
	$(Q)scripts/install-deps build test
	$(Q)scripts/other-libcs $(B)/libcs
	$(Q)+$(MAKE) $(parallel) --no-print-directory all $(B)/unit-tests $(B)/live-tests fixtures $(B)/bench/bench $(B)/bench/reader
	$(Q)scripts/test $(B) $(if $(filter %-long,$@),long)

# A minute: what a change breaks most often. Live tests need root; else they are skipped aloud.
check: all $(B)/unit-tests $(B)/live-tests fixtures
	$(Q)scripts/check-layers && scripts/check-names && scripts/screens --check && scripts/check-bpf-headers && scripts/check-bpf-stack && scripts/check-hardened $(B)/malloctrace
	$(Q)ASAN_OPTIONS=abort_on_error=1 $(B)/unit-tests
	$(Q)$(B)/live-tests --bin $(B)/malloctrace --fixtures $(B)/fixtures --jobs $$((2 * $$(nproc))) --filter "$$(grep -v '^#' tests/live/check | paste -sd,)"

unit: $(B)/unit-tests
	$(Q)ASAN_OPTIONS=abort_on_error=1 $(B)/unit-tests

live: all $(B)/live-tests
	$(Q)$(B)/live-tests --bin $(B)/malloctrace --fixtures $(B)/fixtures --jobs $$((2 * $$(nproc)))

check-layers:
	$(Q)scripts/check-layers

# What reads the code, and valgrind, which runs it (scripts/analysis).
analysis: $(B)/unit-tests $(SKELETONS) $(B)/html_page.h $(B)/completion.bash.h $(B)/completion.zsh.h $(B)/completion.fish.h
	$(Q)scripts/install-deps build test analysis
	$(Q)scripts/analysis $(B) cppcheck clang-tidy valgrind

# Which lines the unit tests and the live tests run; as root, a quarter of an hour.
coverage:
	$(Q)scripts/install-deps build test
	$(Q)$(MAKE) --no-print-directory COV=1 all build-cov/unit-tests build-cov/live-tests fixtures
	$(Q)find build-cov -name '*.gcda' -delete
	-$(Q)build-cov/unit-tests
	-$(Q)build-cov/live-tests --bin build-cov/malloctrace --fixtures build-cov/fixtures --jobs $$((2 * $$(nproc))) --filter '!harm_*,!soak_*'
	$(Q)scripts/coverage build-cov

-include tests/live/live.mk tests/live/long.mk tests/fuzz/fuzz.mk tests/oracle/oracle.mk bench/bench.mk scripts/demo.mk tests/vm/vm.mk tests/browser/browser.mk tests/fleet/fleet.mk scripts/package/package.mk

clean:
	rm -rf build build-san build-cov
