# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzzes the parsers of files that others may have written: briefly in check, FUZZ_SECONDS=3600 for a
# long run.
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_SOURCES := $(filter $(foreach layer,base api os symbol model net,user/$(layer)/%) arch/%,$(SOURCES)) \
	user/parser/wire/protocol.c user/parser/wire/wire.c user/source/stream/malloc_log.c \
	user/app/report/json_input.c user/app/report/report_file.c
FUZZ_CFLAGS  := $(LANGUAGE) -MMD -MP -Wall -Werror -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all
# Fuzzes target $(1), from the seeds and directory $(2), which receives the inputs that reach new code.
fuzz_run      = mkdir -p $(BUILD)/fuzz/$(2)/$(1) && $(BUILD)/fuzz/$(1) -timeout=20 -rss_limit_mb=2048 \
	-verbosity=0 -print_funcs=0 -print_final_stats=1 -artifact_prefix=$(BUILD)/fuzz/$(1)- \
	$(3) $(BUILD)/fuzz/$(2)/$(1) tests/fuzz/corpus/$(1)

$(BUILD)/fuzz/%.o: %.c
	$(call say,FUZZ,$<)
	$(Q)mkdir -p $(@D) && $(CLANG) $(FUZZ_CFLAGS) -c -o $@ $<

$(BUILD)/fuzz/%: $(BUILD)/fuzz/tests/fuzz/fuzz_%.o $(FUZZ_SOURCES:%.c=$(BUILD)/fuzz/%.o)
	$(call say,LINK,$@)
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined -o $@ $^ $(filter-out -lbpf,$(LDLIBS))

fuzzers: $(FUZZ_TARGETS:%=$(BUILD)/fuzz/%)

fuzz:
	tools/install-deps check
	@$(MAKE) --no-print-directory -j$(JOBS) fuzzers
	$(Q)$(foreach target,$(FUZZ_TARGETS),\
		$(call fuzz_run,$(target),corpus,-max_total_time=$(FUZZ_SECONDS)) &&) :

# Starts from the seeds only, in the same order, so that findings come from the change that is checked.
fuzz-brief-%: $(BUILD)/fuzz/%
	$(Q)rm -rf $(BUILD)/fuzz/brief/$*
	$(Q)$(call fuzz_run,$*,brief,-seed=1 -max_total_time=3)

.PHONY: fuzz fuzzers
