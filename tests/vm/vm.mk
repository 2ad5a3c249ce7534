# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# `make static`: one file that needs nothing but a kernel, for this machine or with CROSS= for another.
# `make vm-test [KERNEL=6.1|6.12] [ARCH=arm64|amd64] [TEST=GLOB]`: the live tests in virtual machines.

# The C library has to come before libiberty, which has an obstack of its own; libdw then takes the former's.
STATIC_LIBS := -lncursesw -ltinfo -lbpf -ldw -lelf -lcapstone -lcap -ljansson -llzma -lbz2 -lzstd -lz -lm -lc -liberty
# ld warns of dlopen and initgroups. Without their libraries they fail, and are told as any other failure:
# libdebuginfod is only asked for by --debuginfod, and groups come from /etc/group all the same.
STATIC_QUIET = $(if $(shell $(CC) -Wl,--help 2>/dev/null | grep -e --no-warnings),-Wl$(comma)--no-warnings)

.PHONY: static vm-test vm-test-faults vm-programs vm-demo-programs

static: $(B)/malloctrace.static

# No distribution has all of GnuTLS as archives. What libmicrohttpd and we would call of it fails instead: such a malloctrace speaks plain
# HTTP, and says so where a certificate is given.
MHD_ARCHIVE = $(shell $(CC) -print-file-name=libmicrohttpd.a)
$(B)/no_tls.c: $(B)/user/serve/web_child.o Makefile tests/vm/vm.mk
	$(call say,TEXT,$@)mkdir -p $(@D) && { printf '/* made by tests/vm/vm.mk */\n#include <stdbool.h>\nconst bool serve__lacks_tls = true;\n'; \
		nm -u $(MHD_ARCHIVE) $(B)/user/serve/web_child.o 2>/dev/null | awk '$$2 ~ /^gnutls_/ { print $$2 }' | sort -u | \
		sed 's/.*/long &(void);\nlong &(void) { return -1; }/'; } > $@.tmp && mv $@.tmp $@

$(B)/no_tls.o: $(B)/no_tls.c
	$(call say,CC,$@)$(CC) $(CFLAGS) $(HARDEN_CC) -c $< -o $@

$(B)/malloctrace.static: $(OBJ) $(B)/no_tls.o
	$(call say,LINK,$@)$(CC) $(LDFLAGS) -static-pie $(HARDEN_LD) $(STATIC_QUIET) -o $@ $^ -lmicrohttpd $(STATIC_LIBS)

$(B)/vm-init: tests/vm/init.c tests/vm/vm.mk
	$(call say,LINK,$@)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE $(WARN) $(CFLAGS) -static -o $@ $<

# What a machine is made of.
vm-programs: static $(B)/vm-init $(B)/live-tests fixtures
vm-demo-programs: static $(B)/vm-init $(DEMO_PROG)

# ARCH has a value of ours when the user gave none; only theirs is a wish.
VM_WISH = KERNEL='$(KERNEL)' ARCH='$(if $(filter command,$(origin ARCH)),$(ARCH))'

vm-test:
	$(Q)scripts/install-deps build test vm
	$(Q)$(VM_WISH) TEST='$(TEST)' scripts/vm-test

# That machines which hang, panic or go off are noticed.
vm-test-faults:
	$(Q)scripts/install-deps build test vm
	$(Q)$(VM_WISH) tests/vm/faults
