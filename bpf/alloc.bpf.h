/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides which calls of allocation functions are the program's own, and what they did.
 *
 * One event per call of the program: malloc may call mmap, realloc may call malloc; only the
 * outermost call counts. A call is nested if an earlier one is pending in the same thread, on the
 * same stack, at a higher stack pointer. A pending call whose stack pointer is below that of the
 * new call was left by an exception or longjmp: it never returns and is dropped. A tail call has
 * the same stack pointer as the call that it ends, and its return address is the trampoline of the
 * pending return probe.
 *
 * Two rules concern signal handlers. A heap call while only a map call is pending on the same stack
 * comes from a handler (mmap never calls malloc): it is the program's own. A pending call on
 * another stack belongs to the interrupted code. The kernel, however, discards return probes below
 * the current stack pointer, on whatever stack they are, and the thread dies when it gets there
 * (kernel/events/uprobes.c: cleanup_return_instances). So if that would happen, no return probe is
 * requested, and the call is counted as a loss.
 *
 * Functions that may throw have no return probe: the C++ unwinder would fail at its trampoline.
 * They are probed at their exits instead (enum exit_kind), and are always kept in struct
 * thread_calls. An exception leaves such a call without passing an exit, but the C++ runtime
 * signals that it throws; and a pending call is only valid while its return address is still in
 * place. As the return address is the original one, a call at the same stack pointer is a tail jump
 * if it has the same return address but another api; otherwise it is a new call.
 *
 * Arguments are passed from entry to return by one of two carriers. With uprobe sessions, the
 * kernel's own list of pending return probes is the stack of pending calls, and each entry carries
 * 64 bits of ours. Otherwise struct thread_calls is that stack, one per thread.
 *
 * This file uses no BPF helper and no map. The including file provides the functions that the
 * prototypes below declare; tests/bpf compiles it for the host.
 */
#ifndef MTRACE_BPF_ALLOC_BPF_H
#define MTRACE_BPF_ALLOC_BPF_H

#include "bpf/abi.h"
#include "bpf/caller.h"

struct pending_call {
	abi_u64 sp;      /* stack pointer at entry: address of the return address */
	abi_u64 cookie;  /* attach cookie */
	abi_u64 payload; /* size; for calls with an out-pointer, that pointer */
	abi_u64 caller;  /* return address if probed at its exits; otherwise 0 */
	abi_u64 bp;      /* only then: the caller's */
	abi_u64 fate;    /* only then: FATE_… */
};

#define FATE_THROWN 1 /* it threw an exception, and its failure was reported */
#define FATE_MUTE   2 /* not reported: see bpf/alloc_filter.bpf.h */

struct thread_calls {
	abi_u32 count;
	struct pending_call calls[PENDING_MAX];
};

/* Provided by the including file. */
/* read_word() reads a word of the size of the registers' code. */
static int read_user(abi_u64 address, abi_u64 *ret_word);
static int read_word(const struct pt_regs *regs, abi_u64 address, abi_u64 *ret_word);
/* The return address of a function that was just entered with this stack pointer. */
static int read_return_at(const struct pt_regs *regs, abi_u64 sp, abi_u64 *ret_address);
static int is_same_stack(abi_u64 sp, abi_u64 other);
static int is_return_trampoline(abi_u64 address);
static int is_return_list_full(void);
static abi_u64 take_stack(void *context, const struct caller_frame *from);
static abi_u64 take_entry_stack(struct pt_regs *regs, abi_u64 caller);
static int wants_sanity(void);
static int forget_code(abi_u64 address);
static void emit(void *record, abi_u32 length);
static void fill_head(struct record_head *head, abi_u8 kind, abi_u64 cookie, abi_u32 length);
static void count_loss(enum loss loss);

static __always_inline int read_return(const struct pt_regs *regs, abi_u64 *ret_address)
{
	return read_return_at(regs, regs_sp(regs), ret_address);
}

#include "bpf/sanity.bpf.h"
#include "bpf/alloc_filter.bpf.h"

#define MAP_REPLACES 0x10 /* MAP_FIXED */
#define PAYLOAD_BITS 48
#define PAYLOAD_MAX  ((1ULL << PAYLOAD_BITS) - 1)

enum call_place {
	PLACE_OUTERMOST, /* the program's own call */
	PLACE_NESTED,    /* made by an allocation function */
	PLACE_UNSAFE,    /* a return probe here would kill the thread */
	PLACE_GONE,      /* the pending call was left and never returns */
};

static __always_inline int is_map_call(abi_u64 cookie)
{
	return (COOKIE_FLAGS(cookie) & COOKIE_FLAG_MAP) != 0;
}

