# SPDX-License-Identifier: GPL-2.0-or-later
# Guests with other kernels and processors, under qemu (tests/arch/kernels.py).

KERNELS      ?= 5.10 6.1 6.12 newest no-uprobes
SOME_KERNELS := 6.1 no-uprobes armmp ppc32
ARCH_TARGETS := $(addprefix $(BUILD)/targets/,basic maps short threads cxx stacks exec family steady seccomp \
	altstack ownmalloc mixed sanity sanity_bad valgrind/leak_cases valgrind/leak_cases_cxx valgrind/libleak.so)

# The compilers for other processors, and the options of the program.
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
# These processors have no 64-bit atomic instructions.
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
	$(if $(filter arm64,$(FOREIGN)),$(BUILD)/guest/arm64/compat32/basic)
kernel_of         = $(word 1,$(subst /, ,$(patsubst $(BUILD)/guest/%,%,$@)))

$(BUILD)/guest/%: TARGET_FLAGS += -rdynamic -DCHAIN=1000
# Sign return addresses where the processor can.
$(filter $(BUILD)/guest/arm64/%,$(filter-out %/compat32/basic,$(GUEST_TARGETS))): \
	TARGET_FLAGS += -mbranch-protection=standard
$(BUILD)/guest/arm64/compat32/basic: GUEST_CC.arm64 := arm-linux-gnueabihf-gcc -static
$(filter %/stacks,$(GUEST_TARGETS)): TARGET_FLAGS += -O2 -fomit-frame-pointer -foptimize-sibling-calls -fbuiltin

$(filter-out %/cxx %/stacks %/sanity %/sanity_bad %_cxx %.so,$(GUEST_TARGETS)): $(wildcard tests/targets/*.[ch])
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(GUEST_CC.$(kernel_of)) -std=gnu11 $(TARGET_FLAGS) -o $@ \
		tests/targets/$(@F).c $(GUEST_LIBS.$(kernel_of))

$(filter %/cxx %/stacks %/sanity %/sanity_bad %_cxx,$(GUEST_TARGETS)): $(wildcard tests/targets/*.cc tests/targets/*.h)
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(GUEST_CXX.$(kernel_of)) $(TARGET_FLAGS) -Wno-missing-field-initializers -o $@ \
		tests/targets/$(@F).cc $(GUEST_LIBS.$(kernel_of))

$(filter %/libleak.so,$(GUEST_TARGETS)): tests/targets/leak_library.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(GUEST_CC.$(kernel_of)) -std=gnu11 $(TARGET_FLAGS) -shared -fPIC -o $@ $<

guest-program-%:
	$(Q)$(MAKE) --no-print-directory -j$(JOBS) $(GUEST_ARCH.$*) STATIC=1

# The program for small boards runs in the same guest as the full one.
guest-program-armmp: small-program

check-arch:
	tools/install-deps $(if $(FOREIGN),foreign,arch)
	@$(MAKE) --no-print-directory guest-programs
	@BUILD=$(BUILD) KERNELS="$(KERNELS)" tools/check guests

guest-programs: $(PROGRAM) $(ARCH_TARGETS) $(GUEST_TARGETS) $(addprefix guest-program-,$(FOREIGN))

.PHONY: check-arch guest-programs
