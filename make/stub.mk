# SPDX-License-Identifier: GPL-2.0-or-later
# The code that is mapped into traced processes: compiled without a C library, linked to a flat image
# without data, and contained in the program.

STUB_IMAGE := $(BUILD)/stub/stub.image
STUB_FLAGS := -O2 -std=gnu11 -Wall -Wextra -Werror -iquote . -ffreestanding -fpie -mgeneral-regs-only \
	-fno-stack-protector -fcf-protection=none -fno-asynchronous-unwind-tables -fno-jump-tables \
	-fno-tree-loop-distribute-patterns -U_FORTIFY_SOURCE

OBJECTS  += $(if $(filter 1,$(WITH_GATES)),$(BUILD)/stub/image.o)

$(STUB_IMAGE): stub/stub.c arch/x86_stub.S stub/stub.ld stub/abi.h bpf/abi.h
	$(call say,STUB,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(STUB_FLAGS) -c -o $(@D)/stub.o stub/stub.c
	$(Q)$(CC) $(STUB_FLAGS) -c -o $(@D)/templates.o arch/x86_stub.S
	$(Q)$(CC) -nostdlib -static -no-pie -Wl,-T,stub/stub.ld,--build-id=none -o $(@D)/stub.elf \
		$(@D)/templates.o $(@D)/stub.o
	$(Q)$(OBJCOPY) -O binary -j .image $(@D)/stub.elf $@

$(BUILD)/stub/image.o: stub/image.S $(STUB_IMAGE)
	$(Q)$(CC) -DSTUB_IMAGE='"$(STUB_IMAGE)"' -c -o $@ $<
