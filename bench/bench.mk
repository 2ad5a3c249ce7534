# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# Benchmarks: `make bench` installs what they compare with, builds, and runs them as root. BENCH_ARGS goes to bench/bench.

BENCH_OBJ := $(patsubst %,$(B)/bench/%.o,bench pairs programs results promises tools malloctrace bpftrace child text floor)
# What the targets would be given by the loader; copies of it are probed instead, and bpftrace has its own.
BENCH_LIBS := $(wildcard $(foreach name,libc.so.6 libjemalloc.so.2,$(shell $(CC) -print-file-name=$(name))))
BENCH_COPIES := $(foreach dir,lib lib-bpftrace,$(patsubst %,$(B)/bench/$(dir)/%,$(notdir $(BENCH_LIBS))))
BENCH_ARGS ?=

.PHONY: bench bench-stacks bench-growth bench-others bench-machine bench-names bench-keys bench-reader bench-heap bench-programs bench-without-peak

bench:
	$(Q)scripts/install-deps build bench
	$(Q)$(MAKE) --no-print-directory bench-programs
	$(Q)$(B)/bench/bench $(BENCH_ARGS) $(B)

# The cost of a stack by its length and method, and of the tables.
bench-stacks: $(B)/malloctrace $(B)/bench/stacks $(B)/bench/target
	$(Q)$(B)/bench/stacks $(B)

$(B)/bench/stacks: $(B)/bench/stacks.o $(B)/bench/child.o $(LIB_OBJ)
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The cost of a page fault with --mode growth.
bench-growth: $(B)/malloctrace $(B)/bench/growth
	$(Q)$(B)/bench/growth $(B)/malloctrace

$(B)/bench/growth: $(B)/bench/growth.o $(LIB_OBJ)
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# What a process pays that nobody asked about, while another one is traced.
bench-others: $(B)/malloctrace $(B)/bench/others
	$(Q)$(B)/bench/others $(B)/malloctrace

# What the build of this project takes while the whole machine is traced.
bench-machine: $(B)/malloctrace
	$(Q)bench/machine $(B)/malloctrace $(ROUNDS)

$(B)/bench/others: $(B)/bench/others.o
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^

# The cost of names: make bench-names FILE=/path/to/a/library N=10000
N ?= 10000
bench-names: $(B)/bench/names
	$(Q)$< $(or $(FILE),$(B)/malloctrace) $(N)

$(B)/bench/names: $(B)/bench/names.o $(LIB_OBJ)
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# How long the live view takes from a key to its screen: make bench-keys SITES=20000
SITES ?= 20000
bench-keys: $(B)/bench/keys
	$(Q)$< $(SITES)

$(B)/bench/keys: $(B)/bench/keys.o $(B)/tests/unit/sample_snapshot.o $(B)/tests/unit/big_snapshot.o $(LIB_OBJ)
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# What malloctrace itself takes, of CPU time and memory: 10,000 call stacks, 4 million live blocks.
bench-reader: $(B)/malloctrace $(B)/bench/reader $(B)/bench/many
	$(Q)$(B)/bench/reader $(BENCH_ARGS) $(B)

$(B)/bench/reader: $(B)/bench/reader.o $(B)/bench/child.o $(B)/bench/text.o $(LIB_OBJ)
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# What a look at a heap of 4 million blocks takes, and what the program that is read loses meanwhile.
bench-heap: $(B)/malloctrace $(B)/bench/heap $(B)/bench/tree
	$(Q)$(B)/bench/heap $(BENCH_ARGS) $(B)

$(B)/bench/heap: $(B)/bench/heap.o $(B)/bench/child.o $(B)/bench/text.o $(LIB_OBJ)
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(B)/bench/tree: bench/tree.h

bench-programs: $(B)/malloctrace $(B)/bench/bench $(B)/bench/target $(B)/bench/sqlite $(B)/bench/source.i $(BENCH_COPIES) bench-without-peak

$(B)/bench/bench: $(BENCH_OBJ) $(LIB_OBJ)
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS) -lm

# No sanitizers: they would bring their own malloc. Frame pointers, because bpftrace walks by them.
$(B)/bench/target $(B)/bench/many $(B)/bench/tree $(B)/bench/sqlite $(B)/bench/crowd: $(B)/bench/%: bench/%.c bench/target.h bench/bench.mk
	$(call say,CC,$@)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) -O2 -g -fno-builtin -fno-omit-frame-pointer \
		-fno-optimize-sibling-calls -Iuser -I. -o $@ $< -pthread $(if $(filter %/sqlite,$@),-lsqlite3)

# What gcc compiles in it: a third of a megabyte, a third of a second.
$(B)/bench/source.i: user/model/build.c bench/bench.mk
	$(call say,CPP,$@)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE -Iuser -I. -E -P -o $@ $<

define bench_copy
$$(B)/bench/lib/$$(notdir $(1)) $$(B)/bench/lib-bpftrace/$$(notdir $(1)): $(1)
	$$(call say,COPY,$$@)mkdir -p $$(@D) && cp -L $$< $$@.tmp && mv $$@.tmp $$@
endef
$(foreach lib,$(BENCH_LIBS),$(eval $(call bench_copy,$(lib))))

# The same malloctrace without its counters for the peak, to tell what they cost. In a tree of its own: its BPF object differs.
bench-without-peak: $(B)/malloctrace
	$(Q)$(MAKE) -s --no-print-directory B=$(B)/bench/without-peak BPF_FLAGS=-DMT_WITHOUT_PEAK $(B)/bench/without-peak/malloctrace

# `serve` beside forty processes, and scraped by ten: nine minutes.
.PHONY: bench-serve
bench-serve: all $(B)/bench/crowd
	$(Q)bench/serve $(B)/malloctrace $(B)/bench/crowd

# The promises of --overhead, a minute each: the live tests' own programs, with the bounds that are promised.
BUDGET_SECONDS ?= 60
.PHONY: bench-budget
bench-budget: all $(B)/live-tests
	$(Q)BUDGET_SECONDS=$(BUDGET_SECONDS) $(B)/live-tests --bin $(B)/malloctrace --fixtures $(B)/fixtures --filter 'budget_*'
