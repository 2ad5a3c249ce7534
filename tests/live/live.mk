# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# The live tests and their fixtures: `make build/live-tests fixtures`, then build/live-tests as root.

FX := $(B)/fixtures
OBJCOPY ?= $(CROSS)objcopy
FX_CC_FLAGS := -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-function -O1 -g -fno-builtin -fno-optimize-sibling-calls
FX_CXX_FLAGS := -std=gnu++17 -fsized-deallocation -D_GNU_SOURCE -Wall -Wextra -Wno-unused-function -Wno-missing-field-initializers -O1 -g -fno-builtin -fno-optimize-sibling-calls
FX_FP := -fno-omit-frame-pointer
FX_NOFP := -fomit-frame-pointer
FX_CXX := $(CROSS)g++
MUSL_CC := $(shell command -v $(if $(CROSS),$(CROSS:-gnu-=-musl-)gcc,musl-gcc))
# musl lacks what libgcc's out-of-line atomics ask glibc for.
MUSL_FLAGS := $(if $(filter arm64,$(ARCH)),-mno-outline-atomics)

FX_PROGS := $(patsubst tests/fixtures/%.c,%,$(filter-out tests/fixtures/lib%.c tests/fixtures/nolibc.c,$(wildcard tests/fixtures/*.c)))
FX_LIBS := $(patsubst tests/fixtures/%.c,%.so,$(wildcard tests/fixtures/lib*.c))
FX_CXX_PROGS := $(patsubst tests/fixtures/%.cc,%,$(wildcard tests/fixtures/*.cc))
FIXTURES := $(addprefix $(FX)/,reach-tool $(FX_PROGS) $(FX_PROGS:=.nofp) $(FX_CXX_PROGS) $(FX_LIBS) basic.static nolibc nolibc.go \
	stacks.static stacks.static-pie stacks.stripped owners_cxx.stripped stacks_cxx.nofp libstacks.nofp.so libstacks_plt.so libstacks_plt.nofp.so \
	stacks.pac stacks.pac-nofp mixed.nofp-static names.nodebug names.linked within.split mappings.static linked.static linked.unknown cxx.static written.static written.moved nesting.static twolibcs.static libheader.nofp.so libplug_b.so libplug_c.so libplug_d.so libplug.nofp.so libplug_d.nofp.so \
	heap-tool kinds.stripped kinds.static kinds.nopie kinds.nortti kinds.nortti-stripped parts.stripped parts.static \
	$(if $(MUSL_CC),parts.musl basic.musl basic.musl-static mappings.musl mappings_any.musl mappings.musl-static))
include tests/fixtures/truth/truth.mk
FIXTURES += $(TRUTH_FIXTURES)
include tests/heap/heapledger.mk
include tests/fixtures/python/python.mk
FIXTURES += $(PYTHON_FIXTURES) $(FX)/node/kept.js

LIVE_SRC := $(wildcard tests/live/*.c)
LIVE_OBJ := $(LIVE_SRC:%.c=$(B)/%.o)

.PHONY: fixtures
fixtures: $(FIXTURES)

# Static, so that the same file runs where there is nothing else.
$(B)/live-tests: $(LIVE_OBJ) | fixtures
	$(call say,LINK,$@)$(CC) $(LDFLAGS) -static -o $@ $(LIVE_OBJ) -ljansson -lm

# Its objects are never sanitized: a sanitized program cannot be static.
$(LIVE_OBJ): $(B)/%.o: %.c tests/live/lt.h tests/live/live.mk Makefile
	$(call say,CC,$@)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) $(CFLAGS) -MMD -MP -c $< -o $@

$(FIXTURES): tests/fixtures/ledger.h tests/live/live.mk
$(FX)/libtally.so: tests/fixtures/tally.h tests/fixtures/held.h
$(filter $(FX)/diary%,$(FIXTURES)): tests/fixtures/diary.h
$(FX)/libmishap.so: tests/fixtures/mishap.h
$(filter $(FX)/mappings%,$(FIXTURES)): tests/fixtures/mappings.h
$(filter $(FX)/life% $(FX)/stacks%,$(FIXTURES)): tests/fixtures/place.h
$(filter $(FX)/names% $(FX)/everyday%,$(FIXTURES)): tests/fixtures/jit.h
$(filter $(FX)/names% $(FX)/mixed% $(FX)/patched% $(FX)/byhand% $(FX)/stacks% $(FX)/libstacks% $(FX)/libplug% $(FX)/code%,$(FIXTURES)): tests/fixtures/frame.h

$(FX)/node/%.js: tests/fixtures/node/%.js
	$(call say,FIXTURE,$@)mkdir -p $(@D) && cp $< $@

$(FX)/%.so: tests/fixtures/%.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(FX_FP) -fPIC -shared -o $@ $<

# Programs that use a library of ours find it beside themselves.
FX_LINK = -pthread -L$(FX) $(FX_LINK_$(basename $(@F))) -Wl,-rpath,'$$ORIGIN'
FX_LINK_custom := -lalloc
FX_LINK_prefix := -lpre
FX_LINK_fool := -lfool
FX_LINK_ctor := -lctor
FX_LINK_hidden := -llinked
FX_LINK_unnamed := -lunnamed
FX_LINK_stacks = -lstacks_plt$(if $(filter %nofp,$@),.nofp)
$(FX)/custom $(FX)/custom.nofp: $(FX)/liballoc.so
$(FX)/prefix $(FX)/prefix.nofp: $(FX)/libpre.so
$(FX)/ctor $(FX)/ctor.nofp: $(FX)/libctor.so
$(FX)/hidden $(FX)/hidden.nofp: $(FX)/liblinked.so
$(addprefix $(FX)/,linked linked.nofp linked.static linked.unknown liblinked.so): tests/fixtures/linked.h
$(FX)/fool $(FX)/fool.nofp: $(FX)/libfool.so
$(FX)/unnamed $(FX)/unnamed.nofp: $(FX)/libunnamed.so
$(FX)/libunnamed.so: FX_FP += -s

$(addprefix $(FX)/,$(FX_PROGS)): $(FX)/%: tests/fixtures/%.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(FX_FP) -o $@ $< $(FX_LINK)

$(addprefix $(FX)/,$(FX_PROGS:=.nofp)): $(FX)/%.nofp: tests/fixtures/%.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(FX_NOFP) -o $@ $< $(FX_LINK)

$(addprefix $(FX)/,$(FX_CXX_PROGS)): $(FX)/%: tests/fixtures/%.cc
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(FX_CXX) $(FX_CXX_FLAGS) $(FX_FP) -o $@ $< -pthread

$(FX)/%.static: tests/fixtures/%.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(FX_FP) -static -o $@ $<

$(FX)/cxx.static: tests/fixtures/cxx.cc
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(FX_CXX) $(FX_CXX_FLAGS) $(FX_FP) -static -o $@ $<

$(FX)/written.moved: tests/fixtures/written.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(FX_FP) -static -DMOVED -o $@ $<

# An allocator under a name that nobody has heard of.
$(FX)/linked.unknown: tests/fixtures/linked.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(FX_FP) -DLINKED_PREFIX=shop_ -o $@ $<

$(FX)/%.musl: tests/fixtures/%.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(MUSL_CC) $(FX_CC_FLAGS) $(MUSL_FLAGS) $(FX_FP) -o $@ $<

$(FX)/%.musl-static: tests/fixtures/%.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(MUSL_CC) $(FX_CC_FLAGS) $(MUSL_FLAGS) $(FX_FP) -static -o $@ $<

# No C library at all: a program in which there is no malloc to be found.
$(FX)/nolibc.go: FX_MORE := -DGO
$(FX)/nolibc $(FX)/nolibc.go: tests/fixtures/nolibc.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) -std=gnu17 -Wall -Wextra -O1 -ffreestanding -fno-stack-protector -nostdlib -static $(FX_MORE) -o $@ $<

# ---- known chains: optimized as distributions do; their libraries with and without frame pointers, too
$(addprefix $(FX)/,stacks stacks.nofp stacks_cxx libstacks.so): FX_CC_FLAGS += -O2
$(addprefix $(FX)/,stacks_cxx): FX_CXX_FLAGS += -O2
$(FX)/stacks $(FX)/stacks.stripped $(FX)/stacks.pac: $(FX)/libstacks_plt.so
$(FX)/stacks.nofp $(FX)/stacks.pac-nofp: $(FX)/libstacks_plt.nofp.so

$(FX)/libstacks.nofp.so: tests/fixtures/libstacks.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) -O2 $(FX_NOFP) -fPIC -shared -o $@ $<

$(FX)/libstacks_plt.so: tests/fixtures/libstacks.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) -O2 $(FX_FP) -DPLT -fPIC -shared -o $@ $<

$(FX)/libstacks_plt.nofp.so: tests/fixtures/libstacks.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) -O2 $(FX_NOFP) -DPLT -fPIC -shared -o $@ $<

# Names from the dynamic table alone.
$(FX)/owners_cxx.stripped: tests/fixtures/owners_cxx.cc
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(FX_CXX) $(FX_CXX_FLAGS) $(FX_FP) -s -o $@ $<

$(FX)/stacks.stripped: tests/fixtures/stacks.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) -O2 $(FX_NOFP) -rdynamic -s -o $@ $< $(FX_LINK)

$(FX)/stacks.static: tests/fixtures/stacks.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) -O2 $(FX_NOFP) -DFX_STATIC -static -o $@ $< -pthread

$(FX)/stacks.static-pie: tests/fixtures/stacks.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) -O2 $(FX_FP) -DFX_STATIC -fPIE -static-pie -o $@ $< -pthread

$(FX)/stacks_cxx.nofp: tests/fixtures/stacks_cxx.cc
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(FX_CXX) $(FX_CXX_FLAGS) -O2 $(FX_NOFP) -o $@ $<

$(FX)/mixed.nofp-static: tests/fixtures/mixed.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) -O2 $(FX_NOFP) -static -o $@ $<

# Return addresses that are signed on the way to the stack, or what the machine has of the kind.
FX_PAC := $(if $(filter arm64,$(ARCH)),-mbranch-protection=standard,-fcf-protection)
$(FX)/stacks.pac: tests/fixtures/stacks.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) -O2 $(FX_FP) $(FX_PAC) -o $@ $< $(FX_LINK)

$(FX)/stacks.pac-nofp: tests/fixtures/stacks.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) -O2 $(FX_NOFP) $(FX_PAC) -o $@ $< $(FX_LINK)

# Plugins that differ in their names alone.
$(FX)/libplug_b.so: PLUG := beta
$(FX)/libplug_c.so: PLUG := ceta
$(FX)/libplug_d.so $(FX)/libplug_d.nofp.so: PLUG := delt -DPAD=3000
$(FX)/libplug.nofp.so: PLUG := alfa
$(addprefix $(FX)/,libplug_b.so libplug_c.so libplug_d.so libplug.nofp.so libplug_d.nofp.so): tests/fixtures/libplug.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(if $(findstring nofp,$@),-O2 $(FX_NOFP),$(FX_FP)) -DPLUG=$(PLUG) -fPIC -shared -o $@ $<

# Functions that end by jumping to others.
$(FX)/within $(FX)/within.nofp $(FX)/within.split $(addprefix $(FX)/,nesting nesting.nofp nesting.static libheader.so libheader.nofp.so): \
	FX_CC_FLAGS += -O2 -foptimize-sibling-calls

$(FX)/within.split: tests/fixtures/within.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(FX_FP) -gsplit-dwarf -o $@ $< $(FX_LINK)

$(FX)/libheader.nofp.so: tests/fixtures/libheader.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(FX_NOFP) -fPIC -shared -o $@ $<

# ---- C++ classes: with type information and without, by symbols and without
$(FX)/kinds.stripped: FX_MORE := -s
$(FX)/kinds.static: FX_MORE := -static -s
$(FX)/kinds.nopie: FX_MORE := -no-pie -fno-pie
$(FX)/kinds.nortti: FX_MORE := -fno-rtti
$(FX)/kinds.nortti-stripped: FX_MORE := -fno-rtti -s
$(addprefix $(FX)/kinds.,stripped static nopie nortti nortti-stripped): tests/fixtures/kinds.cc
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(FX_CXX) $(FX_CXX_FLAGS) $(FX_FP) $(FX_MORE) -o $@ $<

$(FX)/parts.stripped: tests/fixtures/parts.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(FX_FP) -s -o $@ $< -pthread

# What user/heap finds, one module at a time; static, as the tests themselves are.
$(FX)/heap-tool: $(B)/tests/heap/heap_tool.o $(LIB_OBJ)
	$(call say,LINK,$@)mkdir -p $(FX) && $(CC) $(SANFLAGS) $(LDFLAGS) $(if $(SAN),,-static $(STATIC_QUIET)) -o $@ $(filter %.o,$^) $(if $(SAN),$(LIBS),$(STATIC_LIBS))

# Symbols but no debug info, and a build id that a test knows.
# Debug information would name its functions as the source does.
$(FX)/hostile $(FX)/hostile.nofp: FX_CC_FLAGS += -g0

$(FX)/names.nodebug: tests/fixtures/names.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(FX_FP) -g0 -Wl,--build-id=0x6d616c6c6f6374726163652d6e616d6573 -o $@ $<

# Its debug info is in another file, "file.debug".
$(FX)/names.linked: $(FX)/names.nodebug
	$(call say,FIXTURE,$@)mkdir -p $@.d && cp $< $@.d/file.debug && $(OBJCOPY) --add-gnu-debuglink=$@.d/file.debug $< $@

# What no pointer reaches, by address; static, as the tests themselves are.
$(FX)/reach-tool: $(B)/tests/heap/reach_tool.o $(LIB_OBJ)
	$(call say,LINK,$@)mkdir -p $(FX) && $(CC) $(SANFLAGS) $(LDFLAGS) $(if $(SAN),,-static $(STATIC_QUIET)) -o $@ $(filter %.o,$^) $(if $(SAN),$(LIBS),$(STATIC_LIBS))

# Every system call fails in its turn, and every allocation: hours. `make test` has a part of it.
.PHONY: fault-test
fault-test: all $(B)/live-tests
	$(Q)MISHAPS=$(or $(MISHAPS),all) $(B)/live-tests --bin $(B)/malloctrace --fixtures $(B)/fixtures --jobs $$(nproc) --limit 14400 --filter 'mishaps_*,memory_is_refused'
