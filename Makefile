# SPDX-License-Identifier: GPL-2.0-or-later
# make help       what can be made
#
# For another machine: make ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf-, ARCH=arm64 CROSS_COMPILE=
# aarch64-linux-gnu-, ARCH=powerpc CROSS_COMPILE=powerpc-linux-gnu-, or ARCH=i386, into build-$(ARCH);
# tools/cross-libraries gets the libraries, or SYSROOT= says where they are. WITH_BPF=0 leaves BPF and
# libbpf away, WITH_ZSTD=0 compression, WITH_TLS=0 TLS, WITH_HTTP=0 --prometheus, WITH_READLINE=0 editing
# in the shell, WITH_DWARF=0 debug information and demangling, WITH_SECCOMP=0 libseccomp, but not the
# sandbox; STATIC=1 links all libraries into the program. SMALL=1 is all of that, for small boards.
# V=1 shows commands; SANITIZE=address,undefined builds into build-sanitize.
# PYTEST="-k exec -x" is passed to pytest; REQUIRE="uprobes valgrind" forbids skips for their want.

SANITIZE ?=
HOST     := $(shell uname -m | sed -e 's/i[3-6]86/i386/' -e 's/x86_64/x86/' -e 's/aarch64.*/arm64/' -e 's/arm.*/arm/' -e 's/ppc.*/powerpc/')
ARCH     ?= $(HOST)
CROSS_COMPILE ?=
ifeq ($(SMALL),1)
WITH_BPF := 0
WITH_ZSTD := 0
WITH_TLS := 0
WITH_HTTP := 0
WITH_DWARF := 0
WITH_SECCOMP := 0
STATIC   := 1
CFLAGS   ?= -Os -g
endif
# There are BPF programs for machines of whose kernels the types are here.
WITH_BPF ?= $(if $(wildcard vmlinux/$(ARCH)),1,0)
STATIC   ?= 0
WITH_DWARF ?= 1
WITH_SECCOMP ?= 1
# Editing, history and completion in the shell: where the program runs is where it was built.
WITH_READLINE ?= $(if $(filter 1,$(STATIC))$(CROSS_COMPILE)$(filter-out $(HOST),$(ARCH))$(filter 0,$(WITH_BPF)),0,1)
BUILD    ?= build$(if $(filter-out $(HOST),$(ARCH)),-$(ARCH))$(if $(wildcard vmlinux/$(ARCH)),$(if $(filter 0,$(WITH_BPF)),-ptrace))$(if $(filter 1,$(SMALL)),-small,$(if $(filter 1,$(STATIC)),-static))$(if $(SANITIZE),-sanitize)
PREFIX   ?= /usr/local
DESTDIR  ?=
VERSION  := 0.1.0

ifneq ($(CROSS_COMPILE),)
CC       := $(CROSS_COMPILE)gcc
endif
CC       ?= gcc
CXX      ?= g++
AR       := $(CROSS_COMPILE)ar
CLANG    ?= clang
LLVM_STRIP ?= llvm-strip
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
Q        := $(if $(V),,@)
say       = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))

# Lowest first; tools/check-layers knows who may include whom.
LAYERS   ?= base api os model net scan symbol parser source report app

comma    := ,
# Another machine's libraries, by Debian's names of machines.
CROSS    := $(if $(CROSS_COMPILE),$(CROSS_COMPILE:-=),$(if $(filter-out $(HOST),$(ARCH)),$(ARCH)-linux-gnu))
MACHINE_arm-linux-gnueabihf := armhf
MACHINE_arm-linux-gnueabi   := armel
MACHINE_aarch64-linux-gnu   := arm64
MACHINE_i386-linux-gnu      := i386
MACHINE_powerpc-linux-gnu   := powerpc
ifneq ($(CROSS),)
ifeq ($(filter clean help,$(MAKECMDGOALS)),)
ifeq ($(origin SYSROOT),undefined)
SYSROOT  := $(shell tools/cross-libraries $(MACHINE_$(CROSS)))
ifneq ($(.SHELLSTATUS),0)
$(error there are no libraries for $(CROSS): see above, or say with SYSROOT= where they are)
endif
endif
endif
CROSS_FLAGS := $(if $(SYSROOT),-isystem $(SYSROOT)/usr/include -isystem $(SYSROOT)/usr/include/$(CROSS))
LDFLAGS  += $(foreach folder,lib/$(CROSS) usr/lib/$(CROSS) usr/lib,\
	$(if $(SYSROOT),-L$(SYSROOT)/$(folder) -Wl$(comma)-rpath-link=$(SYSROOT)/$(folder)))
