# SPDX-License-Identifier: GPL-2.0-or-later
# Build options: the processor, the libraries, the directory.
#
#   ARCH=arm CROSS_COMPILE=arm-linux-gnueabihf-     for another processor, into build-$(ARCH)
#   ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
#   ARCH=powerpc CROSS_COMPILE=powerpc-linux-gnu-
#   ARCH=i386
#   STATIC=1                       all libraries are linked into the program
#   SMALL=1                        for small boards: static, and without all that can be left out
#   WITH_BPF=0, WITH_ZSTD=0, …     without one of them: make/sources.mk has the list
#   SANITIZE=address,undefined     with sanitizers, into build-sanitize
#   V=1                            shows commands

HOST     := $(shell uname -m | sed -e 's/i[3-6]86/i386/' -e 's/x86_64/x86/' -e 's/aarch64.*/arm64/' \
	-e 's/arm.*/arm/' -e 's/ppc.*/powerpc/')
ARCH     ?= $(HOST)
CROSS_COMPILE ?=
SANITIZE ?=

ifeq ($(SMALL),1)
WITH_BPF := 0
WITH_ZSTD := 0
WITH_TLS := 0
WITH_HTTP := 0
WITH_DWARF := 0
WITH_DIFF := 0
WITH_SECCOMP := 0
STATIC   := 1
CFLAGS   ?= -Os -g
endif
STATIC   ?= 0
# BPF programs exist for processors whose kernel types are in vmlinux/.
WITH_BPF ?= $(if $(wildcard vmlinux/$(ARCH)),1,0)
WITH_DWARF ?= 1
WITH_DIFF ?= 1
WITH_SECCOMP ?= 1
# The shell has line editing, history and completion where the program runs on the machine that builds
# it.
WITH_READLINE ?= $(if $(filter 1,$(STATIC))$(CROSS_COMPILE)$(filter-out $(HOST),$(ARCH))$(filter 0,$(WITH_BPF)),0,1)

BUILD    ?= build$(if $(filter-out $(HOST),$(ARCH)),-$(ARCH))$(if \
	$(wildcard vmlinux/$(ARCH)),$(if $(filter 0,$(WITH_BPF)),-ptrace))$(if \
	$(filter 1,$(SMALL)),-small,$(if $(filter 1,$(STATIC)),-static))$(if $(SANITIZE),-sanitize)
PREFIX   ?= /usr/local
DESTDIR  ?=
VERSION  := 0.1.0
JOBS     ?= $(shell nproc)

ifneq ($(CROSS_COMPILE),)
CC       := $(CROSS_COMPILE)gcc
endif
CC       ?= gcc
CXX      ?= g++
AR       := $(CROSS_COMPILE)ar
OBJCOPY  := $(CROSS_COMPILE)objcopy
CLANG    ?= clang
LLVM_STRIP ?= llvm-strip
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool /sbin/bpftool) bpftool)
Q        := $(if $(V),,@)
say       = $(if $(V),,@printf '  %-7s %s\n' $(1) $(2))
comma    := ,