/* The place of a new call relative to one pending call. */
static __always_inline enum call_place place_of_call(const struct pt_regs *regs, abi_u64 cookie,
						     abi_u64 pending_sp, abi_u64 pending_cookie)
{
	abi_u64 sp = regs_sp(regs), return_address = 0;

	if (sp > pending_sp)
		return is_same_stack(sp, pending_sp) ? PLACE_GONE : PLACE_UNSAFE;
	if (sp == pending_sp) {
		read_return_at(regs, sp, &return_address);
		return is_return_trampoline(return_address) ? PLACE_NESTED : PLACE_GONE;
	}
	if (!is_map_call(cookie) && is_map_call(pending_cookie))
		return PLACE_OUTERMOST;
	return is_same_stack(sp, pending_sp) ? PLACE_NESTED : PLACE_OUTERMOST;
}

/* The size argument, multiplied by the count if there is one. Saturates: no call can succeed with
 * more. */
static __always_inline abi_u64 requested_bytes(const struct pt_regs *regs, abi_u64 cookie)
{
	abi_u64 size = regs_argument(regs, COOKIE_SIZE(cookie));
	abi_u64 count;

	if (COOKIE_COUNT(cookie) != COOKIE_NO_ARG) {
		count = regs_argument(regs, COOKIE_COUNT(cookie));
		if (count > PAYLOAD_MAX || size > PAYLOAD_MAX)
			return count && size ? PAYLOAD_MAX : 0;
		if (count && size > PAYLOAD_MAX / count)
			return PAYLOAD_MAX;
		size *= count;
	}
	return size > PAYLOAD_MAX ? PAYLOAD_MAX : size;
}

static __always_inline abi_u64 call_payload(const struct pt_regs *regs, abi_u64 cookie)
{
	if (COOKIE_OUT(cookie) != COOKIE_NO_ARG)
		return regs_argument(regs, COOKIE_OUT(cookie)) & PAYLOAD_MAX;
	return requested_bytes(regs, cookie);
}

/*
 * The sample of a call is passed along with its size, so sizes of 4 TiB and more are capped. If
 * only a pointer is passed, the RECORD_BEGIN has the sample.
 */
#define SAMPLE_SHIFT 42
#define SIZE_BESIDE  ((1ULL << SAMPLE_SHIFT) - 1)

static __always_inline int has_sample(abi_u64 cookie)
{
	return filters_calls() && !is_map_call(cookie) && COOKIE_OUT(cookie) == COOKIE_NO_ARG;
}

static __always_inline abi_u64 payload_with(abi_u64 cookie, abi_u64 payload, abi_u32 sample)
{
	if (!has_sample(cookie))
		return payload;
	if (payload > SIZE_BESIDE)
		payload = SIZE_BESIDE;
	return payload | (abi_u64)sample << SAMPLE_SHIFT;
}

static __always_inline abi_u32 payload_sample(abi_u64 cookie, abi_u64 payload)
{
	return has_sample(cookie) ? payload >> SAMPLE_SHIFT & 63 : 0;
}

static __always_inline abi_u64 payload_alone(abi_u64 cookie, abi_u64 payload)
{
	return has_sample(cookie) ? payload & SIZE_BESIDE : payload;
}

/* What to report about a call of the program. */
struct filter_verdict {
	abi_u32 sample; /* encoded as in records */
	int report;     /* 0: report nothing */
};

static __always_inline struct filter_verdict filter_call(const struct pt_regs *regs, abi_u64 cookie)
{
	struct filter_verdict verdict = {.report = 1};
	abi_u64 old;

	if (!filters_calls() || is_map_call(cookie))
		return verdict;
	verdict.sample = sample_choose(requested_bytes(regs, cookie));
	if (verdict.sample != SAMPLE_NOT)
		return verdict;
	old = COOKIE_OLD(cookie) == COOKIE_NO_ARG ? 0 : regs_argument(regs, COOKIE_OLD(cookie));
	verdict.report = old && may_be_reported(old);
	return verdict;
}

static __always_inline int is_leaf(abi_u64 cookie)
{
	return (COOKIE_FLAGS(cookie) & COOKIE_FLAG_LEAF) != 0;
}

/* The cookie of a call that is not reported: no function, nothing to do. */
#define COOKIE_MUTE ((abi_u64)COOKIE_NO_ARG << 20)

static __always_inline int is_mute(abi_u64 cookie)
{
	return COOKIE_API(cookie) == API_NONE;
}

