# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# What takes minutes, and is the same as the live tests harm_* and soak_* are in seconds; as root.
#   `make harm-test [TIMES=25]`: servers and a program of 64 threads, attached to and left, killed at random; 25 times as often
#   as in `make test`, which is 500 attachments and 300 kills of the program, and 200 of each server.
#   `make soak [MINUTES=15]`: one process at its full rate, the same with `--mode leak` and threads that come and go, and with a heap that is busy and large by turns, then the whole machine with thousands of processes.

TIMES ?= 25
MINUTES ?= 15

.PHONY: harm-test soak

harm-test:
	$(Q)scripts/install-deps build test
	$(Q)$(MAKE) --no-print-directory all $(B)/live-tests fixtures
	$(Q)$(B)/live-tests --bin $(B)/malloctrace --fixtures $(B)/fixtures --filter 'harm_*' --scale $$(($(TIMES) * 100))

# Two tests of 12 seconds and two of 15 share the time.
soak:
	$(Q)scripts/install-deps build test
	$(Q)$(MAKE) --no-print-directory all $(B)/live-tests fixtures
	$(Q)$(B)/live-tests --bin $(B)/malloctrace --fixtures $(B)/fixtures --filter 'soak_*' --scale $$(($(MINUTES) * 60 * 100 / 54))