endif
ifeq ($(CROSS),i386-linux-gnu)
CROSS_FLAGS += -m32 -I/usr/include/x86_64-linux-gnu
LDFLAGS  += -m32
endif

# Sanitized code compiles in half the time with -O1; -g1 has the lines that a sanitizer prints.
CFLAGS   ?= $(if $(SANITIZE),-O1 -g1,-O2 -g)
LANGUAGE := $(CROSS_FLAGS) -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DMTRACE_VERSION='"$(VERSION)"' \
	-iquote user -iquote . -iquote $(BUILD)/gen
ALL_CFLAGS := $(LANGUAGE) -MMD -MP \
	-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) $(CFLAGS)
# Recordings are compressed where zstd can be had.
ifeq ($(origin WITH_ZSTD),undefined)
WITH_ZSTD := $(shell echo 'int main(void) { return 0; }' | $(CC) $(CROSS_FLAGS) $(LDFLAGS) -include zstd.h \
	-x c -o /dev/null - -lzstd 2>/dev/null && echo 1 || echo 0)
endif
# Connections are encrypted where OpenSSL can be had; programs for other, small machines do without.
ifeq ($(origin WITH_TLS),undefined)
WITH_TLS := $(if $(filter 1,$(STATIC))$(CROSS),0,$(shell echo 'int main(void) { return 0; }' | \
	$(CC) $(CROSS_FLAGS) $(LDFLAGS) -include openssl/ssl.h -x c -o /dev/null - -lssl -lcrypto 2>/dev/null && \
	echo 1 || echo 0))
endif
# Metrics are served where libmicrohttpd can be had; likewise.
ifeq ($(origin WITH_HTTP),undefined)
WITH_HTTP := $(if $(filter 1,$(STATIC))$(CROSS),0,$(shell echo 'int main(void) { return 0; }' | \
	$(CC) $(CROSS_FLAGS) $(LDFLAGS) -include microhttpd.h -x c -o /dev/null - -lmicrohttpd 2>/dev/null && \
	echo 1 || echo 0))
endif
# Where x86 programs are traced their code is read.
READS_X86 := $(filter x86 i386,$(ARCH))
LDLIBS   := $(if $(filter 1,$(WITH_BPF)),-lbpf) $(if $(filter 1,$(WITH_READLINE)),-lreadline) \
	$(if $(filter 1,$(WITH_DWARF)),-ldw -liberty) -lelf $(if $(READS_X86),-lcapstone) \
	$(if $(filter 1,$(WITH_SECCOMP)),-lseccomp) -ljson-c -lz \
	$(if $(filter 1,$(WITH_ZSTD)),-lzstd) $(if $(filter 1,$(WITH_TLS)),-lssl -lcrypto) \
	$(if $(filter 1,$(WITH_HTTP)),-lmicrohttpd) -lm
LDFLAGS  += $(if $(SANITIZE),-fsanitize=$(SANITIZE))

# What an archive needs besides itself; an archive of another machine may have been built without.
ifeq ($(STATIC),1)
LDFLAGS  += -static
LDLIBS   := -Wl,--start-group $(LDLIBS) -lz \
	$(if $(filter powerpc-linux-gnu,$(CROSS))$(filter 0,$(WITH_DWARF)),,-llzma -lbz2) -Wl,--end-group
ALL_CFLAGS += -ffunction-sections -fdata-sections
LDFLAGS  += -Wl,--gc-sections
endif

