/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions that sanity.bpf.h requires: a thread's active operators, and whether they still
 * are. */
#ifndef MTRACE_BPF_MARKS_BPF_H
#define MTRACE_BPF_MARKS_BPF_H

#if REGS_LINKS
#define FRAMES_MAX 8192 /* bytes of stack to search for a return address */
#define SAVE_WORDS 2    /* words above a call's stack pointer where it may be saved */

/* Like user/source/ptrace/breakpoint/calls.c: a function saves its return address before it calls
 * others, but the place is up to it. If it jumped to a function with a return probe, that one saves
 * the trampoline instead. */
__noinline int is_saved(__u64 sp, __u64 top, __u64 address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);
	__u64 trampoline = area ? BPF_CORE_READ(area, vaddr) & REGS_ADDRESS : address;
	__u64 word = 0;

	if (top - sp > FRAMES_MAX)
		return 1; /* as it usually is */
	for (__u64 i = 0; i < FRAMES_MAX / sizeof(word) + SAVE_WORDS; i++) {
		if (sp >= top + SAVE_WORDS * sizeof(word) || read_user(sp, &word))
			return 0;
		word &= REGS_ADDRESS;
		if (word == address || word == trampoline)
			return 1;
		sp += sizeof(word);
	}
	return 0;
}

/* A mark at the same stack pointer belongs to another call. */
static __always_inline int is_mark_intact(const struct operator_mark *mark, __u64 sp)
{
	return sp > mark->sp || (sp < mark->sp && is_saved(sp, mark->sp, mark->return_address));
}
#else
static __always_inline int is_mark_intact(const struct operator_mark *mark, __u64 sp)
{
	(void)sp;
	return is_return_intact(mark);
}
#endif

static __always_inline __u64 entry_sp(const struct caller_frame *caller)
{
	return REGS_LINKS ? caller->sp : caller->sp - caller->word;
}

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_marks);
} operator_marks SEC(".maps");

static __always_inline struct thread_marks *thread_marks(void)
{
	return bpf_task_storage_get(&operator_marks, bpf_get_current_task_btf(), NULL,
				    BPF_LOCAL_STORAGE_GET_F_CREATE);
}

#endif
