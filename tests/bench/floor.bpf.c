// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs that do nothing: what remains is the price of the probes themselves. And one that takes
 * a stack as other tools do. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("uprobe/entry")
int nothing(struct pt_regs *regs)
{
	return 0;
}

/* What others use: user space sets how many frames it holds. */
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