static __always_inline void begin_arguments(const struct pt_regs *regs, abi_u64 cookie,
					    struct record_begin *record)
{
	switch (COOKIE_API(cookie)) {
	case API_MMAP:
		record->args[0] = regs_argument(regs, 0);
		record->args[1] = regs_argument(regs, 1);
		record->args[2] = regs_argument(regs, 3);
		if (record->args[2] & MAP_REPLACES)
			forget_code(record->args[0]);
		break;
	case API_MUNMAP:
	case API_MREMAP:
		record->args[0] = regs_argument(regs, 0);
		record->args[1] = regs_argument(regs, 1);
		record->args[2] = regs_argument(regs, 2);
		record->args[3] = regs_argument(regs, 3);
		record->args[4] = regs_argument(regs, 4);
		forget_code(record->args[0]);
		break;
	default:
		if (COOKIE_OLD(cookie) != COOKIE_NO_ARG)
			record->args[0] = regs_argument(regs, COOKIE_OLD(cookie));
		record->args[1] = requested_bytes(regs, cookie);
	}
}

static __always_inline void emit_begin(const struct pt_regs *regs, abi_u64 cookie, abi_u32 sample,
				       abi_u64 caller)
{
	struct record_begin record = {};

	fill_head(&record.head, RECORD_BEGIN, cookie, sizeof(record));
	record.head.flags = RECORD_FLAG_SAMPLE(sample);
	record.caller = caller;
	begin_arguments(regs, cookie, &record);
	emit(&record, sizeof(record));
}

static __always_inline void emit_begin_at_entry(const struct pt_regs *regs, abi_u64 cookie,
						abi_u32 sample)
{
	abi_u64 caller = 0;

	read_return(regs, &caller);
	emit_begin(regs, cookie, sample, caller);
}

/* -errno or MAP_FAILED, in either word size: no mapping starts within the last page of 4 GiB. */
static __always_inline int is_error_number(abi_u64 result)
{
	return result >= (abi_u64)-4095LL || result - (abi_u32)-4095 < 4095;
}

/* Stores the result of a finished call in a record: address and RECORD_FLAG_FAILED. */
static __always_inline void call_outcome(const struct pt_regs *regs, abi_u64 cookie,
					 abi_u64 payload, struct record_call *record)
{
	abi_u64 result = regs_result(regs);
	int failed;

	record->size = payload;
	record->address = result;
	if (COOKIE_OUT(cookie) != COOKIE_NO_ARG) {
		record->size = 0;
		record->address = 0;
		failed = (abi_u32)result != 0;
		if (!failed && read_word(regs, payload, &record->address))
			count_loss(LOSS_READ);
	} else if (COOKIE_FLAGS(cookie) & COOKIE_FLAG_UNMAP) {
		failed = (abi_u32)result != 0;
	} else if (is_map_call(cookie)) {
		failed = is_error_number(result);
	} else {
		failed = result == 0;
	}
	if (failed)
		record->head.flags |= RECORD_FLAG_FAILED;
}

/*
 * Adds the operator that made the call. Calls with an out-pointer have no size to compare, so no
 * operator is accepted for them. The return address was right below the caller's stack pointer.
 */
static __always_inline void add_operator(abi_u64 cookie, abi_u64 payload,
					 const struct caller_frame *caller,
					 struct record_head *head)
{
	abi_u64 bytes = COOKIE_OUT(cookie) == COOKIE_NO_ARG ? payload : 0;

	if (wants_sanity() && !is_map_call(cookie))
		head->flags |= mark_of_allocation(thread_marks(), entry_sp(caller), caller->ip,
						  bytes, head->flags & RECORD_FLAG_FAILED);
}

static __always_inline void emit_outcome_to(struct pt_regs *regs, abi_u64 cookie, abi_u64 payload,
					    const struct caller_frame *caller)
{
	abi_u8 kind = COOKIE_FLAGS(cookie) & COOKIE_FLAG_BEGIN ? RECORD_END : RECORD_ALLOC;
	abi_u32 sample = payload_sample(cookie, payload);
	struct record_call record = {};

	fill_head(&record.head, kind, cookie, sizeof(record));
	call_outcome(regs, cookie, payload_alone(cookie, payload), &record);
	record.caller = caller->ip;
	add_operator(cookie, payload, caller, &record.head);
	record.head.flags |= RECORD_FLAG_SAMPLE(sample);
	/* Must precede the return, after which the program can free it. */
	if (filters_calls() && !is_map_call(cookie) && sample != SAMPLE_NOT)
		mark_reported(record.address);
	if (!(COOKIE_FLAGS(cookie) & COOKIE_FLAG_UNMAP) && sample != SAMPLE_NOT)
		record.stack = take_stack(regs, caller);
	emit(&record, sizeof(record));
}

