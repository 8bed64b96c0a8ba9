/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SOURCE_BPF_FILE_KEY_H
#define MTRACE_SOURCE_BPF_FILE_KEY_H

#include "source/bpf/load/loaded_programs.h"
#include "symbol/elf/module.h"
#include "symbol/elf/module_table.h"

/*
 * Tells by which device and inode the kernel knows a file. On overlayfs and btrfs stat() gives
 * others, and nothing else in user space tells: so the file is mapped for a moment, and one of our
 * BPF programs looks at the mapping. The program must outlive the identifier.
 */
struct module_identifier file_key_identifier(struct loaded_programs *program);

/* The same as exec sees it. On overlayfs that is the merged file; what is mapped is one of a layer.
 */
struct module_identifier file_key_exec_identifier(struct loaded_programs *program);

#endif
