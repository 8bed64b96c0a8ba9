/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the operator that made a call of malloc or free (--sanity only).
 *
 * operator new calls malloc, operator new[] jumps to operator new, delete jumps to free, sized
 * delete to delete: at malloc and free most of them have left no frame. So each operator has a
 * probe at its entry that leaves a mark in the thread: which operator was called, its arguments,
 * and where its return address is. Calls of malloc and free are compared with it.
 *
 * A mark must never be used for a call that was not made by the operator. Operators throw, call
 * handlers that allocate, are replaced by versions with pools or headers, and are interrupted by
 * signals. So:
 *
 * - An operator is active as long as its return address is in place and no call on the same stack
 *   has started above it. Otherwise it has returned or was unwound, and its mark is dropped.
 * - Operators that call each other are one: by a jump (same stack pointer, same return address), or
 *   by a call from the other's code with the same argument. The first one counts.
 * - A call is made by the operator if it comes from the operator's code, or by a jump from it.
 *   Other calls while it is active (by a new-handler, a signal handler, a helper) belong to an
 *   unknown operator: OPERATOR_UNKNOWN, which is never reported as a mismatch.
 * - It is only accepted if it does what the library's operator does: it allocates as much as was
 *   requested, or frees the block that was passed. Otherwise the operator uses a pool or puts a
 *   header before the block, and is unknown as well.
 *
 * A new is complete when its malloc has succeeded, a delete when it has called free.
 *
 * In BPF programs, only 64-bit code has marks.
 *
 * Like alloc.bpf.h, this file uses no helper and no map, and tests/bpf compiles it for the host.
 */
#ifndef MTRACE_BPF_SANITY_BPF_H
#define MTRACE_BPF_SANITY_BPF_H

#include "bpf/abi.h"

/* Active operators in one thread: new, one in its handler, one in a signal handler … */
#define MARKS_MAX 4

struct operator_mark {
	abi_u64 sp; /* at entry: address of the return address, if it is on the stack */
	abi_u64 return_address;
	abi_u64 code; /* of the function: address and size */
	abi_u64 code_size;
	abi_u64 argument; /* new: requested bytes; delete: the block */
	abi_u64 size;     /* delete: the size argument, or SIZE_UNKNOWN */
	abi_u64 slack;    /* bytes that an aligned operator may round up by */
	abi_u32 api;
	abi_u32 tried; /* its malloc has failed: it will not call another operator */
};

struct thread_marks {
	abi_u32 count;
	abi_u32 pad;
	struct operator_mark marks[MARKS_MAX];
	struct record_release release; /* the record being built */
};

/* Provided by the including file, in addition to those of alloc.bpf.h: the thread's marks, or
 * NULL. */
static struct thread_marks *thread_marks(void);
/* Returns true if the operator is still active when a call starts or ends at sp. Best effort. */
static int is_mark_intact(const struct operator_mark *mark, abi_u64 sp);
/* The stack pointer at the entry of a function that has returned. */
static abi_u64 entry_sp(const struct caller_frame *caller);

static __always_inline struct operator_mark *mark_newest(struct thread_marks *thread)
{
	abi_u32 count = thread->count;

	if (!count || count > MARKS_MAX)
		return NULL;
	return &thread->marks[(count - 1) & (MARKS_MAX - 1)];
}

/* For return addresses on the stack. If operator new jumped to malloc, malloc's return probe may
 * have replaced the address. */
static __always_inline int is_return_intact(const struct operator_mark *mark)
{
	abi_u64 word = 0;

	if (read_user(mark->sp, &word))
		return 0;
	return word == mark->return_address || is_return_trampoline(word);
}

static __always_inline int is_jump_from(const struct operator_mark *mark, abi_u64 sp,
					abi_u64 return_address)
{
	return sp == mark->sp && return_address == mark->return_address;
}

/*
 * The newest active operator above sp. Operators on another stack are kept. One that jumped to the
 * function that now returns is recognised by its return address only: the kernel has reused its
 * place on the stack.
 */
static __attribute__((noinline)) struct operator_mark *mark_at_work(struct thread_marks *thread,
								    abi_u64 sp,
								    abi_u64 return_address)
{
	if (!thread)
		return NULL;
	for (int i = 0; i < MARKS_MAX; i++) {
		struct operator_mark *mark = mark_newest(thread);

		if (!mark || is_jump_from(mark, sp, return_address))
			return mark;
		if (is_mark_intact(mark, sp)) {
			if (sp <= mark->sp)
				return mark;
			if (!is_same_stack(sp, mark->sp))
				return NULL;
		}
		thread->count--;
	}
	return NULL;
}

static __always_inline int is_call_from(const struct operator_mark *mark, abi_u64 sp,
					abi_u64 return_address)
{
	return sp < mark->sp && return_address - mark->code - 1 < mark->code_size;
}

static __always_inline int is_delete_api(abi_u32 api)
{
	return api == API_DELETE || api == API_DELETE_ARRAY;
}

static __always_inline int mark_forwards_to(const struct operator_mark *mark,
					    const struct operator_mark *next)
{
	if (is_delete_api(mark->api) != is_delete_api(next->api) || mark->tried ||
	    mark->argument != next->argument)
		return 0;
	return is_jump_from(mark, next->sp, next->return_address) ||
	       is_call_from(mark, next->sp, next->return_address);
}

