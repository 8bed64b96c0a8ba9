# SPDX-License-Identifier: GPL-2.0-or-later
# make            the program, at build/mtrace-bpf
# make check      what needs no privileges: style, static analysis, layers, unit tests
# make check-root what traces real programs (root, a kernel with uprobes and BPF)
# make check-all  both; quickstart, bench, install, clean
#
# V=1 shows commands; SANITIZE=address,undefined builds into build-sanitize.

SANITIZE ?=
BUILD    ?= build$(if $(SANITIZE),-sanitize)
PREFIX   ?= /usr/local
DESTDIR  ?=
VERSION  := 0.1.0
ARCH     ?= $(shell uname -m | sed -e 's/i[3-6]86/x86/' -e 's/x86_64/x86/' -e 's/aarch64.*/arm64/' -e 's/arm.*/arm/' -e 's/ppc.*/powerpc/')

CC       ?= gcc
CLANG    ?= clang
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
Q        := $(if $(V),,@)
say       = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))

# Lowest first; tools/check-layers knows who may include whom.
LAYERS   ?= base api os model symbol source sink app

CFLAGS   ?= -O2 -g
ALL_CFLAGS := -std=gnu11 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DMTRACE_VERSION='"$(VERSION)"' \
	-iquote user -iquote . -iquote $(BUILD)/gen -MMD -MP \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) $(CFLAGS)
LDLIBS   := -lbpf -ldw -lelf -lcapstone -ljson-c -lxxhash -lm
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

$(BUILD)/user/source/%.o: $(SKELETON)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h arch/*.h) vmlinux/$(ARCH)/vmlinux.h
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(CLANG) -target bpf -D__TARGET_ARCH_$(ARCH) -O2 -g -Wall -Werror \
		-Wno-missing-declarations -isystem vmlinux/$(ARCH) -iquote . -mcpu=v3 -c -o $@ $<

$(BUILD)/gen/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name mtrace_bpf > $@.tmp && mv $@.tmp $@

$(BUILD)/tests/%: tests/%.c $(LIBRARY)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(LIBRARY) -lcmocka $(LDLIBS)

units: $(UNITS)
	$(Q)set -e; for unit in $(UNITS); do $$unit; done

clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: all units clean
.SECONDARY:
