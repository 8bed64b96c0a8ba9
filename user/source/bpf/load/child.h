/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child of our own that is traced, to see what the programs do on this kernel. It is among the
 * processes of the BPF programs from its start to its end, and meanwhile these tell every size, and
 * of stacks only what is found in the kernel: the room in the ring buffer is for others.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_CHILD_H
#define MTRACE_SOURCE_BPF_LOAD_CHILD_H

#include <stdint.h>
#include <sys/types.h>

#include "api/api.h"
#include "source/process/probe_request.h"

struct loaded_programs;

struct bpf_child {
	struct loaded_programs *program;
	pid_t pid;
	int orders;  /* the child reads what is written here, … */
	int answers; /* … and this is where it writes */
};

/* `main` runs in the child, and does not return. 0 or -errno; after 0 it has to be finished. */
int bpf_child_start(struct loaded_programs *program, void (*main)(int orders, int answers),
		    struct bpf_child *ret_child);
/* Probe a function of ours there, at that byte: counts once it is committed. 0 or -errno. */
int bpf_child_probe(const struct bpf_child *child, enum probe_kind kind, const void *place,
		    enum api api);
int bpf_child_commit(const struct bpf_child *child);
/* Wait for its end, which comes when it has read all. Returns its status, as waitpid() has it. */
int bpf_child_finish(const struct bpf_child *child);

#endif
