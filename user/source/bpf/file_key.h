/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_SOURCE_BPF_FILE_KEY_H
#define MTRACE_SOURCE_BPF_FILE_KEY_H

#include "source/bpf/load/loaded_programs.h"
#include "symbol/elf/module.h"
#include "symbol/elf/module_table.h"

/*
 * Determines the device and inode by which the kernel identifies a file. On overlayfs and btrfs,
 * stat() returns others, and there is no other way to get them from user space. So the file is
 * mapped briefly, and one of our BPF programs looks at the mapping. The program must outlive the
 * identifier.
 */
struct module_identifier file_key_identifier(struct loaded_programs *program);

/* The same as seen by exec. On overlayfs that is the merged file, while the mapped file is that of
 * a layer. */
struct module_identifier file_key_exec_identifier(struct loaded_programs *program);

#endif
