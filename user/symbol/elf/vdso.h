/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vdso: code that the kernel maps into every process, an ELF image without a file. It is the
 * same for all processes of one word size. That of our own size is in our own memory. The other one
 * a child of ours asks the kernel for (arch_prctl, which checkpoint/restore has brought), so that
 * no traced process has to be there to read it from.
 */
#ifndef MTRACE_SYMBOL_ELF_VDSO_H
#define MTRACE_SYMBOL_ELF_VDSO_H

#include "symbol/elf/module_table.h"

#define VDSO_NAME "[vdso]" /* as in /proc/PID/maps */

/* The module, made when it is first asked for. 0, -ENOENT if it is not to be had, or -errno. */
int vdso_module(struct module_table *table, bool is_64bit, struct module **ret_module);

/* The word size of the process that maps it there: the kernel puts it where it fits. */
static inline bool vdso_is_64bit(uint64_t address)
{
	return address > UINT32_MAX;
}

#endif
