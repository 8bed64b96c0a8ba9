# SPDX-License-Identifier: GPL-2.0-or-later
# Measures the cost of tracing, compared with other tools in the same run. Takes about 25 minutes, 3
# with QUICK=1. ROWS=pairs,threads chooses parts (tests/bench/bench.py --help), BENCH="--rounds 3" is
# passed on. Figures go to $(BUILD)/bench.json; `make plots` draws docs/performance from there.
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

# A tracer that only unwinds stacks.
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

.PHONY: bench bench-programs plots
