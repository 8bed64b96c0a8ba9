/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which operator a call of malloc or free was made by (--sanity only).
 *
 * operator new calls malloc, operator new[] jumps to operator new, delete jumps to free, sized
 * delete to delete: at malloc and free most of them have left no frame. So each operator has a mark
 * of its own at its entry: a note, in the thread, of which operator was called, with what, and
 * where its return address lies. What then arrives at malloc or free is compared with it.
 *
 * A note must never be taken by a call that is not the operator's. Operators throw, call handlers
 * that allocate, are replaced by ones with pools or headers, and are interrupted by signals. So:
 *
 * - An operator is at work as long as its return address lies where it lay, and no call of the
 *   same stack has begun above it. Else it has returned, or was unwound, and its note is dropped.
 * - Operators that go on into each other are one: by a jump (same place, same return address), or
 *   by a call out of the other's code, with the same argument. The first one counts.
 * - A call is the operator's own if it comes out of the operator's code, or by a jump from it.
 *   Others while it is at work (a new-handler's, a signal handler's, a helper's) belong to an
 *   operator that is not known: OPERATOR_UNKNOWN, of which nobody may say that it did not match.
 * - It is believed only if it does what the library's does: asks for as much as it was asked for,
 *   releases the block that it was given. Else it is a pool's or puts a header before the block,
 *   and is not known either.
 *
 * Then a new is done when its malloc succeeded, a delete when it has called free.
 *
 * In BPF programs there are marks in 64-bit code alone.
 *
 * Like alloc.bpf.h this knows no helper and no map, and is compiled for the host by tests/bpf.
 */
#ifndef MTRACE_BPF_SANITY_BPF_H
#define MTRACE_BPF_SANITY_BPF_H

#include "bpf/abi.h"

/* Operators at work in one thread: new, its handler's, a signal handler's … */
#define MARKS_MAX 4

struct operator_mark {
	abi_u64 sp; /* at entry: where the return address lies, if it is on the stack */
	abi_u64 return_address;
	abi_u64 code; /* of the function: its first byte, and how many */
	abi_u64 code_size;
	abi_u64 argument; /* new: bytes asked for; delete: the block */
	abi_u64 size;     /* delete: that it was told, or SIZE_UNTOLD */
	abi_u64 slack;    /* bytes by which an aligned operator may round up */
	abi_u32 api;
	abi_u32 tried; /* it has called malloc, in vain: it goes on into no other operator */
};

struct thread_marks {
	abi_u32 count;
	abi_u32 pad;
	struct operator_mark marks[MARKS_MAX];
	struct record_release release; /* that is being made */
};

/* Provided by the including file, besides what alloc.bpf.h asks for: the thread's, or NULL. */
static struct thread_marks *thread_marks(void);
/* Is the operator at work still, where a call begins or ends at sp? As far as that can be told. */
static int is_mark_intact(const struct operator_mark *mark, abi_u64 sp);
/* The stack pointer with which a function was entered that has returned. */
static abi_u64 entry_sp(const struct caller_frame *caller);

static __always_inline struct operator_mark *mark_newest(struct thread_marks *thread)
{
	abi_u32 count = thread->count;

	if (!count || count > MARKS_MAX)
		return NULL;
	return &thread->marks[(count - 1) & (MARKS_MAX - 1)];
}

/* Where calls leave it on the stack. A return probe of malloc's may have replaced the address,
 * where operator new jumped to malloc. */
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
 * The newest operator that is at work below which sp lies. Those on another stack wait. One that
 * jumped to the function that returns now is known by its return address alone: the kernel's own
 * code has used its place on the stack.
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

static __always_inline int mark_goes_on(const struct operator_mark *mark,
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
	mark->size = SIZE_UNTOLD;
	if (COOKIE_SIZE(cookie) != COOKIE_NO_ARG)
		mark->size = regs_argument(regs, COOKIE_SIZE(cookie));
	mark->argument = mark->size;
	if (is_delete_api(mark->api))
		mark->argument = regs_argument(regs, COOKIE_OLD(cookie));
}

/* An operator begins. */
static __always_inline void mark_enter(struct thread_marks *thread, const struct pt_regs *regs,
				       abi_u64 cookie)
{
	struct operator_mark next = {}, *mark;
	abi_u32 count;

	mark_fill(&next, regs, cookie);
	if ((is_delete_api(next.api) && !next.argument) || read_return(regs, &next.return_address))
		return;
	mark = mark_at_work(thread, next.sp, next.return_address);
	if (mark && mark_goes_on(mark, &next)) {
		mark->sp = next.sp;
		mark->return_address = next.return_address;
		mark->code = next.code;
		mark->code_size = next.code_size;
		return;
	}
	if (mark && is_jump_from(mark, next.sp, next.return_address)) {
		*mark = next; /* of a former call from the same place, that came to nothing */
		return;
	}
	count = thread->count;
	if (count >= MARKS_MAX)
		return;
	thread->marks[count & (MARKS_MAX - 1)] = next;
	thread->count = count + 1;
}

/* malloc(0) is what new(0) must not ask for. */
static __always_inline int is_as_asked(const struct operator_mark *mark, abi_u64 bytes)
{
	abi_u64 asked = mark->argument ? mark->argument : 1;

	return !is_delete_api(mark->api) && bytes >= asked && bytes - asked <= mark->slack;
}

/* An allocation function has returned: by which operator was it called? Flags for the record. */
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

/* free begins: by which operator was it called, and what was that told of the block's size? */
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

/* A chain of calls has 512 bytes of stack, of which before Linux 6.4 each takes a multiple of 32:
 * so the record is made in the thread's own memory. */
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
	record->size = SIZE_UNTOLD;
	record->slack = 0;
	record->object = COOKIE_OBJECT(cookie);
	record->pad = 0;
	read_return(regs, &record->caller);
	record->head.flags |= mark_of_free(thread, regs_sp(regs), record);
	record->stack = take_entry_stack(regs, record->caller);
	emit(record, sizeof(*record));
}

#endif