static __always_inline void mark_fill(struct operator_mark *mark, const struct pt_regs *regs,
				      abi_u64 cookie)
{
	abi_u64 alignment = 1;

	if (COOKIE_COUNT(cookie) != COOKIE_NO_ARG)
		alignment = regs_argument(regs, COOKIE_COUNT(cookie));
	mark->sp = regs_sp(regs);
	mark->code = regs_ip(regs) - COOKIE_MARK_OFFSET(cookie);
	mark->code_size = COOKIE_MARK_SIZE(cookie);
	mark->api = COOKIE_API(cookie);
	mark->slack = alignment - 1;
	mark->size = SIZE_UNKNOWN;
	if (COOKIE_SIZE(cookie) != COOKIE_NO_ARG)
		mark->size = regs_argument(regs, COOKIE_SIZE(cookie));
	mark->argument = mark->size;
	if (is_delete_api(mark->api))
		mark->argument = regs_argument(regs, COOKIE_OLD(cookie));
}

/* An operator is entered. */
static __always_inline void mark_enter(struct thread_marks *thread, const struct pt_regs *regs,
				       abi_u64 cookie)
{
	struct operator_mark next = {}, *mark;
	abi_u32 count;

	mark_fill(&next, regs, cookie);
	if ((is_delete_api(next.api) && !next.argument) || read_return(regs, &next.return_address))
		return;
	mark = mark_at_work(thread, next.sp, next.return_address);
	if (mark && mark_forwards_to(mark, &next)) {
		mark->sp = next.sp;
		mark->return_address = next.return_address;
		mark->code = next.code;
		mark->code_size = next.code_size;
		return;
	}
	if (mark && is_jump_from(mark, next.sp, next.return_address)) {
		*mark = next; /* left over from an earlier call from the same place */
		return;
	}
	count = thread->count;
	if (count >= MARKS_MAX)
		return;
	thread->marks[count & (MARKS_MAX - 1)] = next;
	thread->count = count + 1;
}

/* new(0) must request at least one byte. */
static __always_inline int is_as_asked(const struct operator_mark *mark, abi_u64 bytes)
{
	abi_u64 asked = mark->argument ? mark->argument : 1;

	return !is_delete_api(mark->api) && bytes >= asked && bytes - asked <= mark->slack;
}

/* An allocation function has returned: returns the operator that called it, as record flags. */
static __attribute__((noinline)) abi_u16 mark_of_allocation(struct thread_marks *thread, abi_u64 sp,
							    abi_u64 return_address, abi_u64 bytes,
							    int failed)
{
	struct operator_mark *mark = mark_at_work(thread, sp, return_address);

	if (!mark)
		return 0;
	if (!is_jump_from(mark, sp, return_address) && !is_call_from(mark, sp, return_address))
		return RECORD_FLAG_OPERATOR(OPERATOR_UNKNOWN);
	if (!is_as_asked(mark, bytes))
		return RECORD_FLAG_OPERATOR(OPERATOR_UNKNOWN);
	if (failed)
		mark->tried = 1;
	else
		thread->count--;
	return RECORD_FLAG_OPERATOR(mark->api);
}

/* free is entered: returns the operator that called it, as record flags, and stores the size
 * argument of that operator. */
static __attribute__((noinline)) abi_u16 mark_of_free(struct thread_marks *thread, abi_u64 sp,
						      struct record_release *record)
{
	struct operator_mark *mark;

	if (!thread || !record)
		return 0;
	mark = mark_at_work(thread, sp, record->caller);
	if (!mark)
		return 0;
	if (!is_delete_api(mark->api) || record->address != mark->argument ||
	    (!is_jump_from(mark, sp, record->caller) && !is_call_from(mark, sp, record->caller)))
		return RECORD_FLAG_OPERATOR(OPERATOR_UNKNOWN);
	record->size = mark->size;
	record->slack = mark->slack;
	thread->count--;
	return RECORD_FLAG_OPERATOR(mark->api);
}

/*
 * A chain of calls has 512 bytes of stack, and before Linux 6.4 each call rounds its share up to
 * 32. So the record is built in per-thread memory.
 */
static __always_inline void emit_release(struct pt_regs *regs, abi_u64 cookie)
{
	abi_u64 address = regs_argument(regs, COOKIE_OLD(cookie));
	struct thread_marks *thread;
	struct record_release *record;

	if (!address)
		return;
	thread = thread_marks();
	if (!thread) {
		count_loss(LOSS_NO_STATE);
		return;
	}
	record = &thread->release;
	fill_head(&record->head, RECORD_RELEASE, cookie, sizeof(*record));
	record->address = address;
	record->caller = 0;
	record->size = SIZE_UNKNOWN;
	record->slack = 0;
	record->object = COOKIE_OBJECT(cookie);
	record->pad = 0;
	read_return(regs, &record->caller);
	record->head.flags |= mark_of_free(thread, regs_sp(regs), record);
	record->stack = take_entry_stack(regs, record->caller);
	emit(record, sizeof(*record));
}

#endif
