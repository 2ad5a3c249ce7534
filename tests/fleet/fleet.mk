# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# `make fleet-test`: `malloctrace serve` with a real Prometheus, promtool, go tool pprof and Chromium; as root, a minute or two.

.PHONY: fleet-test

fleet-test:
	$(Q)scripts/install-deps build
	$(Q)scripts/install-deps fleet || echo "what the tests of serve need could not be installed"
	$(Q)$(MAKE) --no-print-directory all $(DEMO_PROG)
	$(Q)$(MAKE) --no-print-directory static || echo "there is no static malloctrace"
	$(Q)tests/fleet/run $(B)
