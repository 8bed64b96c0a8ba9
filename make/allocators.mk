# SPDX-License-Identifier: GPL-2.0-or-later
# Programs to trace, with allocators of all kinds: static, position-independent or not; from an archive;
# under names with a prefix; instrumented; interposed; in Rust. Programs that this machine cannot build
# are left out.

ALLOCATORS := $(addprefix $(BUILD)/targets/,basic-static-pie basic-musl-static steady-musl basic-asan \
	basic-asan-static basic-lsan cxx-static gated-static \
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
	$(c_target)

$(BUILD)/targets/basic-musl-static: tests/targets/basic.c tests/targets/truth.h
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && musl-gcc -std=gnu11 $(TARGET_FLAGS) -static -o $@ $<

$(BUILD)/targets/cxx-jemalloc: ARCHIVE := -l:libjemalloc.a
$(BUILD)/targets/cxx-tcmalloc: ARCHIVE := -l:libtcmalloc_minimal.a

$(BUILD)/targets/cxx-static $(BUILD)/targets/cxx-jemalloc $(BUILD)/targets/cxx-tcmalloc: \
		tests/targets/cxx.cc tests/targets/truth.h
	$(call cxx_target,-static,$(ARCHIVE))

$(BUILD)/targets/gated-static: tests/targets/gated.cc tests/targets/truth.h
	$(call cxx_target,-static)

$(BUILD)/targets/prefixed-%: tests/targets/prefixed.c tests/targets/truth.h
	$(call c_target,-DPREFIX=$*)

$(BUILD)/targets/prefixed-stripped: tests/targets/prefixed.c tests/targets/truth.h
	$(call c_target,-DPREFIX=own_ -static -s)

$(BUILD)/targets/libinterposer.so: tests/targets/interposer.c
	$(call c_target,-O2 -foptimize-sibling-calls -shared -fPIC)

$(BUILD)/targets/libcounter.so: tests/targets/counter.c
	$(call c_target,-shared -fPIC)

RUSTC := env -u MAKEFLAGS -u MFLAGS rustc --check-cfg 'cfg(rjem)' -A warnings -O -g

$(BUILD)/targets/rust-libc: tests/targets/rust.rs
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(RUSTC) -o $@ $<

$(BUILD)/targets/librjem.a: tests/targets/rjem.c
	$(call say,TARGET,$@)
	$(Q)mkdir -p $(@D) && $(CC) $(TARGET_FLAGS) -c -o $(@:.a=.o) $< && rm -f $@ && ar rcs $@ $(@:.a=.o)

$(BUILD)/targets/rust-rjem: tests/targets/rust.rs $(BUILD)/targets/librjem.a
	$(call say,TARGET,$@)
	$(Q)$(RUSTC) --cfg rjem -L $(@D) -l static=rjem -o $@ $<