/* At the return, the instruction pointer is already the return address, and the frame is the
 * caller's. */
static __always_inline void emit_outcome(struct pt_regs *regs, abi_u64 cookie, abi_u64 payload)
{
	struct caller_frame caller = {
		.ip = regs_ip(regs),
		.sp = regs_sp(regs),
		.bp = regs_bp(regs),
		.word = regs_word(regs),
	};

	if (!is_mute(cookie))
		emit_outcome_to(regs, cookie, payload, &caller);
}

static __always_inline void emit_free(const struct pt_regs *regs, abi_u64 cookie)
{
	struct record_free record = {};

	record.address = regs_argument(regs, COOKIE_OLD(cookie));
	if (!record.address || (filters_calls() && !may_be_reported(record.address)))
		return;
	fill_head(&record.head, RECORD_FREE, cookie, sizeof(record));
	record.head.flags = COOKIE_OBJECT(cookie) << RECORD_OBJECT_SHIFT;
	if (COOKIE_FLAGS(cookie) & COOKIE_FLAG_CALLER)
		read_return(regs, &record.caller);
	emit(&record, sizeof(record));
}

/*
 * Calls that are probed at their exits: only in 64-bit code (symbol/probe_site/exit_search.h).
 */

static __always_inline struct caller_frame caller_of(const struct pending_call *call)
{
	return (struct caller_frame){
		.ip = call->caller,
		.sp = call->sp + sizeof(abi_u64),
		.bp = call->bp,
		.word = sizeof(abi_u64),
	};
}

/* Returns true if the call's return address is still in place. It may have been replaced by the
 * return probe of a function that the call jumped to. */
static __always_inline int is_in_place(const struct pending_call *call)
{
	abi_u64 word = 0;

	return !read_user(call->sp, &word) && (word == call->caller || is_return_trampoline(word));
}

static __always_inline enum call_place place_in_exit_call(abi_u64 sp, abi_u64 cookie,
							  const struct pending_call *pending)
{
	if (sp > pending->sp)
		return is_same_stack(sp, pending->sp) ? PLACE_GONE : PLACE_OUTERMOST;
	if (!is_in_place(pending))
		return PLACE_GONE;
	if (sp == pending->sp)
		return COOKIE_API(cookie) == COOKIE_API(pending->cookie) ? PLACE_GONE
									 : PLACE_NESTED;
	if (pending->fate & FATE_THROWN)
		return PLACE_OUTERMOST;
	return is_same_stack(sp, pending->sp) ? PLACE_NESTED : PLACE_OUTERMOST;
}

/* Carrier: struct thread_calls. */

/* Counts a call that ended without passing a known exit. */
static __always_inline void count_left(const struct pending_call *call)
{
	if (!call->fate)
		count_loss(LOSS_NO_RETURN);
}

/* The place of a new call among the thread's pending calls. Drops those that were left. */
static __always_inline enum call_place thread_place(struct thread_calls *thread,
						    const struct pt_regs *regs, abi_u64 cookie)
{
	for (int i = 0; i < PENDING_MAX; i++) {
		abi_u32 count = thread->count;
		struct pending_call *top;
		enum call_place place;

		if (!count || count > PENDING_MAX)
			return PLACE_OUTERMOST;
		top = &thread->calls[(count - 1) & (PENDING_MAX - 1)];
		place = top->caller ? place_in_exit_call(regs_sp(regs), cookie, top)
				    : place_of_call(regs, cookie, top->sp, top->cookie);
		if (place != PLACE_GONE)
			return place;
		thread->count = count - 1;
		if (top->caller)
			count_left(top);
	}
	return PLACE_OUTERMOST;
}

/* The kernel arms these return probes unconditionally: whether that is safe is not our decision,
 * and a call on another stack is simply another pending call. */
static __always_inline void thread_enter(struct thread_calls *thread, const struct pt_regs *regs,
					 abi_u64 cookie)
{
	struct filter_verdict verdict;
	abi_u32 count;

	if (thread_place(thread, regs, cookie) == PLACE_NESTED)
		return;
	verdict = filter_call(regs, cookie);
	if (!verdict.report && is_leaf(cookie))
		return;
	count = thread->count;
	if (is_return_list_full()) {
		if (verdict.report)
			count_loss(LOSS_NO_RETURN);
		return;
	}
	if (count >= PENDING_MAX) {
		count_loss(LOSS_NO_STATE);
		return;
	}
	thread->calls[count & (PENDING_MAX - 1)] = (struct pending_call){
		.sp = regs_sp(regs),
		.cookie = verdict.report ? cookie : COOKIE_MUTE,
		.payload = payload_with(cookie, call_payload(regs, cookie), verdict.sample),
	};
	thread->count = count + 1;
	if (verdict.report && COOKIE_FLAGS(cookie) & COOKIE_FLAG_BEGIN)
		emit_begin_at_entry(regs, cookie, verdict.sample);
}

