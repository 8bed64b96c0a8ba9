# SPDX-License-Identifier: GPL-2.0-or-later
# The program, the archive of all its objects that tests link with, and the BPF programs in it.

MAIN     := user/app/main.c
OBJECTS  += $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(MAIN),$(SOURCES)))
LIBRARY  := $(BUILD)/libmtrace.a
PROGRAM  := $(BUILD)/mtrace-bpf
SKELETONS := $(BUILD)/gen/mtrace.skel.h $(BUILD)/gen/thread_words.skel.h

$(PROGRAM): $(MAIN:%.c=$(BUILD)/%.o) $(LIBRARY)
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(LIBRARY): $(OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c -o $@ $<

$(patsubst %.c,$(BUILD)/%.o,$(if $(filter 1,$(WITH_BPF)),$(filter user/source/bpf/%,$(SOURCES)))): $(SKELETONS)

BPF_COMPILE := $(CLANG) $(BPF_EXTRA) -target bpf -D__TARGET_ARCH_$(ARCH) -O2 -g -Wall -Werror -mcpu=v3 -c \
	-Wno-missing-declarations -isystem vmlinux/$(ARCH) -iquote .

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h arch/*.h) vmlinux/$(ARCH)/vmlinux.h
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D) && $(BPF_COMPILE) -o $@ $< && $(LLVM_STRIP) -g $@

$(BUILD)/gen/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)mkdir -p $(@D) && $(BPFTOOL) gen skeleton $< name $(*F)_bpf > $@.tmp && mv $@.tmp $@
