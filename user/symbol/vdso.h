/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vdso: code that the kernel maps into every process, an ELF image without a file. It is the
 * same for all processes of our own word size, so that ours serves as the module of theirs.
 */
#ifndef MTRACE_SYMBOL_VDSO_H
#define MTRACE_SYMBOL_VDSO_H

#include "symbol/module.h"

#define VDSO_NAME "[vdso]" /* as in /proc/PID/maps */

/* The module, made when it is first asked for. 0, -ENOENT if this process has none, or -errno. */
int vdso_module(struct module_table *table, struct module **ret_module);

#endif
