/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of the types and functions that we ask for the running kernel has, by its own description
 * (BTF: Documentation/bpf/btf.rst). One pass over that, where it lies: libbpf's reader copies and
 * indexes all of it, which takes as long as loading half of the BPF programs does.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_KERNEL_H
#define MTRACE_SOURCE_BPF_LOAD_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum kernel_type {
	KERNEL_SESSION_WORD, /* the function bpf_session_cookie */
	KERNEL_SESSIONS,     /* uprobe sessions have a word there */
	KERNEL_MULTI_UPROBES,
	KERNEL_CASTS,            /* bpf_rdonly_cast */
	KERNEL_MAPPING_ITERATOR, /* bpf_iter_task_vma_new */
	KERNEL_MAPLE_TREE,
	KERNEL_BORROWED_STACKS, /* BPF programs' stacks can be the processor's */
	KERNEL_TYPE_COUNT,
};

struct kernel_types {
	uint32_t ids[KERNEL_TYPE_COUNT]; /* BTF's numbers; 0: it does not have that */
};

/* Of the running kernel; where it does not describe itself, none. */
void kernel_types_read(struct kernel_types *ret_types);

/* Of a description in memory. Where it is cut off or makes no sense the rest is not there. */
void kernel_types_find(const void *btf, size_t size, struct kernel_types *ret_types);

#endif
