# SPDX-License-Identifier: GPL-2.0-or-later
# make            the program, at build/mtrace-bpf
# make quickstart build it and look at two programs (root)
# make check      what needs no privileges: style, static analysis, layers, unit tests
# make check-root what traces real programs (root, a kernel with uprobes and BPF)
# make check-all  both, with what they need installed first
# make bench      the cost of a traced call beside its peers (root, bpftrace)
# make fuzz       the parsers, FUZZ_SECONDS long (clang)
# make install    PREFIX=/usr/local DESTDIR=; uninstall, clean
#
# V=1 shows commands; SANITIZE=address,undefined builds into build-sanitize.
# PYTEST="-k exec -x" is passed to pytest; REQUIRE="uprobes valgrind" forbids skips for their want.

SANITIZE ?=
BUILD    ?= build$(if $(SANITIZE),-sanitize)
PREFIX   ?= /usr/local
DESTDIR  ?=
VERSION  := 0.1.0
ARCH     ?= $(shell uname -m | sed -e 's/i[3-6]86/x86/' -e 's/x86_64/x86/' -e 's/aarch64.*/arm64/' -e 's/arm.*/arm/' -e 's/ppc.*/powerpc/')

CC       ?= gcc
CXX      ?= g++
CLANG    ?= clang
LLVM_STRIP ?= llvm-strip
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
Q        := $(if $(V),,@)
say       = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))

# Lowest first; tools/check-layers knows who may include whom.
LAYERS   ?= base api os model scan symbol source sink app

CFLAGS   ?= -O2 -g
LANGUAGE := -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DMTRACE_VERSION='"$(VERSION)"' \
	-iquote user -iquote . -iquote $(BUILD)/gen
ALL_CFLAGS := $(LANGUAGE) -MMD -MP \
	-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) $(CFLAGS)
LDLIBS   := -lbpf -ldw -lelf -liberty -lcapstone -ljson-c -lxxhash -lm
LDFLAGS  += $(if $(SANITIZE),-fsanitize=$(SANITIZE))

