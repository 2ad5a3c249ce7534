# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# `make demo`: installs what is missing, builds, and finds the leak of a small program.

DEMO_PROG := $(B)/demo/sessiond

.PHONY: demo
# What is missing comes first: make can only decide what to build once the tools are there.
demo:
	$(Q)scripts/install-deps build
	$(Q)$(MAKE) --no-print-directory $(B)/malloctrace $(DEMO_PROG)
	$(Q)scripts/demo $(B)/malloctrace $(DEMO_PROG)

# With frame pointers, so that its stacks are whole on every architecture.
$(DEMO_PROG): scripts/demo.d/sessiond.c scripts/demo.mk
	$(call say,DEMO,$@)mkdir -p $(@D) && $(CC) -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -O1 -g -fno-builtin \
		-fno-inline -fno-omit-frame-pointer -fno-optimize-sibling-calls -o $@ $<

# The screens of README.md and docs/, each from a real run; as root, two minutes.
screens: all $(DEMO_PROG)
	$(Q)scripts/screens
