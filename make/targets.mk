# SPDX-License-Identifier: GPL-2.0-or-later
# Programs to trace. They print what they allocated: see tests/targets/truth.h.

TARGET_FLAGS := -O1 -g -Wall -Wextra -Werror -D_GNU_SOURCE -pthread \
	-fno-builtin -fno-omit-frame-pointer -fno-optimize-sibling-calls
# Sources that are not programs by themselves: libraries, and files that are compiled in several ways.
PARTS   := plugin.c bare.c chain.c leak_library.c interposer.c counter.c prefixed.c rjem.c redis_leak.c \
	postgres_leak.c
TARGETS := $(patsubst tests/targets/%,$(BUILD)/targets/%,$(basename \
	$(filter-out $(addprefix tests/targets/,$(PARTS)),$(wildcard tests/targets/*.c tests/targets/*.cc)))) \
	$(addprefix $(BUILD)/targets/,libplugin.so libother.so redis_leak.so postgres_leak.so basic-static \
	basic-musl steady-static tails-static)

# Compiles source $< with additional options $(1) and libraries $(2).
define c_target
$(call say,TARGET,$@)
$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) $(1) -o $@ $<
endef

define cxx_target
$(call say,TARGET,$@)
$(Q)mkdir -p $(@D) && $(CXX) $(TARGET_FLAGS) -Wno-missing-field-initializers $(1) -o $@ $< $(2)
endef

$(BUILD)/targets/%: tests/targets/%.c tests/targets/truth.h
	$(c_target)

$(BUILD)/targets/%: tests/targets/%.cc tests/targets/truth.h
	$(cxx_target)

$(BUILD)/targets/%-static: tests/targets/%.c tests/targets/truth.h
	$(call c_target,-static)

$(BUILD)/targets/%-musl: tests/targets/%.c tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && musl-gcc -std=gnu11 $(TARGET_FLAGS) -o $@ $<

$(BUILD)/targets/%_leak.so: tests/targets/%_leak.c tests/targets/leak_module.h
	$(call c_target,-shared -fPIC)

$(BUILD)/targets/lib%.so: tests/targets/plugin.c
	$(call c_target,-shared -fPIC)

# Compiled as distributions do, because stacks are unwound through this code.
$(BUILD)/targets/unsteppable: TARGET_FLAGS += -rdynamic
# -O0: the tests are about the stale words that such code leaves.
$(BUILD)/targets/stale $(BUILD)/targets/coroutine: TARGET_FLAGS += -O0
$(foreach directory,targets targets/m32,$(BUILD)/$(directory)/stacks $(BUILD)/$(directory)/callbacks): \
	TARGET_FLAGS += -O2 -fomit-frame-pointer -foptimize-sibling-calls -fbuiltin

# 32-bit programs, if the compiler and its libraries can build them.
MULTILIB := $(wildcard /usr/lib32/crt1.o)
# gcc-multilib would provide the path of the headers, but conflicts with the compilers for other
# machines.
M32_FLAGS := -m32 -I/usr/include/x86_64-linux-gnu
M32      := $(addprefix $(BUILD)/targets/m32/,basic maps short threads longjmp altstack ends exec \
	forker steady dlopener callbacks ownmalloc seccomp leak remapped tails)
M32_CXX  := $(addprefix $(BUILD)/targets/m32/,cxx stacks)
TARGETS  += $(if $(MULTILIB),$(M32) $(M32_CXX) $(BUILD)/targets/m32/basic-static \
	$(addprefix $(BUILD)/targets/m32/,libplugin.so libother.so x32))

$(M32): $(BUILD)/targets/m32/%: tests/targets/%.c tests/targets/truth.h
	$(c_target)

$(M32_CXX): $(BUILD)/targets/m32/%: tests/targets/%.cc tests/targets/truth.h
	$(cxx_target)

$(BUILD)/targets/m32/basic-static: tests/targets/basic.c tests/targets/truth.h
	$(call c_target,-static)

$(BUILD)/targets/m32/libplugin.so $(BUILD)/targets/m32/libother.so: tests/targets/plugin.c
	$(call c_target,-shared -fPIC)

# x32 programs without a C library, because few systems have one for x32.
$(BUILD)/targets/m32/x32: TARGET_FLAGS := -mx32 -nostdlib -static
$(BUILD)/targets/m32/x32: tests/targets/bare.c
	$(c_target)

# The truth table of the leak scan: normal, with LeakSanitizer, with chains short enough for valgrind,
# and for 32 bits. Also the program that scans them without the tracer.
LEAKS       := leak_cases leak_places leak_cases_cxx leak_cases_cxx_old
LEAK_BUILDS := $(BUILD)/targets $(addprefix $(BUILD)/targets/,lsan valgrind) \
	$(if $(MULTILIB),$(BUILD)/targets/m32)
LEAK_TARGETS := $(foreach directory,$(LEAK_BUILDS),$(LEAKS:%=$(directory)/%) $(directory)/libleak.so) \
	$(patsubst %,%/recorder.so,$(filter-out %/lsan %/valgrind,$(LEAK_BUILDS)))
TARGETS += $(LEAK_TARGETS) $(BUILD)/tests/scan/scan_process

$(LEAK_TARGETS): TARGET_FLAGS += -rdynamic
$(BUILD)/targets/m32/%: TARGET_FLAGS += $(M32_FLAGS) -DCHAIN=1000
$(BUILD)/targets/valgrind/%: TARGET_FLAGS += -DCHAIN=1000
$(BUILD)/targets/lsan/%: TARGET_FLAGS += -fsanitize=leak
$(BUILD)/targets/%_old: TARGET_FLAGS += -D_GLIBCXX_USE_CXX11_ABI=0

$(filter %_cxx %_cxx_old,$(LEAK_TARGETS)): tests/targets/leak_cases_cxx.cc
	$(cxx_target)

$(filter %/leak_cases %/leak_places,$(LEAK_TARGETS)): $(wildcard tests/targets/leak_*.c)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -o $@ tests/targets/$(@F).c

$(filter %/libleak.so,$(LEAK_TARGETS)): tests/targets/leak_library.c
	$(call c_target,-shared -fPIC)

$(filter %/recorder.so,$(LEAK_TARGETS)): tests/scan/recorder.c
	$(call c_target,-shared -fPIC)

$(LEAK_TARGETS): tests/targets/leak_truth.h tests/targets/truth.h tests/scan/board.h

# Go that calls C that calls Go.
GO := go

$(BUILD)/targets/cgo: tests/targets/cgo.go
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && GO111MODULE=off GOCACHE=$(abspath $(BUILD))/go-cache $(GO) build -o $@ $<

TARGETS += $(BUILD)/targets/cgo

# Another unwinder, without any of our code.
ORACLE := $(BUILD)/tests/oracle/malloc_stacks

$(ORACLE): tests/oracle/malloc_stacks.c
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< -ldw