SOURCES  := $(foreach layer,$(LAYERS),$(wildcard user/$(layer)/*.c))
MAIN     := user/app/main.c
OBJECTS  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(MAIN),$(SOURCES)))
LIBRARY  := $(BUILD)/libmtrace.a
PROGRAM  := $(BUILD)/mtrace-bpf
SKELETON := $(BUILD)/gen/mtrace.skel.h

UNITS    := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/unit/test_*.c) $(wildcard tests/bpf/test_*.c))

all: $(PROGRAM)

$(PROGRAM): $(BUILD)/user/app/main.o $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIBRARY): $(OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c -o $@ $<

$(patsubst %.c,$(BUILD)/%.o,$(wildcard user/source/*.c)): $(SKELETON)

BPF_COMPILE := $(CLANG) -target bpf -D__TARGET_ARCH_$(ARCH) -O2 -g -Wall -Werror -mcpu=v3 -c \
	-Wno-missing-declarations -isystem vmlinux/$(ARCH) -iquote .

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h arch/*.h) vmlinux/$(ARCH)/vmlinux.h
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(BPF_COMPILE) -o $@ $< && $(LLVM_STRIP) -g $@

$(BUILD)/gen/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name $(*F)_bpf > $@.tmp && mv $@.tmp $@

$(BUILD)/tests/%: tests/%.c $(LIBRARY)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(LIBRARY) -lcmocka $(LDLIBS)

units: $(UNITS)
	$(Q)status=0; for unit in $(UNITS); do $$unit || status=1; done; exit $$status

# Programs to trace. They know what they allocate and say so; see tests/targets/truth.h.
TARGET_FLAGS := -O1 -g -Wall -Wextra -Werror -D_GNU_SOURCE -pthread \
	-fno-builtin -fno-omit-frame-pointer -fno-optimize-sibling-calls
TARGETS := $(patsubst tests/targets/%,$(BUILD)/targets/%,$(basename \
	$(filter-out tests/targets/plugin.c,$(wildcard tests/targets/*.c tests/targets/*.cc)))) \
	$(addprefix $(BUILD)/targets/,libplugin.so libother.so basic-static basic-musl)

$(BUILD)/targets/%: tests/targets/%.c tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -o $@ $<

$(BUILD)/targets/%: tests/targets/%.cc tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CXX) $(TARGET_FLAGS) -Wno-missing-field-initializers -o $@ $<

$(BUILD)/targets/%-static: tests/targets/%.c tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -static -o $@ $<

$(BUILD)/targets/%-musl: tests/targets/%.c tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && musl-gcc -std=gnu11 $(TARGET_FLAGS) -o $@ $<

$(BUILD)/targets/lib%.so: tests/targets/plugin.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -shared -fPIC -o $@ $<

# As distributions compile: what stacks are unwound through.
$(BUILD)/targets/stacks: TARGET_FLAGS += -O2 -fomit-frame-pointer -foptimize-sibling-calls -fbuiltin

targets: $(TARGETS)

# Checks. tools/tally runs each, counts what passed and failed, and goes on.
RESULTS   := $(BUILD)/results
TALLY     := tools/tally $(RESULTS)
FORMATTED := $(shell find user bpf arch tests -name '*.c' -o -name '*.h' -o -name '*.cc')
ANALYSED  := $(shell find user -name '*.c')
SCRIPTS   := tools/install-deps .ci/run
PYTEST    ?=

check: fresh-results static units-counted
	@$(TALLY)

check-root: fresh-results runtime
	@$(TALLY)

check-all:
	tools/install-deps all
	@$(MAKE) --no-print-directory fresh-results static units-counted runtime
	@$(TALLY)

fresh-results:
	@mkdir -p $(BUILD) && rm -f $(RESULTS)

static: $(SKELETON)
	$(Q)$(TALLY) clang-format --dry-run -Werror $(FORMATTED)
	$(Q)$(TALLY) cppcheck -q --enable=warning,portability --inline-suppr --error-exitcode=1 \
		--suppress=unknownMacro -D_GNU_SOURCE -I user -I . $(ANALYSED)
	$(Q)$(TALLY) clang-tidy --quiet $(ANALYSED) -- $(LANGUAGE)
	$(Q)$(TALLY) shellcheck $(SCRIPTS)
	$(Q)$(TALLY) tools/check-layers

format:
	clang-format -i $(FORMATTED)

units-counted:
	$(Q)$(TALLY) $(MAKE) --no-print-directory -k units
	$(Q)$(TALLY) $(MAKE) --no-print-directory -k units \
		SANITIZE=address,undefined BUILD=$(BUILD)-sanitize

runtime: $(PROGRAM) $(TARGETS)
	$(Q)$(TALLY) env MTRACE=$(PROGRAM) TARGETS=$(BUILD)/targets \
		/usr/bin/python3 -m pytest -q -rs -p no:cacheprovider $(PYTEST) tests/runtime

quickstart:
	tools/install-deps build
	@$(MAKE) --no-print-directory $(PROGRAM) $(BUILD)/targets/leak
	$(PROGRAM) $(BUILD)/targets/leak
	$(PROGRAM) sqlite3 :memory: < tests/targets/quickstart.sql

# The price of a traced call beside its peers, in one run. BENCH="--rounds 3 --json FILE".
BENCH ?=

$(BUILD)/tests/bench/pairs: ALL_CFLAGS += -fno-omit-frame-pointer -fno-optimize-sibling-calls

bench: $(PROGRAM) $(addprefix $(BUILD)/tests/bench/,floor pairs)
	$(Q)BUILD=$(BUILD) tests/bench/bench.py $(BENCH)

$(BUILD)/bpf/floor.bpf.o: tests/bench/floor.bpf.c vmlinux/$(ARCH)/vmlinux.h
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(BPF_COMPILE) -o $@ $< && $(LLVM_STRIP) -g $@

$(BUILD)/tests/bench/floor: $(BUILD)/gen/floor.skel.h

# Parsers of files that a target may have made. FUZZ_SECONDS=3600 for a long run.
FUZZ_SECONDS ?= 60
FUZZ_CFLAGS  := -std=gnu11 -O1 -g -D_GNU_SOURCE -iquote user -iquote . \
	-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all

$(BUILD)/fuzz/cfi: tests/fuzz/fuzz_cfi.c $(wildcard user/symbol/cfi*.[ch] user/base/*.[ch])
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D) && $(CLANG) $(FUZZ_CFLAGS) -o $@ $< $(wildcard user/symbol/cfi_*.c) \
		user/base/vec.c user/base/map64.c user/base/error.c -lelf

fuzz: $(BUILD)/fuzz/cfi
	$(Q)mkdir -p $(BUILD)/fuzz/corpus && cp tests/fuzz/corpus/cfi/* $(BUILD)/fuzz/corpus
	$(Q)cd $(BUILD)/fuzz && ./cfi -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -print_final_stats=1 corpus

install: $(PROGRAM)
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/mtrace-bpf
	install -D -m 644 docs/mtrace-bpf.1 $(DESTDIR)$(PREFIX)/share/man/man1/mtrace-bpf.1

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/mtrace-bpf $(DESTDIR)$(PREFIX)/share/man/man1/mtrace-bpf.1

clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: all units targets check check-root check-all fresh-results static format units-counted runtime \
	bench fuzz quickstart install uninstall clean
.SECONDARY:
