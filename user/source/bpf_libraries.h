/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes in files before anybody maps them: what a process calls in them is traced from the first
 * call on.
 */
#ifndef MTRACE_SOURCE_BPF_LIBRARIES_H
#define MTRACE_SOURCE_BPF_LIBRARIES_H

#include "source/bpf_process.h"

/*
 * A file that will be mapped, or (probes_attach_ahead as `attach`) may be. One that cannot be read
 * is left out. 0 or -ENOMEM.
 */
int library_attach(struct bpf_process *process, const char *path,
		   int (*attach)(struct bpf_process *process, struct module *module));

/*
 * The C libraries of this system, of every word size, and their dynamic linkers: the next image of
 * the process may be of the other kind. Where probes are for everybody, all allocators that are
 * known as well; elsewhere each of them would be one more event that every thread is born with, and
 * those are what following costs. 0 or -ENOMEM.
 */
int libraries_attach_known(struct bpf_process *process);

#endif
