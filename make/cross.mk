# SPDX-License-Identifier: GPL-2.0-or-later
# Libraries for another processor, from tools/cross-libraries or from the directory SYSROOT.

# Debian's names of processors, by the names that compilers use.
MACHINE_arm-linux-gnueabihf := armhf
MACHINE_arm-linux-gnueabi   := armel
MACHINE_aarch64-linux-gnu   := arm64
MACHINE_i386-linux-gnu      := i386
MACHINE_powerpc-linux-gnu   := powerpc

CROSS    := $(if $(CROSS_COMPILE),$(CROSS_COMPILE:-=),$(if $(filter-out $(HOST),$(ARCH)),$(ARCH)-linux-gnu))

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
