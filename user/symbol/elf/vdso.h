/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vdso: code that the kernel maps into every process, an ELF image without a file. All
 * processes of the same word size share it. The vdso of our own word size is read from our own
 * memory. For the other one, a child process asks the kernel to map it (arch_prctl ARCH_MAP_VDSO_*,
 * added for checkpoint/restore), so no traced process is needed to read it from.
 */
#ifndef MTRACE_SYMBOL_ELF_VDSO_H
#define MTRACE_SYMBOL_ELF_VDSO_H

#include "symbol/elf/module_table.h"

#define VDSO_NAME "[vdso]" /* as in /proc/PID/maps */

/* Returns the module, which is created on first use. Returns 0, -ENOENT if the kernel does not
 * provide it, or -errno. */
int vdso_module(struct module_table *table, bool is_64bit, struct module **ret_module);

/* Returns true if a process that maps the vdso at this address is a 64-bit one: 32-bit processes
 * have it below 4 GiB, 64-bit processes above. */
static inline bool vdso_is_64bit(uint64_t address)
{
	return address > UINT32_MAX;
}

#endif
