/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Determines which of the types and functions that we need exist in the running kernel, from its
 * BTF (Documentation/bpf/btf.rst). One pass over it in place: libbpf's reader copies and indexes
 * all of it, which takes half as long as loading the BPF programs.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_KERNEL_H
#define MTRACE_SOURCE_BPF_LOAD_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum kernel_type {
	KERNEL_SESSION_WORD, /* the function bpf_session_cookie */
	KERNEL_SESSIONS,     /* uprobe sessions can store a word */
	KERNEL_MULTI_UPROBES,
	KERNEL_CASTS,            /* bpf_rdonly_cast */
	KERNEL_MAPPING_ITERATOR, /* bpf_iter_task_vma_new */
	KERNEL_MAPLE_TREE,
	KERNEL_BORROWED_STACKS, /* BPF programs may use per-CPU stacks */
	KERNEL_TYPE_COUNT,
};

struct kernel_types {
	uint32_t ids[KERNEL_TYPE_COUNT]; /* BTF ids; 0: does not exist */
};

/* Reads those of the running kernel; all 0 if it has no BTF. */
void kernel_types_read(struct kernel_types *ret_types);

/* Finds them in BTF in memory. If it is truncated or malformed, the rest counts as missing. */
void kernel_types_find(const void *btf, size_t size, struct kernel_types *ret_types);

#endif
