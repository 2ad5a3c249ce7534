# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# `make browser-test`: opens HTML reports in a headless Chromium and uses them as a reader would.

.PHONY: browser-test

$(B)/browser-pages: $(B)/tests/browser/pages.o $(B)/tests/unit/sample_snapshot.o $(B)/tests/unit/asked_snapshot.o $(B)/tests/unit/big_snapshot.o $(B)/tests/unit/heap_snapshot.o $(LIB_OBJ)
	$(call say,LINK,$@)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

browser-test:
	$(Q)scripts/install-deps build
	$(Q)scripts/install-deps browser || echo "what the browser tests need could not be installed"
	$(Q)$(MAKE) --no-print-directory all $(B)/browser-pages $(FX)/hostile
	$(Q)tests/browser/run $(B)
