// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Empty programs, which leave only the cost of the probes themselves. One more takes a stack, as
 * other tools do.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("uprobe/entry")
int nothing(struct pt_regs *regs)
{
	return 0;
}

/* The map that other tools use. User space sets its number of frames. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 127 * sizeof(__u64));
} stacks SEC(".maps");

SEC("uprobe/return")
int stackid(struct pt_regs *regs)
{
	bpf_get_stackid(regs, &stacks, BPF_F_USER_STACK);
	return 0;
}