/*
 * Removes the pending call that returns here: the newest one with this stack pointer. Those above
 * it never returned. Which function returns does not matter: one reached by a tail jump returns for
 * the call that jumped, with its result. Returns 0 if there is none: a nested call returned.
 */
static __always_inline int thread_leave(struct thread_calls *thread, abi_u64 sp,
					abi_u64 *ret_cookie, abi_u64 *ret_payload)
{
	for (int i = PENDING_MAX - 1; i >= 0; i--) {
		struct pending_call *call = &thread->calls[i];

		if ((abi_u32)i >= thread->count || call->sp != sp || call->caller)
			continue;
		*ret_cookie = call->cookie;
		*ret_payload = call->payload;
		thread->count = i;
		return 1;
	}
	return 0;
}

static __always_inline void exit_call_enter(struct thread_calls *thread, const struct pt_regs *regs,
					    abi_u64 cookie)
{
	struct pending_call call = {
		.sp = regs_sp(regs),
		.cookie = cookie,
		.payload = requested_bytes(regs, cookie),
		.bp = regs_bp(regs),
	};
	struct filter_verdict verdict;
	abi_u32 count;

	if (thread_place(thread, regs, cookie) == PLACE_NESTED)
		return;
	verdict = filter_call(regs, cookie);
	call.payload = payload_with(cookie, call.payload, verdict.sample);
	call.fate = verdict.report ? 0 : FATE_MUTE;
	count = thread->count;
	if (count >= PENDING_MAX || read_user(call.sp, &call.caller) || !call.caller) {
		count_loss(LOSS_NO_STATE);
		return;
	}
	thread->calls[count & (PENDING_MAX - 1)] = call;
	thread->count = count + 1;
}

/* At an exit, which other calls pass, too: finds the pending call that ends here, if any. Those
 * above it never returned. */
static __always_inline void exit_call_leave(struct thread_calls *thread, struct pt_regs *regs,
					    abi_u64 exit)
{
	abi_u64 sp = regs_sp(regs);

	for (int i = PENDING_MAX - 1; i >= 0; i--) {
		struct pending_call *call = &thread->calls[i];
		struct caller_frame caller;

		if ((abi_u32)i >= thread->count || !call->caller)
			continue;
		if (call->sp != sp || !is_in_place(call)) {
			if (call->sp < sp && is_same_stack(sp, call->sp))
				count_loss(LOSS_NO_RETURN);
			continue;
		}
		thread->count = i;
		caller = caller_of(call);
		if (exit == EXIT_RETURN && !(call->fate & FATE_MUTE))
			emit_outcome_to(regs, call->cookie, call->payload, &caller);
		return;
	}
}

static __always_inline void emit_thrown(struct pt_regs *regs, const struct pending_call *call)
{
	struct caller_frame caller = caller_of(call);
	struct record_call record = {};

	fill_head(&record.head, RECORD_ALLOC, call->cookie, sizeof(record));
	record.head.flags = RECORD_FLAG_FAILED |
			    RECORD_FLAG_SAMPLE(payload_sample(call->cookie, call->payload));
	record.size = payload_alone(call->cookie, call->payload);
	record.caller = caller.ip;
	record.stack = take_stack(regs, &caller);
	emit(&record, sizeof(record));
}

/* An exception is about to be thrown. If it is thrown inside the newest pending call, report
 * that as failed. If the call catches the exception itself and returns after all, that is also
 * reported. */
static __always_inline void exit_call_throw(struct thread_calls *thread, struct pt_regs *regs)
{
	abi_u64 sp = regs_sp(regs);
	struct pending_call *top;
	abi_u32 count = thread->count;

	if (!count || count > PENDING_MAX)
		return;
	top = &thread->calls[(count - 1) & (PENDING_MAX - 1)];
	if (!top->caller || top->fate & FATE_THROWN || sp > top->sp ||
	    !is_same_stack(sp, top->sp) || !is_in_place(top))
		return;
	top->fate |= FATE_THROWN;
	if (!(top->fate & FATE_MUTE))
		emit_thrown(regs, top);
}

#endif
