# SPDX-License-Identifier: GPL-2.0-or-later
# Which files a build has: all except those that the table leaves out. A new file needs no entry.
#
# WITH_name=1 leaves out the files of WITHOUT.name, WITH_name=0 those of WITH.name. A % stands for
# anything.

LAYERS   := base api os model net scan symbol gate parser source report app

OPTIONS  := BPF READLINE DIFF DWARF X86 GATES SECCOMP ZSTD TLS HTTP NSS

# Tracing by BPF; without it, by ptrace only.
WITH.BPF         := source/bpf/% source/selection.c
WITHOUT.BPF      := source/bpf/without_bpf.c
# Line editing in the shell.
WITH.READLINE    := app/terminal/input_readline.c
WITHOUT.READLINE := app/terminal/input_without_readline.c
# The comparison of two JSON reports.
WITH.DIFF        := app/report/diff.c app/report/report_file.c app/report/json_input.c
WITHOUT.DIFF     := app/report/without_diff.c
# Debug information: names of inlined functions, source lines, demangled names, debuginfod.
WITH.DWARF       := symbol/names/module_names.c symbol/names/dwarf_index.c symbol/names/debug_want.c \
	symbol/names/demangle.c parser/client/debuginfod.c
WITHOUT.DWARF    := symbol/names/without_dwarf.c symbol/names/without_demangler.c \
	parser/client/without_debuginfod.c
# Analysis of x86 code: exits of functions, the words that a stopped function can still read, and gates.
WITH.X86         := symbol/probe_site/x86_code.c symbol/liveness/% app/scan/stack_liveness.c \
	scan/allocator/glibc_stack.c arch/gate.c arch/x86_gate.c
WITHOUT.X86      := symbol/probe_site/without_x86_code.c symbol/liveness/without_liveness.c \
	app/scan/without_stack_liveness.c scan/allocator/without_glibc_stack.c arch/without_gate.c
# Gates: code of ours in traced processes.
WITH.GATES       := gate/% source/gate/gated.c
WITHOUT.GATES    := source/gate/without_gated.c
# The parser's sandbox: a filter by libseccomp, or our own.
WITH.SECCOMP     := parser/server/call_filter.c
WITHOUT.SECCOMP  := parser/server/without_seccomp.c
# Compression of recordings and connections.
WITH.ZSTD        := net/stream/compressor.c
WITHOUT.ZSTD     := net/stream/without_compressor.c
# Encryption of connections, and digests by OpenSSL or by our own code.
WITH.TLS         := net/connection/tls.c net/connection/sha256.c
WITHOUT.TLS      := net/connection/without_tls.c net/connection/without_openssl.c
# Metrics served by HTTP.
WITH.HTTP        := net/http/http.c
WITHOUT.HTTP     := net/http/without_http.c
# Names of hosts and users by the C library.
WITH.NSS         := net/connection/resolve.c os/account/lookup.c
WITHOUT.NSS      := net/connection/without_resolver.c os/account/without_nss.c

ALL_SOURCES := $(sort $(shell find $(LAYERS:%=user/%) -name '*.c')) $(wildcard arch/*.c)
files_of  = $(filter $($(1):%=user/%) $($(1)),$(ALL_SOURCES))
left_out  = $(if $(filter 1,$(WITH_$(1))),$(call files_of,WITHOUT.$(1)), \
	$(filter-out $(call files_of,WITHOUT.$(1)),$(call files_of,WITH.$(1))))
SOURCES  := $(filter-out $(foreach option,$(OPTIONS),$(call left_out,$(option))),$(ALL_SOURCES))
