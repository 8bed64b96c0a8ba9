// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An iterator over the threads of a process: the addresses that only the kernel keeps for them
 * (struct task_struct in include/linux/sched.h). Not every kernel has futexes or 32-bit programs.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/thread_words.h"

char LICENSE[] SEC("license") = "GPL";

#define ADD_WORD(to, task, member)                                                         \
	do {                                                                               \
		if (bpf_core_field_exists((task)->member))                                 \
			(to)->words[(to)->count++] = (abi_u64)BPF_CORE_READ(task, member); \
	} while (0)

SEC("iter/task")
int write_thread_words(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct thread_words words = {0};

	if (!task)
		return 0;
	words.tgid = BPF_CORE_READ(task, tgid);
	ADD_WORD(&words, task, sas_ss_sp);
	ADD_WORD(&words, task, robust_list);
	ADD_WORD(&words, task, compat_robust_list);
	bpf_seq_write(context->meta->seq, &words, sizeof(words));
	return 0;
}
