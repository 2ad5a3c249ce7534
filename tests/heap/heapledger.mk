# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# Fixtures of the census, and what compares it with their ledger.
FIXTURES += $(addprefix $(FX)/,heap-check heapledger.static heapledger.any)

# ---- all blocks of a process: wrapped, where libc is linked into the program; with no libc at all, so that it runs with any
HEAP_WRAP := malloc calloc realloc free memalign aligned_alloc posix_memalign
$(filter $(FX)/heapledger%,$(FIXTURES)): tests/fixtures/heapledger.h
$(FX)/heapledger.static: tests/fixtures/heapledger.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) && $(CC) $(FX_CC_FLAGS) $(FX_FP) -DHEAP_STATIC -static $(HEAP_WRAP:%=-Wl$(comma)--wrap=%) -o $@ $< -pthread

# What it takes from libc is in a library of that name that has nothing but the names, and no versions of them. The linker
# makes _GLOBAL_OFFSET_TABLE_ itself, wherever an object asks for it, as those of x86_64 do.
$(FX)/heapledger.any: FX_NO := $(B)/no-libc
$(FX)/heapledger.any: tests/fixtures/heapledger.c
	$(call say,FIXTURE,$@)mkdir -p $(FX) $(FX_NO) && \
		$(CC) $(FX_CC_FLAGS) $(FX_FP) -fPIE -fno-stack-protector $(MUSL_FLAGS) -DHEAP_ANY -c -o $(FX_NO)/heapledger.o $< && \
		$(CROSS)nm -u $(FX_NO)/heapledger.o | awk '$$2 != "_GLOBAL_OFFSET_TABLE_" { print "void " $$2 "(void) {}" }' > $(FX_NO)/names.c && \
		$(CC) -shared -nostdlib -fno-builtin -w -Wl,-soname,libc.so.6 -o $(FX_NO)/libc.so $(FX_NO)/names.c && \
		$(CC) -shared -nostdlib -Wl,-soname,libpthread.so.0 -o $(FX_NO)/libpthread.so -x c /dev/null && \
		$(CC) -pie -rdynamic -nostdlib -o $@ $(FX_NO)/heapledger.o -Wl,--no-as-needed -L$(FX_NO) -lpthread -lc

# The linker takes what it needs from the archive: a list of files would name each that moves.
$(B)/user.a: $(LIB_OBJ)
	$(call say,AR,$@)rm -f $@ && ar rcs $@ $^

$(FX)/heap-check: $(B)/tests/heap/heap_check.o $(B)/user.a
	$(call say,LINK,$@)mkdir -p $(FX) && $(CC) $(SANFLAGS) $(LDFLAGS) $(if $(SAN),,-static) -o $@ $(filter %.o %.a,$^) -lcap -ljansson -lm -pthread
