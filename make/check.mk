# SPDX-License-Identifier: GPL-2.0-or-later
# Checks. tools/check runs suites side by side and prints a summary. tests/README.md describes each
# suite.

FORMATTED := $(shell find user bpf stub arch tests -name '*.c' -o -name '*.h' -o -name '*.cc')
ANALYSED  := $(shell find user arch -name '*.c')
TIDIED    := $(addsuffix .tidy,$(sort $(dir $(ANALYSED))))
SCRIPTS   := $(shell grep -rlE '^\#!.*[/ ](ba)?sh$$' tools tests .ci)
PYTEST    ?=
SUITES     := static runtime ptrace units fuzz
ALL_SUITES := static guests small ptrace-all fewer-rights soak runtime step units plain-units fuzz

check:
	tools/install-deps check
	@$(MAKE) --no-print-directory -j$(JOBS) check-programs
	@BUILD=$(BUILD) tools/check $(SUITES)

# Kernels are downloaded and built meanwhile. A test that needs one waits for it, and says if it is not
# available.
check-all:
	tools/install-deps all
	@nice tools/kernels $(SOME_KERNELS) >/dev/null 2>&1 &
	@$(MAKE) --no-print-directory -j$(JOBS) check-programs
	@$(MAKE) --no-print-directory -j$(JOBS) units-built step-program small-program guest-programs KERNELS="$(SOME_KERNELS)"
	@BUILD=$(BUILD) KERNELS="$(SOME_KERNELS)" tools/check $(ALL_SUITES)

check-programs: all targets fuzzers
	$(Q)$(MAKE) --no-print-directory units-built SANITIZE=address,undefined BUILD=$(BUILD)-sanitize

check-timings:
	@BUILD=$(BUILD) tools/check --timings

TEST  ?=
TIMES ?= 10

check-stress:
	tools/install-deps check
	@$(MAKE) --no-print-directory -j$(JOBS) all targets
	@BUILD=$(BUILD) tools/check --stress "$(TEST)" --times $(TIMES)

static:
	tools/install-deps check
	@$(MAKE) --no-print-directory -k tidy cppcheck format-check shellcheck layers words opens

tidy: $(TIDIED)

$(TIDIED): %.tidy: $(SKELETONS)
	$(Q)clang-tidy --quiet $(foreach file,$(ANALYSED),$(if $(filter $*,$(dir $(file))),$(file))) -- $(LANGUAGE)

cppcheck:
	$(Q)cppcheck -q --enable=warning,portability --inline-suppr --error-exitcode=1 \
		--suppress=unknownMacro -D_GNU_SOURCE -I user -I . -j$(JOBS) $(ANALYSED)

format-check:
	$(Q)clang-format --dry-run -Werror $(FORMATTED)

shellcheck:
	$(Q)shellcheck $(SCRIPTS)

layers:
	$(Q)tools/check-layers

words:
	$(Q)tools/check-words

opens:
	$(Q)tools/check-opens

format:
	tools/install-deps check
	clang-format -i $(FORMATTED)

# The program for small boards, stripped as it is installed there.
small-program:
	$(Q)$(MAKE) --no-print-directory $(GUEST_ARCH.armmp) SMALL=1 BUILD=build-arm-small
	$(Q)arm-linux-gnueabihf-strip -o build-arm-small/mtrace-bpf.stripped build-arm-small/mtrace-bpf
	$(Q)size=$$(stat -c %s build-arm-small/mtrace-bpf.stripped); [ $$size -lt 1048576 ] || \
		{ echo "the program for small boards has $$size bytes, more than 1 MiB" >&2; exit 1; }

# Runs only the runtime tests. PYTEST="-k exec -x" selects some, BACKEND=ptrace selects the backend.
runtime:
	tools/install-deps check
	@$(MAKE) --no-print-directory -j$(JOBS) all targets
	$(Q)env MTRACE=$(PROGRAM) TARGETS=$(BUILD)/targets \
		/usr/bin/python3 -m pytest -q -rs -p no:cacheprovider $(PYTEST) tests/runtime

SOAK_SECONDS ?= 1800

soak:
	tools/install-deps check
	@$(MAKE) --no-print-directory -j$(JOBS) all targets
	$(Q)env SOAK_SECONDS=$(SOAK_SECONDS) MTRACE=$(PROGRAM) TARGETS=$(BUILD)/targets \
		/usr/bin/python3 -m pytest -q -s -rs -p no:cacheprovider tests/runtime/test_soak.py

# Leak suites that are not part of this project. CASES=GLOB and LIMIT=N choose cases. EXTERNAL="--levels
# O0 --backends bpf --json FILE" is passed on (tests/external/run --help).
SUITE    ?=
CASES    ?=
LIMIT    ?=
EXTERNAL ?=

check-external:
	@test -d '$(SUITE)' || { echo "check-external: no folder '$(SUITE)' (SUITE=/path/to/suite)" >&2; exit 2; }
	tools/install-deps check
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@MTRACE=$(PROGRAM) tests/external/run --jobs $(JOBS) $(if $(CASES),--cases '$(CASES)') \
		$(if $(LIMIT),--limit $(LIMIT)) $(EXTERNAL) '$(SUITE)'

# Overwrites the words that the leak scan calls dead in installed programs, and checks that nothing
# changes.
MOMENTS  ?= 1000
LIVENESS ?=

check-liveness: $(BUILD)/tests/liveness/overwrite
	$(Q)tests/liveness/run --tool $< --moments $(MOMENTS) $(LIVENESS)

.PHONY: $(TIDIED) check check-all check-programs check-timings check-stress static tidy cppcheck format-check \
	shellcheck layers words opens format small-program runtime soak check-external check-liveness
