/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes in files before anybody maps them: what a process calls in them is traced from the first
 * call on.
 */
#ifndef MTRACE_SOURCE_TRACE_LIBRARIES_H
#define MTRACE_SOURCE_TRACE_LIBRARIES_H

#include "source/process/traced_process.h"

/*
 * The module of an open file (taken over), called `path`, with its unwind tables; NULL if it cannot
 * be read. 0 or -ENOMEM.
 */
int library_open(struct traced_process *process, int fd, const char *path,
		 struct module **ret_module);

/*
 * A file that will be mapped, or (probes_attach_ahead as `attach`) may be. One that cannot be read
 * is left out. 0 or -ENOMEM.
 */
int library_attach(struct traced_process *process, const char *path,
		   int (*attach)(struct traced_process *process, struct module *module));

/*
 * The C libraries of this system, of every word size, and their dynamic linkers: the next image of
 * the process may be of the other kind. Where children are traced too, all allocators that are
 * known as well. 0 or -ENOMEM.
 */
int libraries_attach_known(struct traced_process *process);

#endif