# What knows libbpf, and what stands for it where it is not.
SOURCES  := $(sort $(shell find $(LAYERS:%=user/%) -name '*.c')) $(wildcard arch/*.c)
BPF_SOURCES := $(filter-out %/without_bpf.c,$(filter user/source/bpf/%,$(SOURCES))) user/source/selection.c
SOURCES  := $(filter-out $(if $(filter 1,$(WITH_BPF)),user/source/bpf/without_bpf.c,$(BPF_SOURCES)) \
	$(if $(READS_X86),user/symbol/probe_site/without_x86_code.c,user/symbol/probe_site/x86_code.c),$(SOURCES))
SOURCES  := $(filter-out user/net/stream/$(if $(filter 1,$(WITH_ZSTD)),without_squeeze,squeeze).c,$(SOURCES))
SOURCES  := $(filter-out $(if $(filter 1,$(WITH_READLINE)),user/app/terminal/input_without_readline.c,user/app/terminal/input_readline.c),$(SOURCES))
SOURCES  := $(filter-out user/net/connection/$(if $(filter 1,$(WITH_TLS)),without_tls,tls).c,$(SOURCES))
SOURCES  := $(filter-out $(if $(filter 1,$(STATIC)),user/net/connection/resolve.c user/os/account/lookup.c, \
	user/net/connection/without_resolver.c user/os/account/without_nss.c),$(SOURCES))
SOURCES  := $(filter-out $(if $(filter 1,$(WITH_DWARF)),$(addprefix user/,symbol/names/without_dwarf.c \
	symbol/names/without_demangler.c parser/client/without_debuginfod.c),$(addprefix user/,symbol/names/module_names.c \
	symbol/names/dwarf_index.c symbol/names/debug_want.c symbol/names/demangle.c parser/client/debuginfod.c)),$(SOURCES))
SOURCES  := $(filter-out user/parser/server/$(if $(filter 1,$(WITH_SECCOMP)),without_seccomp,call_filter).c,$(SOURCES))
SOURCES  := $(filter-out user/net/http/$(if $(filter 1,$(WITH_HTTP)),without_http,http).c,$(SOURCES))
MAIN     := user/app/cli/main.c
OBJECTS  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(MAIN),$(SOURCES)))
LIBRARY  := $(BUILD)/libmtrace.a
PROGRAM  := $(BUILD)/mtrace-bpf
SKELETON := $(BUILD)/gen/mtrace.skel.h

UNITS    := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(shell find tests/unit tests/bpf -name 'test_*.c')))

all: $(PROGRAM)

# Each target installs what it needs, as root; else it says what is missing.
help:
	@printf '  %-15s %s\n' \
		'make' 'build the program: $(PROGRAM)' \
		'quickstart' 'build it and trace two programs' \
		'check' 'everything that protects main, in 15 minutes: call it before you commit' \
		'check-all' 'check, and: all of it by ptrace, with fewer rights, other kernels and processors, a soak' \
		'check-arch' 'only other kernels and processors, under qemu: KERNELS="6.1 armel" (tests/arch/kernels.py)' \
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

$(PROGRAM): $(MAIN:%.c=$(BUILD)/%.o) $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIBRARY): $(OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c -o $@ $<

$(patsubst %.c,$(BUILD)/%.o,$(if $(filter 1,$(WITH_BPF)),$(filter user/source/bpf/%,$(SOURCES)))): $(SKELETON)

BPF_COMPILE := $(CLANG) $(BPF_EXTRA) -target bpf -D__TARGET_ARCH_$(ARCH) -O2 -g -Wall -Werror -mcpu=v3 -c \
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

# Emulated instructions of other processors against qemu's.
step: $(BUILD)/tests/step/replay
	$(Q)tests/step/run $(BUILD)

units-built: $(UNITS)

units:
	tools/install-deps check
	@$(MAKE) --no-print-directory -j$(JOBS) units-built
	$(Q)status=0; for unit in $(UNITS); do $$unit || status=1; done; exit $$status

# Programs to trace. They know what they allocate and say so; see tests/targets/truth.h.
TARGET_FLAGS := -O1 -g -Wall -Wextra -Werror -D_GNU_SOURCE -pthread \
	-fno-builtin -fno-omit-frame-pointer -fno-optimize-sibling-calls
TARGETS := $(patsubst tests/targets/%,$(BUILD)/targets/%,$(basename \
	$(filter-out $(addprefix tests/targets/,plugin.c bare.c chain.c leak_library.c interposer.c counter.c prefixed.c rjem.c redis_leak.c postgres_leak.c),$(wildcard tests/targets/*.c tests/targets/*.cc)))) \
	$(addprefix $(BUILD)/targets/,libplugin.so libother.so redis_leak.so postgres_leak.so basic-static basic-musl steady-static)

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

$(BUILD)/targets/%_leak.so: tests/targets/%_leak.c tests/targets/leak_module.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -shared -fPIC -o $@ $<

$(BUILD)/targets/lib%.so: tests/targets/plugin.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -shared -fPIC -o $@ $<

# As distributions compile: what stacks are unwound through.
$(BUILD)/targets/unsteppable: TARGET_FLAGS += -rdynamic
$(foreach directory,targets targets/m32,$(BUILD)/$(directory)/stacks $(BUILD)/$(directory)/callbacks): TARGET_FLAGS += -O2 -fomit-frame-pointer -foptimize-sibling-calls -fbuiltin

# 32-bit programs, where the compiler and its libraries can make them.
MULTILIB := $(wildcard /usr/lib32/crt1.o)
# gcc-multilib would give the headers their path, but conflicts with the compilers for other machines.
M32_FLAGS := -m32 -I/usr/include/x86_64-linux-gnu
M32      := $(addprefix $(BUILD)/targets/m32/,basic maps short threads longjmp altstack ends exec \
	forker steady dlopener callbacks ownmalloc seccomp leak remapped)
M32_CXX  := $(addprefix $(BUILD)/targets/m32/,cxx stacks)
TARGETS  += $(if $(MULTILIB),$(M32) $(M32_CXX) $(BUILD)/targets/m32/basic-static \
	$(addprefix $(BUILD)/targets/m32/,libplugin.so libother.so x32))

$(M32): $(BUILD)/targets/m32/%: tests/targets/%.c tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -o $@ $<

$(M32_CXX): $(BUILD)/targets/m32/%: tests/targets/%.cc tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CXX) $(TARGET_FLAGS) -Wno-missing-field-initializers -o $@ $<

$(BUILD)/targets/m32/basic-static: tests/targets/basic.c tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -static -o $@ $<

$(BUILD)/targets/m32/libplugin.so $(BUILD)/targets/m32/libother.so: tests/targets/plugin.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -shared -fPIC -o $@ $<

# Of the third kind, without a library, as few systems have one.
$(BUILD)/targets/m32/x32: TARGET_FLAGS := -mx32 -nostdlib -static
$(BUILD)/targets/m32/x32: tests/targets/bare.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -o $@ $<

# The truth table of the leak scan: as usual, with LeakSanitizer, with chains short enough for
# valgrind, and for 32 bits; and what scans it without the tracer.
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
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CXX) $(TARGET_FLAGS) -Wno-missing-field-initializers -o $@ $<

$(filter %/leak_cases %/leak_places,$(LEAK_TARGETS)): $(wildcard tests/targets/leak_*.c)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -o $@ tests/targets/$(@F).c

$(filter %/libleak.so,$(LEAK_TARGETS)): tests/targets/leak_library.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -shared -fPIC -o $@ $<

$(filter %/recorder.so,$(LEAK_TARGETS)): tests/scan/recorder.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -shared -fPIC -o $@ $<

$(LEAK_TARGETS): tests/targets/leak_truth.h tests/targets/truth.h tests/scan/board.h

# One program, chain, in all the ways that stacks are unwound through. CHAIN.name is how.
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

# Go that calls C that calls Go.
GO := go

$(BUILD)/targets/cgo: tests/targets/cgo.go
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && GO111MODULE=off GOCACHE=$(abspath $(BUILD))/go-cache $(GO) build -o $@ $<

TARGETS += $(BUILD)/targets/cgo

# Another unwinder: none of our code in it.
ORACLE := $(BUILD)/tests/oracle/malloc_stacks

$(ORACLE): tests/oracle/malloc_stacks.c
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< -ldw

# The ways to have an allocator: static, position-independent or not; from an archive; under names
# with a prefix; instrumented; handed on; in Rust. What a machine cannot build is not built.
ALLOCATORS := $(addprefix $(BUILD)/targets/,basic-static-pie basic-musl-static steady-musl basic-asan basic-asan-static basic-lsan cxx-static \
	prefixed-je_ prefixed-_rjem_ prefixed-own_ prefixed-stripped libinterposer.so libcounter.so \
	$(if $(wildcard /usr/lib/*/libjemalloc.a),cxx-jemalloc) \
	$(if $(wildcard /usr/lib/*/libtcmalloc_minimal.a),cxx-tcmalloc) \
	$(if $(shell command -v rustc),rust-libc rust-rjem))
TARGETS += $(ALLOCATORS)

$(BUILD)/targets/%-static-pie: TARGET_FLAGS += -static-pie
$(BUILD)/targets/%-asan: TARGET_FLAGS += -fsanitize=address
$(BUILD)/targets/%-asan-static: TARGET_FLAGS += -fsanitize=address -static-libasan
$(BUILD)/targets/%-lsan: TARGET_FLAGS += -fsanitize=leak

$(BUILD)/targets/basic-static-pie $(BUILD)/targets/basic-asan $(BUILD)/targets/basic-asan-static \
$(BUILD)/targets/basic-lsan: tests/targets/basic.c tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -o $@ $<

$(BUILD)/targets/basic-musl-static: tests/targets/basic.c tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && musl-gcc -std=gnu11 $(TARGET_FLAGS) -static -o $@ $<

$(BUILD)/targets/cxx-jemalloc: ARCHIVE := -l:libjemalloc.a
$(BUILD)/targets/cxx-tcmalloc: ARCHIVE := -l:libtcmalloc_minimal.a

$(BUILD)/targets/cxx-static $(BUILD)/targets/cxx-jemalloc $(BUILD)/targets/cxx-tcmalloc: \
		tests/targets/cxx.cc tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CXX) $(TARGET_FLAGS) -Wno-missing-field-initializers -static -o $@ $< $(ARCHIVE)

$(BUILD)/targets/prefixed-%: tests/targets/prefixed.c tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -DPREFIX=$* -o $@ $<

$(BUILD)/targets/prefixed-stripped: tests/targets/prefixed.c tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -DPREFIX=own_ -static -s -o $@ $<

$(BUILD)/targets/libinterposer.so: tests/targets/interposer.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -O2 -foptimize-sibling-calls -shared -fPIC -o $@ $<

$(BUILD)/targets/libcounter.so: tests/targets/counter.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(TARGET_FLAGS) -shared -fPIC -o $@ $<

$(BUILD)/targets/rust-libc: tests/targets/rust.rs
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && env -u MAKEFLAGS -u MFLAGS rustc --check-cfg 'cfg(rjem)' -A warnings -O -g -o $@ $<

$(BUILD)/targets/librjem.a: tests/targets/rjem.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TARGET_FLAGS) -c -o $(@:.a=.o) $< && rm -f $@ && ar rcs $@ $(@:.a=.o)

$(BUILD)/targets/rust-rjem: tests/targets/rust.rs $(BUILD)/targets/librjem.a
	$(call say,TARGET,$@)
	$(Q)env -u MAKEFLAGS -u MFLAGS rustc --check-cfg 'cfg(rjem)' --cfg rjem -A warnings -O -g -L $(@D) -l static=rjem -o $@ $<

targets: $(TARGETS) $(ORACLE)

# Checks. tools/check runs suites of them side by side and sums up.
JOBS      ?= $(shell nproc)
FORMATTED := $(shell find user bpf arch tests -name '*.c' -o -name '*.h' -o -name '*.cc')
ANALYSED  := $(shell find user arch -name '*.c')
TIDIED    := $(addsuffix .tidy,$(sort $(dir $(ANALYSED))))
SCRIPTS   := tools/install-deps tools/cross-libraries tests/step/run tests/small/run \
	tests/runtime/with-fewer-rights tests/runtime/own-libraries .ci/run
PYTEST    ?=
SUITES     := static runtime ptrace units fuzz
ALL_SUITES := static guests small ptrace-all fewer-rights soak runtime step units plain-units fuzz

check:
	tools/install-deps check
	@$(MAKE) --no-print-directory -j$(JOBS) check-programs
	@BUILD=$(BUILD) tools/check $(SUITES)

# Kernels are fetched and built meanwhile; who needs one waits for it, and tells why it cannot be had.
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
	@$(MAKE) --no-print-directory -k tidy cppcheck format-check shellcheck layers

tidy: $(TIDIED)

$(TIDIED): %.tidy: $(SKELETON)
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

format:
	tools/install-deps check
	clang-format -i $(FORMATTED)

step-program: $(BUILD)/tests/step/replay

small-program:
	$(Q)$(MAKE) --no-print-directory ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf- SMALL=1 BUILD=build-arm-small

# Tests of real programs alone: PYTEST="-k exec -x" chooses some, BACKEND=ptrace says by what.
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

# Guests of other kernels: what they run, and which kernels (tests/arch/kernels.py).
KERNELS      ?= 5.10 6.1 6.12 newest no-uprobes
SOME_KERNELS := 6.1 no-uprobes armmp ppc32
ARCH_TARGETS := $(addprefix $(BUILD)/targets/,basic maps short threads cxx stacks exec family steady seccomp \
	altstack ownmalloc mixed sanity sanity_bad valgrind/leak_cases valgrind/leak_cases_cxx valgrind/libleak.so)

# The same for guests of other processors: the compilers by kernel, and how the program is made.
GUEST_CC.686     := $(CC) $(M32_FLAGS)
GUEST_CXX.686    := $(CXX) $(M32_FLAGS)
GUEST_CC.armmp   := arm-linux-gnueabihf-gcc
GUEST_CXX.armmp  := arm-linux-gnueabihf-g++
GUEST_CC.armel   := arm-linux-gnueabi-gcc
GUEST_CXX.armel  := arm-linux-gnueabi-g++
GUEST_CC.arm64   := aarch64-linux-gnu-gcc
GUEST_CXX.arm64  := aarch64-linux-gnu-g++
GUEST_CC.ppc32   := powerpc-linux-gnu-gcc
GUEST_CXX.ppc32  := powerpc-linux-gnu-g++
# They have no 64-bit atomics of their own.
GUEST_LIBS.armel := -l:libatomic.a
GUEST_LIBS.ppc32 := -l:libatomic.a
GUEST_ARCH.686   := ARCH=i386
GUEST_ARCH.armmp := ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf-
GUEST_ARCH.armel := ARCH=arm CROSS_COMPILE=arm-linux-gnueabi- BUILD=$(BUILD)-armel-static
GUEST_ARCH.arm64 := ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
GUEST_ARCH.ppc32 := ARCH=powerpc CROSS_COMPILE=powerpc-linux-gnu-
FOREIGN          := $(sort $(filter 686 armmp armel arm64 ppc32,$(KERNELS:%-newest=%)))
GUEST_TARGETS    := $(foreach kernel,$(FOREIGN),\
	$(ARCH_TARGETS:$(BUILD)/targets/%=$(BUILD)/guest/$(kernel)/%)) \
	$(if $(filter arm64,$(FOREIGN)),$(BUILD)/guest/arm64/narrow/basic)
kernel_of         = $(word 1,$(subst /, ,$(patsubst $(BUILD)/guest/%,%,$@)))

$(BUILD)/guest/%: TARGET_FLAGS += -rdynamic -DCHAIN=1000
# Return addresses are signed where the processor can.
$(filter $(BUILD)/guest/arm64/%,$(filter-out %/narrow/basic,$(GUEST_TARGETS))): TARGET_FLAGS += -mbranch-protection=standard
$(BUILD)/guest/arm64/narrow/basic: GUEST_CC.arm64 := arm-linux-gnueabihf-gcc -static
$(filter %/stacks,$(GUEST_TARGETS)): TARGET_FLAGS += -O2 -fomit-frame-pointer -foptimize-sibling-calls -fbuiltin

$(filter-out %/cxx %/stacks %/sanity %/sanity_bad %_cxx %.so,$(GUEST_TARGETS)): $(wildcard tests/targets/*.[ch])
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(GUEST_CC.$(kernel_of)) -std=gnu11 $(TARGET_FLAGS) -o $@ tests/targets/$(@F).c $(GUEST_LIBS.$(kernel_of))

$(filter %/cxx %/stacks %/sanity %/sanity_bad %_cxx,$(GUEST_TARGETS)): $(wildcard tests/targets/*.cc tests/targets/*.h)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(GUEST_CXX.$(kernel_of)) $(TARGET_FLAGS) -Wno-missing-field-initializers -o $@ tests/targets/$(@F).cc \
		$(GUEST_LIBS.$(kernel_of))

$(filter %/libleak.so,$(GUEST_TARGETS)): tests/targets/leak_library.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(GUEST_CC.$(kernel_of)) -std=gnu11 $(TARGET_FLAGS) -shared -fPIC -o $@ $<

guest-program-%:
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) $(GUEST_ARCH.$*) STATIC=1

# That for small boards runs where the usual one of that machine does.
guest-program-armmp: guest-program-small
guest-program-small:
	$(Q)$(MAKE) --no-print-directory $(GUEST_ARCH.armmp) SMALL=1 BUILD=build-arm-small
	$(Q)arm-linux-gnueabihf-strip -o build-arm-small/mtrace-bpf.stripped build-arm-small/mtrace-bpf

check-arch:
	tools/install-deps $(if $(FOREIGN),foreign,arch)
	@$(MAKE) --no-print-directory guest-programs
	@BUILD=$(BUILD) KERNELS="$(KERNELS)" tools/check guests

guest-programs: $(PROGRAM) $(ARCH_TARGETS) $(GUEST_TARGETS) $(addprefix guest-program-,$(FOREIGN))

quickstart:
	tools/install-deps build
	@$(MAKE) --no-print-directory $(PROGRAM) $(BUILD)/targets/leak
	$(PROGRAM) $(BUILD)/targets/leak
	$(PROGRAM) sqlite3 :memory: < tests/targets/quickstart.sql

# What tracing costs, beside its peers, in one run; some 25 minutes, QUICK=1: some 3. ROWS=pairs,threads
# chooses parts (tests/bench/bench.py --help), BENCH="--rounds 3" is passed on. Figures go to
# $(BUILD)/bench.json; `make plots` draws docs/performance from there.
BENCH    ?=
QUICK    ?=
ROWS     ?=
BENCH_PROGRAMS := $(addprefix $(BUILD)/tests/bench/,births floor forks libraries links load pairs report scan_bench \
	stops load-lsan pairs-lsan $(if $(wildcard /usr/include/nlohmann/json.hpp),json))
BENCH_CFLAGS := -O2 -g -Wall -Wextra -D_GNU_SOURCE -pthread -fno-omit-frame-pointer -fno-optimize-sibling-calls

$(BUILD)/tests/bench/pairs $(BUILD)/tests/bench/load: ALL_CFLAGS += -fno-omit-frame-pointer \
	-fno-optimize-sibling-calls -pthread

$(BUILD)/tests/bench/%-lsan: tests/bench/%.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CC) -std=gnu11 $(BENCH_CFLAGS) -fsanitize=leak -o $@ $<

$(BUILD)/tests/bench/json: tests/bench/json.cc
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D) && $(CXX) $(BENCH_CFLAGS) -o $@ $<

# A tracer that walks stacks and does nothing with them.
$(BUILD)/bench/mtrace-bpf: $(PROGRAM)
	$(Q)$(MAKE) --no-print-directory BUILD=$(@D) BPF_EXTRA=-DHAND_OVER=0 $@

bench-programs: $(PROGRAM) $(BENCH_PROGRAMS) $(BUILD)/bench/mtrace-bpf

bench:
	tools/install-deps check
	@$(MAKE) --no-print-directory -j$(JOBS) bench-programs
	$(Q)BUILD=$(BUILD) tests/bench/bench.py --json $(BUILD)/bench.json $(if $(QUICK),--quick) \
		$(if $(ROWS),--only $(ROWS)) $(BENCH)

plots:
	$(Q)test -e $(BUILD)/bench.json || { echo 'plots: there are no figures: run `make bench` first' >&2; false; }
	$(Q)tests/bench/svg.py $(BUILD)/bench.json docs/performance

$(BUILD)/bpf/floor.bpf.o: tests/bench/floor.bpf.c vmlinux/$(ARCH)/vmlinux.h
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(BPF_COMPILE) -o $@ $< && $(LLVM_STRIP) -g $@

$(BUILD)/tests/bench/floor $(BUILD)/tests/bench/links: $(BUILD)/gen/floor.skel.h

# Parsers of files that a target or somebody else may have made: briefly in check, FUZZ_SECONDS=3600 for a long run.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SOURCES := $(filter $(foreach layer,base api os symbol model net,user/$(layer)/%) arch/%,$(SOURCES)) \
	user/parser/wire/protocol.c user/parser/wire/wire.c user/source/stream/malloc_log.c
FUZZ_CFLAGS  := $(LANGUAGE) -MMD -MP -Wall -Werror -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all
# Target $(1) from the seeds and directory $(2), into which goes what reaches new code.
fuzz_run      = mkdir -p $(BUILD)/fuzz/$(2)/$(1) && $(BUILD)/fuzz/$(1) -timeout=20 -rss_limit_mb=2048 \
	-verbosity=0 -print_funcs=0 -print_final_stats=1 -artifact_prefix=$(BUILD)/fuzz/$(1)- \
	$(3) $(BUILD)/fuzz/$(2)/$(1) tests/fuzz/corpus/$(1)

$(BUILD)/fuzz/%.o: %.c
	$(call say,FUZZ,$<)
	$(Q)mkdir -p $(@D) && $(CLANG) $(FUZZ_CFLAGS) -c -o $@ $<

$(BUILD)/fuzz/%: $(BUILD)/fuzz/tests/fuzz/fuzz_%.o $(FUZZ_SOURCES:%.c=$(BUILD)/fuzz/%.o)
	$(call say,LINK,$@)
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $^ $(filter-out -lbpf -ljson-c,$(LDLIBS))

fuzzers: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/%)

fuzz:
	tools/install-deps check
	@$(MAKE) --no-print-directory -j$(JOBS) fuzzers
	$(Q)$(foreach target,$(FUZZ_TARGETS),\
		$(call fuzz_run,$(target),corpus,-max_total_time=$(FUZZ_SECONDS)) &&) :

# From the seeds alone, and in the same order: what it finds is of the change that is checked.
fuzz-brief-%: $(BUILD)/fuzz/%
	$(Q)rm -rf $(BUILD)/fuzz/brief/$*
	$(Q)$(call fuzz_run,$*,brief,-seed=1 -max_total_time=3)

install: $(PROGRAM)
	install -D -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/mtrace-bpf
	install -D -m 644 docs/mtrace-bpf.1 $(DESTDIR)$(PREFIX)/share/man/man1/mtrace-bpf.1

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/mtrace-bpf $(DESTDIR)$(PREFIX)/share/man/man1/mtrace-bpf.1

clean:
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)

.PHONY: $(TIDIED) all help quickstart check check-all check-arch check-stress check-timings check-programs \
	static tidy cppcheck format-check shellcheck layers format units units-built step step-program \
	small-program guest-programs fuzzers targets runtime soak bench bench-programs plots fuzz \
	install uninstall clean
.SECONDARY:
