# SPDX-License-Identifier: GPL-2.0-or-later
# How C is compiled, and with which libraries the program is linked.

# Sanitized code compiles in half the time with -O1; -g1 has the lines that a sanitizer prints.
CFLAGS   ?= $(if $(SANITIZE),-O1 -g1,-O2 -g)
LANGUAGE := $(CROSS_FLAGS) -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DMTRACE_VERSION='"$(VERSION)"' \
	-iquote user -iquote . -iquote $(BUILD)/gen $(if $(filter 1,$(SMALL)),-DNATIVE_ONLY=1)
ALL_CFLAGS := $(LANGUAGE) -MMD -MP \
	-Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer) $(CFLAGS)

# 1 if header $(1) and library $(2) exist for the processor.
has_library = $(shell echo 'int main(void) { return 0; }' | $(CC) $(CROSS_FLAGS) $(LDFLAGS) -include $(1) -x c \
	-o /dev/null - $(2) 2>/dev/null && echo 1 || echo 0)

ifeq ($(origin WITH_ZSTD),undefined)
WITH_ZSTD := $(call has_library,zstd.h,-lzstd)
endif
# Programs for other, small machines have no TLS and serve no metrics.
ifeq ($(origin WITH_TLS),undefined)
WITH_TLS := $(if $(filter 1,$(STATIC))$(CROSS),0,$(call has_library,openssl/ssl.h,-lssl -lcrypto))
endif
ifeq ($(origin WITH_HTTP),undefined)
WITH_HTTP := $(if $(filter 1,$(STATIC))$(CROSS),0,$(call has_library,microhttpd.h,-lmicrohttpd))
endif
# x86 code is decoded only where x86 programs are traced.
WITH_X86 := $(if $(filter x86 i386,$(ARCH)),1,0)
# Gates are made for 64-bit x86 programs, where BPF traces them.
WITH_GATES := $(if $(filter x86,$(ARCH)),$(WITH_BPF),0)
# A static program cannot load the C library's modules that resolve names of hosts and users.
WITH_NSS := $(if $(filter 1,$(STATIC)),0,1)

with      = $(if $(filter 1,$(WITH_$(1))),$(2))
LDLIBS   := $(call with,BPF,-lbpf) $(call with,READLINE,-lreadline) $(call with,DWARF,-ldw -liberty) -lelf \
	$(call with,X86,-lcapstone) $(call with,SECCOMP,-lseccomp) -ljson-c -lz $(call with,ZSTD,-lzstd) \
	$(call with,TLS,-lssl -lcrypto) $(call with,HTTP,-lmicrohttpd) -lm
LDFLAGS  += $(if $(SANITIZE),-fsanitize=$(SANITIZE))

# The libraries that a static library needs; one for another machine may have been built without them.
ifeq ($(STATIC),1)
LDFLAGS  += -static
LDLIBS   := -Wl,--start-group $(LDLIBS) -lz \
	$(if $(filter powerpc-linux-gnu,$(CROSS))$(filter 0,$(WITH_DWARF)),,-llzma -lbz2) -Wl,--end-group
ALL_CFLAGS += -ffunction-sections -fdata-sections
LDFLAGS  += -Wl,--gc-sections
endif
