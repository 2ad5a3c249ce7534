# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
# `make install [DESTDIR=] [PREFIX=]`, `make uninstall`: the program, its man page, completions and documentation.
# `make release`: tarballs with a static binary, for each architecture. `make deb`, `make rpm`, `make arch`: packages.
# `make package-test`: all of it is made, and tried as far as that can be done on one machine.

BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
DOCDIR ?= $(DATADIR)/doc/malloctrace
BASHDIR ?= $(DATADIR)/bash-completion/completions
ZSHDIR ?= $(DATADIR)/zsh/site-functions
FISHDIR ?= $(DATADIR)/fish/vendor_completions.d

# What is installed, and a malloctrace that runs on this machine: it prints the completions.
PROGRAM ?= $(B)/malloctrace
COMPLETER ?= $(if $(CROSS),build/malloctrace,$(PROGRAM))
COMPLETIONS := $(B)/completions/malloctrace $(B)/completions/_malloctrace $(B)/completions/malloctrace.fish

.PHONY: install uninstall completions source release deb rpm arch package-test

completions: $(COMPLETIONS)

$(B)/completions/malloctrace: for_shell := bash
$(B)/completions/_malloctrace: for_shell := zsh
$(B)/completions/malloctrace.fish: for_shell := fish
$(COMPLETIONS): $(COMPLETER)
	$(call say,TEXT,$@)mkdir -p $(@D) && $(abspath $(COMPLETER)) --completion $(for_shell) > $@.tmp && mv $@.tmp $@

# The version has one place, which is not the page.
$(B)/malloctrace.1: docs/malloctrace.1 Makefile
	$(call say,TEXT,$@)mkdir -p $(@D) && sed '/^\.TH/s/ malloctrace / "malloctrace $(VERSION)" /' $< > $@.tmp && mv $@.tmp $@

$(B)/malloctrace.service: scripts/package/malloctrace.service.in Makefile scripts/package/package.mk
	$(call say,TEXT,$@)mkdir -p $(@D) && sed 's|@BINDIR@|$(BINDIR)|' $< > $@.tmp && mv $@.tmp $@

install: $(PROGRAM) $(COMPLETIONS) $(B)/malloctrace.1 $(B)/malloctrace.service
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(BINDIR)/malloctrace
	install -D -m 644 $(B)/malloctrace.1 $(DESTDIR)$(MANDIR)/man1/malloctrace.1
	install -D -m 644 $(B)/completions/malloctrace $(DESTDIR)$(BASHDIR)/malloctrace
	install -D -m 644 $(B)/completions/_malloctrace $(DESTDIR)$(ZSHDIR)/_malloctrace
	install -D -m 644 $(B)/completions/malloctrace.fish $(DESTDIR)$(FISHDIR)/malloctrace.fish
	install -d $(DESTDIR)$(DOCDIR)/docs/fleet $(DESTDIR)$(DOCDIR)/LICENSES
	install -m 644 README.md LICENSE $(DESTDIR)$(DOCDIR)
	install -m 644 docs/*.md docs/*.png $(DESTDIR)$(DOCDIR)/docs
	install -m 644 docs/fleet/* scripts/package/serve.conf $(B)/malloctrace.service $(DESTDIR)$(DOCDIR)/docs/fleet
	install -m 644 LICENSES/*.txt $(DESTDIR)$(DOCDIR)/LICENSES

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/malloctrace $(DESTDIR)$(MANDIR)/man1/malloctrace.1 $(DESTDIR)$(BASHDIR)/malloctrace \
		$(DESTDIR)$(ZSHDIR)/_malloctrace $(DESTDIR)$(FISHDIR)/malloctrace.fish
	rm -rf $(DESTDIR)$(DOCDIR)

# ---- for others

# Without the paths of this machine: made twice, wherever that is, it is the same.
SAME_PATHS := -ffile-prefix-map=$(CURDIR)=.
RELEASE_FLAGS = CFLAGS='-O2 $(SAME_PATHS)' BPF_FLAGS='$(SAME_PATHS)' SAN=

$(B)/malloctrace.stripped: $(B)/malloctrace.static
	$(call say,STRIP,$@)$(CROSS)strip -o $@ $<

source:
	$(Q)scripts/package/source $(VERSION)

release:
	$(Q)scripts/install-deps build cross
	$(Q)$(MAKE) --no-print-directory source
	$(Q)VERSION=$(VERSION) RELEASE_FLAGS="$(RELEASE_FLAGS)" scripts/package/release $(ARCHES)

deb rpm arch: source
	$(Q)scripts/package/$@ $(VERSION)

package-test:
	$(Q)scripts/install-deps build
	$(Q)scripts/install-deps package cross || echo "what the tests of packages need could not be installed"
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/package/run $(B)
