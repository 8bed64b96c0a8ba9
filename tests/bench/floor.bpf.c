// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs that do nothing: what remains is the price of the probes themselves. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("uprobe/entry")
int nothing(struct pt_regs *regs)
{
	return 0;
}
