# SPDX-License-Identifier: GPL-2.0-or-later
# `make help` lists the targets. make/options.mk has the options: the processor, the libraries.

all:

include make/options.mk
include make/cross.mk
include make/compile.mk
include make/sources.mk
include make/stub.mk
include make/program.mk
include make/units.mk
include make/targets.mk
include make/chains.mk
include make/allocators.mk
include make/check.mk
include make/guests.mk
include make/bench.mk
include make/fuzz.mk

all: $(PROGRAM)

targets: $(TARGETS) $(ORACLE)

# As root, each target installs the packages it needs. Otherwise it says which are missing.
help:
	@printf '  %-15s %s\n' \
		'make' 'build the program: $(PROGRAM)' \
		'quickstart' 'build it and trace two programs' \
		'check' 'everything that protects main, in 15 minutes: call it before you commit' \
		'check-all' 'check, and: all of it by ptrace, with fewer rights, other kernels and processors, a soak' \
		'check-arch' 'only other kernels and processors, under qemu: KERNELS="6.1 armel" (tests/arch/kernels.py)' \
		'check-external' 'a leak suite on this machine (Juliet, ITC): SUITE=/path LIMIT=150 CASES="*malloc*"' \
		'check-liveness' 'real programs run on while what the leak scan calls dead is overwritten: MOMENTS=1000' \
		'check-stress' 'one test beside two busy processes: TEST=tests/runtime/test_x.py::test_y TIMES=10' \
		'check-timings' 'the 30 slowest tests of the last check' \
		'static' 'only static analysis, style and layers' \
		'units' 'only unit tests; SANITIZE=address,undefined' \
		'runtime' 'only tests on real programs: PYTEST="-k exec -x", BACKEND=ptrace' \
		'soak' 'a leak in a server under load: SOAK_SECONDS=1800' \
		'bench' 'what tracing costs, beside other tools: QUICK=1, ROWS=pairs,scan' \
		'plots' 'draw the curves of the last bench' \
		'fuzz' 'fuzz each parser for FUZZ_SECONDS=60' \
		'format' 'format the sources' \
		'install' 'PREFIX=/usr/local DESTDIR=; also uninstall' \
		'clean' 'remove everything that was built'

quickstart:
	tools/install-deps build
	@$(MAKE) --no-print-directory $(PROGRAM) $(BUILD)/targets/leak
	$(PROGRAM) $(BUILD)/targets/leak
	$(PROGRAM) sqlite3 :memory: < tests/targets/quickstart.sql

install: $(PROGRAM)
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/mtrace-bpf
	install -D -m 644 docs/mtrace-bpf.1 $(DESTDIR)$(PREFIX)/share/man/man1/mtrace-bpf.1

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/mtrace-bpf $(DESTDIR)$(PREFIX)/share/man/man1/mtrace-bpf.1

clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: all targets help quickstart install uninstall clean
.SECONDARY:
