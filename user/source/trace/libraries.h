/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places probes in files before they are mapped, so that a process is traced from its first call
 * on.
 */
#ifndef MTRACE_SOURCE_TRACE_LIBRARIES_H
#define MTRACE_SOURCE_TRACE_LIBRARIES_H

#include "source/process/traced_process.h"

/*
 * Returns the module of an open file called `path`, with its unwind tables. Takes ownership of the
 * descriptor. NULL if the file cannot be read. Returns 0 or -ENOMEM.
 */
int library_open(struct traced_process *process, int fd, const char *path,
		 struct module **ret_module);

/*
 * Probes a file that will be mapped or (with probes_attach_ahead as `attach`) may be. Skips
 * unreadable files. Returns 0 or -ENOMEM.
 */
int library_attach(struct traced_process *process, const char *path,
		   int (*attach)(struct traced_process *process, struct module *module));

/*
 * Probes the C libraries and dynamic linkers of this system, of every word size, because the next
 * image of the process may have the other one. If children are traced, also all known allocators.
 * Returns 0 or -ENOMEM.
 */
int libraries_attach_known(struct traced_process *process);

#endif
