/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A traced child of our own, to see what the programs do on this kernel. It is in the BPF programs'
 * map of processes from its start to its exit. Meanwhile the programs report all sizes, and send no
 * stack dumps: the room in the ring buffer is for other processes.
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
	int orders;  /* the child reads what is written here … */
	int answers; /* … and writes its replies here */
};

/* `main` runs in the child and does not return. Returns 0 or -errno; after 0, call
 * bpf_child_finish(). */
int bpf_child_start(struct loaded_programs *program, void (*main)(int orders, int answers),
		    struct bpf_child *ret_child);
/* Probes a function of ours in the child, at `place`. Takes effect with bpf_child_commit(). Returns
 * 0 or -errno. */
int bpf_child_probe(const struct bpf_child *child, enum probe_kind kind, const void *place,
		    enum api api);
int bpf_child_commit(const struct bpf_child *child);
/* Waits for the child, which exits when it has read everything. Returns its waitpid() status. */
int bpf_child_finish(const struct bpf_child *child);

#endif
