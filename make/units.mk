# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests, each a program: tests/unit mirrors user.

UNITS    := $(patsubst tests/%.c,$(BUILD)/tests/%,$(sort $(shell find tests/unit tests/bpf -name 'test_*.c')))

$(BUILD)/tests/%: tests/%.c $(LIBRARY)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $< $(LIBRARY) -lcmocka $(LDLIBS)

# Compares our emulation of other processors' instructions with qemu's.
step-program: $(BUILD)/tests/step/replay

step: $(BUILD)/tests/step/replay
	$(Q)tests/step/run $(BUILD)

# Its calls of malloc and free must not be optimized away.
$(BUILD)/tests/unit/gate/test_stub: ALL_CFLAGS += -fno-builtin

units-built: $(UNITS)

units:
	tools/install-deps check
	@$(MAKE) --no-print-directory -j$(JOBS) units-built
	$(Q)status=0; for unit in $(UNITS); do $$unit || status=1; done; exit $$status

.PHONY: units units-built step step-program
