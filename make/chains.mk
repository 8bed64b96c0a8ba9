# SPDX-License-Identifier: GPL-2.0-or-later
# One program to trace, tests/targets/chain.c, compiled in every way that affects unwinding:
# CHAIN.name is how targets/chain/name is compiled.

MUSL_CC := musl-gcc

CHAIN.gcc-O0         := $(CC) -O0
CHAIN.gcc-O1         := $(CC) -O1
CHAIN.gcc-O2         := $(CC) -O2
CHAIN.gcc-O3         := $(CC) -O3
CHAIN.gcc-Os         := $(CC) -Os
CHAIN.clang-O0       := $(CLANG) -O0
CHAIN.clang-O1       := $(CLANG) -O1
CHAIN.clang-O2       := $(CLANG) -O2
CHAIN.clang-O3       := $(CLANG) -O3
CHAIN.clang-Os       := $(CLANG) -Os
CHAIN.lto            := $(CC) -O2 -flto
CHAIN.cet            := $(CC) -O2 -fcf-protection=full
CHAIN.hardened       := $(CC) -O2 -fstack-protector-all -fstack-clash-protection -D_FORTIFY_SOURCE=2
CHAIN.pointers       := $(CC) -O2 -fno-omit-frame-pointer
CHAIN.no-pointers    := $(CC) -O1 -fomit-frame-pointer
CHAIN.no-pie         := $(CC) -O2 -fno-pie -no-pie
CHAIN.no-header      := $(CC) -O2 -Wl,--no-eh-frame-hdr
CHAIN.one-segment    := $(CC) -O2 -Wl,-z,noseparate-code
CHAIN.gold           := $(CC) -O2 -fuse-ld=gold
CHAIN.stripped       := $(CC) -O2 -s
CHAIN.static         := $(CC) -O2 -static
CHAIN.static-pie     := $(CC) -O2 -static-pie
CHAIN.debug-frame    := $(CC) -O2 -fno-asynchronous-unwind-tables
CHAIN.no-table       := $(CC) -O2 -g0 -fno-asynchronous-unwind-tables
CHAIN.no-table-O0    := $(CC) -O0 -g0 -fno-asynchronous-unwind-tables
CHAIN.no-table-clang := $(CLANG) -O2 -g0 -fno-asynchronous-unwind-tables -fomit-frame-pointer
CHAIN.no-table-pointers := $(CC) -O2 -g0 -fno-asynchronous-unwind-tables -fno-omit-frame-pointer
CHAIN.musl           := $(MUSL_CC) -O2
CHAIN.musl-O0        := $(MUSL_CC) -O0
CHAIN.musl-static    := $(MUSL_CC) -O2 -static

ifneq ($(MULTILIB),)
CHAIN.m32-O0          := $(CC) $(M32_FLAGS) -O0
CHAIN.m32-O1          := $(CC) $(M32_FLAGS) -O1
CHAIN.m32-O2          := $(CC) $(M32_FLAGS) -O2
CHAIN.m32-Os          := $(CC) $(M32_FLAGS) -Os
CHAIN.m32-clang-O0    := $(CLANG) $(M32_FLAGS) -O0
CHAIN.m32-clang-O2    := $(CLANG) $(M32_FLAGS) -O2
CHAIN.m32-pointers    := $(CC) $(M32_FLAGS) -O2 -fno-omit-frame-pointer
CHAIN.m32-no-pointers := $(CC) $(M32_FLAGS) -O1 -fomit-frame-pointer
CHAIN.m32-no-pie      := $(CC) $(M32_FLAGS) -O2 -fno-pie -no-pie
CHAIN.m32-cet         := $(CC) $(M32_FLAGS) -O2 -fcf-protection=full
CHAIN.m32-static      := $(CC) $(M32_FLAGS) -O2 -static
CHAIN.m32-debug-frame := $(CC) $(M32_FLAGS) -O2 -fno-asynchronous-unwind-tables
endif

CHAINS := $(patsubst CHAIN.%,$(BUILD)/targets/chain/%,$(filter CHAIN.%,$(.VARIABLES)))
TARGETS += $(CHAINS)

$(CHAINS): $(BUILD)/targets/chain/%: tests/targets/chain.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(firstword $(CHAIN.$*)) -g -std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE \
		-pthread $(wordlist 2,99,$(CHAIN.$*)) -o $@ $<
