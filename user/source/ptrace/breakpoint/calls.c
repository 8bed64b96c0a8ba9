/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls are classified and recorded by the code of the BPF programs (bpf/alloc.bpf.h). What differs
 * is how a return is detected: nothing on the stack is replaced. A permanent breakpoint is placed
 * where the call returns to, and a return belongs to the pending call with the same stack pointer
 * and return address. So exceptions and longjmp cause no harm. Whether a pending call is still
 * active is decided by its return address: it must be in place or, on processors that pass it in a
 * register, somewhere in the stack frames of the call.
 */
#include "source/ptrace/breakpoint/calls.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "arch/call.h"
#include "arch/registers.h"
#include "source/ptrace/breakpoint/walk.h"
#include "source/ptrace/tracer/records.h"

/* The implicit context of that code: the thread at the breakpoint. In the kernel that is the
 * current task; here it is set while a hit is handled. */
static struct breakpoint_hit {
	struct tracer *tracer;
	struct task *task;
	struct arch_memory memory;
	const struct pt_regs *regs;
} now;

static const struct arch_memory *memory_now(void)
{
	return &now.memory;
}

#include "bpf/alloc.bpf.h"

struct task_calls {
	struct thread_calls pending;
	struct thread_marks marks;
};

struct task_calls *task_calls_new(const struct task_calls *parent)
{
	struct task_calls *calls = calloc(1, sizeof(*calls));

	if (calls && parent)
		*calls = *parent;
	return calls;
}

void task_calls_copy(struct task_calls *calls, const struct task_calls *from)
{
	*calls = *from;
}

void task_calls_reset(struct task_calls *calls)
{
	*calls = (struct task_calls){0};
}

/*
 * The functions that alloc.bpf.h requires.
 */

static struct owner *owner(void)
{
	return now.task->owner;
}

static int read_user(abi_u64 address, abi_u64 *ret_word)
{
	return space_read(owner()->memory, address, ret_word, sizeof(*ret_word));
}

static int read_word(const struct pt_regs *regs, abi_u64 address, abi_u64 *ret_word)
{
	char word[sizeof(abi_u64)];
	int err = space_read(owner()->memory, address, word, regs_word(regs));

	if (!err)
		*ret_word = registers_word(word, 0, regs_word(regs));
	return err;
}

/* The return address of a function that was just entered, as a code pointer that includes the
 * mode. */
static int read_return_pointer(const struct pt_regs *regs, abi_u64 sp, abi_u64 *ret_pointer)
{
	if (!regs->arch->links)
		return read_word(regs, sp, ret_pointer);
	*ret_pointer = arch_get(regs, ARCH_LINK);
	return 0;
}

static int read_return_at(const struct pt_regs *regs, abi_u64 sp, abi_u64 *ret_address)
{
	int err = read_return_pointer(regs, sp, ret_address);

	if (!err)
		*ret_address = arch_code_address(regs->arch, *ret_address);
	return err;
}

static int is_same_stack(abi_u64 sp, abi_u64 other)
{
	return space_is_same_stack(owner()->memory, owner()->pid, sp, other);
}

/* No return address is ever replaced. */
static int is_return_trampoline(abi_u64 address)
{
	(void)address;
	return 0;
}

static int is_return_list_full(void)
{
	return 0;
}

static abi_u64 take_stack(void *context, const struct caller_frame *from)
{
	return walk_stack(now.tracer, now.task, from, arch_get(context, ARCH_BP_SECOND));
}

static abi_u64 take_entry_stack(struct pt_regs *regs, abi_u64 caller)
{
	const struct caller_frame from = {
		.ip = caller,
		.sp = regs_sp(regs) + regs_return_pops(regs),
		.bp = regs_bp(regs),
		.word = regs_word(regs),
	};

	return take_stack(regs, &from);
}

static int wants_sanity(void)
{
	return now.tracer->config.sanity;
}

/* Nothing to do: the command sends new mappings when the dynamic linker has changed its list. */
static int forget_code(abi_u64 address)
{
	(void)address;
	return 0;
}

static void fill_head(struct record_head *head, abi_u8 kind, abi_u64 cookie, abi_u32 length)
{
	*head = (struct record_head){
		.kind = kind,
		.api = COOKIE_API(cookie),
		.pid = (abi_u32)owner()->pid,
		.tid = (abi_u32)now.task->tid,
		.length = length,
		.time_ns = record_time(),
	};
}

static void emit(void *record, abi_u32 length)
{
	const struct ring_piece piece = {record, length};

	tracer_emit(now.tracer, owner(), &piece, 1);
}

static void count_loss(enum loss loss)
{
	owner()->losses[loss]++;
}

/*
 * Which calls are reported (bpf/alloc_filter.bpf.h).
 */

static abi_u8 reported_bytes[REPORTED_BYTES];

static const struct alloc_filter *alloc_filter(void)
{
	return &now.tracer->config.alloc_filter;
}

static int filters_calls(void)
{
	return alloc_filter_is_on(alloc_filter());
}

static int is_size_wanted(abi_u64 bytes)
{
	return bytes >= alloc_filter()->min_size && bytes <= alloc_filter_max_size(alloc_filter());
}

static abi_u32 sample_now(void)
{
	return alloc_filter_samples_at_first(alloc_filter());
}

static struct sample_rate sample_rate_at(abi_u32 level)
{
	return sample_rate_of(sample_mean_at(alloc_filter()->sample, level));
}

static abi_u8 *reported_byte_at(abi_u32 number)
{
	return &reported_bytes[number];
}

/* SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), seeded by the kernel. */
static abi_u32 random_word(void)
{
	static abi_u64 state;
	abi_u64 word;

	while (!state)
		if (getrandom(&state, sizeof(state), 0) != sizeof(state))
			state = (abi_u64)clock() << 32 | (abi_u32)getpid();
	state += 0x9e3779b97f4a7c15ULL;
	word = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	return (abi_u32)(word >> 32);
}

static struct thread_marks *thread_marks(void)
{
	return &now.task->calls->marks;
}

/*
 * Calls with a return breakpoint.
 */

#define FRAMES_MAX   8192 /* bytes of stack to search for a return address */
#define SAVE_WORDS   2    /* words above a call's stack pointer, where some machines save it */
#define SIGNED_BITS  48   /* address bits of a 64-bit return address, which may be signed above */
#define ADDRESS_MASK ((1ULL << SIGNED_BITS) - 1)

/* Returns true if the return address of a call that was entered at `top` is in its stack frames or
 * those of its callees. A function saves it before it calls others, but the place is up to it. */
static bool is_saved(const struct pt_regs *regs, abi_u64 sp, abi_u64 top, abi_u64 address)
{
	abi_u64 word = regs_word(regs), size = top - sp + SAVE_WORDS * word;
	char frames[FRAMES_MAX];

	if (size > sizeof(frames))
		return true; /* as it usually is */
	size = space_read_some(owner()->memory, sp, frames, size);
	for (abi_u64 at = 0; at + word <= size; at += word) {
		abi_u64 saved = arch_code_address(regs->arch, registers_word(frames, at, word));

		if ((saved & ADDRESS_MASK) == address)
			return true;
	}
	return false;
}

/* Returns true if a pending call may still be active when another one starts at sp or below it. */
static bool may_be_at_work(const struct pt_regs *regs, const struct pending_call *pending)
{
	abi_u64 address = 0;

	if (regs->arch->links && regs_sp(regs) < pending->sp)
		return is_saved(regs, regs_sp(regs), pending->sp, pending->caller);
	if (regs->arch->links)
		(void)read_return(regs, &address);
	else
		(void)read_word(regs, pending->sp, &address);
	return address == pending->caller;
}

/*
 * Returns true if the call of operator new or delete that left the mark has not returned yet: its
 * return address is still there. If calls keep it in a register, the operator has called further,
 * so it was saved between the two stack pointers; a mark at the same one is left from an earlier
 * call, and one below belongs to another stack.
 */
static int is_mark_intact(const struct operator_mark *mark, abi_u64 sp)
{
	abi_u64 address = 0;

	if (now.regs->arch->links)
		return sp > mark->sp ||
		       (sp < mark->sp && is_saved(now.regs, sp, mark->sp, mark->return_address));
	return !read_word(now.regs, mark->sp, &address) && address == mark->return_address;
}

static abi_u64 entry_sp(const struct caller_frame *caller)
{
	return caller->sp - regs_return_pops(now.regs);
}

/*
 * The place of a new call relative to a pending one. At the same stack pointer, it is a tail call
 * if it is another function, possibly of another allocator, otherwise a new call. A heap call in a
 * map call comes from a signal handler.
 */
static enum call_place place_in_call(const struct pt_regs *regs, abi_u64 cookie,
				     const struct pending_call *pending)
{
	abi_u64 sp = regs_sp(regs);

	if (sp > pending->sp)
		return is_same_stack(sp, pending->sp) ? PLACE_GONE : PLACE_OUTERMOST;
	if (!may_be_at_work(regs, pending))
		return PLACE_GONE;
	if (sp == pending->sp)
		return regs_ip(regs) == pending->bp ? PLACE_GONE : PLACE_NESTED;
	if (pending->fate & FATE_THROWN || (!is_map_call(cookie) && is_map_call(pending->cookie)))
		return PLACE_OUTERMOST;
	return is_same_stack(sp, pending->sp) ? PLACE_NESTED : PLACE_OUTERMOST;
}

static enum call_place place_among(struct thread_calls *thread, const struct pt_regs *regs,
				   abi_u64 cookie)
{
	while (thread->count) {
		const struct pending_call *top = &thread->calls[thread->count - 1];
		enum call_place place = place_in_call(regs, cookie, top);

		if (place != PLACE_GONE)
			return place;
		thread->count--;
	}
	return PLACE_OUTERMOST;
}

static void call_enter(struct thread_calls *thread, const struct pt_regs *regs, abi_u64 cookie)
{
	struct pending_call call = {
		.sp = regs_sp(regs),
		.cookie = cookie,
		.payload = call_payload(regs, cookie),
		.bp = regs_ip(regs), /* address of its entry: the caller's bp is not needed */
	};
	struct filter_verdict verdict;
	abi_u64 pointer = 0;

	if (place_among(thread, regs, cookie) == PLACE_NESTED)
		return;
	verdict = filter_call(regs, cookie);
	if (!verdict.report && is_leaf(cookie))
		return;
	call.cookie = verdict.report ? cookie : COOKIE_MUTE;
	call.payload = payload_with(cookie, call.payload, verdict.sample);
	if (thread->count >= PENDING_MAX || read_return_pointer(regs, call.sp, &pointer) ||
	    !pointer) {
		count_loss(LOSS_NO_STATE);
		return;
	}
	call.caller = arch_code_address(regs->arch, pointer);
	if (breakpoint_place_return(owner()->memory, pointer, regs_are_32bit(regs))) {
		count_loss(LOSS_NO_RETURN);
		return;
	}
	thread->calls[thread->count++] = call;
	if (verdict.report && COOKIE_FLAGS(cookie) & COOKIE_FLAG_BEGIN)
		emit_begin(regs, cookie, verdict.sample, call.caller);
}

/* Handles a hit of a return breakpoint, if a pending call returns there. Calls above it never
 * returned. */
static void call_leave(struct thread_calls *thread, struct pt_regs *regs)
{
	abi_u64 sp = regs_sp(regs) - regs_return_pops(regs);

	for (abi_u32 i = thread->count; i--;) {
		struct pending_call call = thread->calls[i];

		if (call.sp != sp || call.caller != regs_ip(regs))
			continue;
		thread->count = i;
		emit_outcome(regs, call.cookie, call.payload);
		return;
	}
}

/*
 * Handlers by kind of breakpoint.
 */

static bool hit_exit(struct task_calls *calls, struct pt_regs *regs, abi_u64 cookie)
{
	exit_call_leave(&calls->pending, regs, cookie);
	return false;
}

static bool hit_exit_entry(struct task_calls *calls, struct pt_regs *regs, abi_u64 cookie)
{
	exit_call_enter(&calls->pending, regs, cookie);
	return false;
}

static bool hit_call(struct task_calls *calls, struct pt_regs *regs, abi_u64 cookie)
{
	call_enter(&calls->pending, regs, cookie);
	return false;
}

static bool hit_free(struct task_calls *calls, struct pt_regs *regs, abi_u64 cookie)
{
	(void)calls;
	if (wants_sanity())
		emit_release(regs, cookie);
	else
		emit_free(regs, cookie);
	return false;
}

static bool hit_link_map(struct task_calls *calls, struct pt_regs *regs, abi_u64 cookie)
{
	(void)calls;
	(void)regs;
	(void)cookie;
	return true;
}

/* Only for threads other than the leader. */
static bool hit_thread_exits(struct task_calls *calls, struct pt_regs *regs, abi_u64 cookie)
{
	struct record_head record;

	(void)calls;
	(void)regs;
	if (now.task->tid == owner()->pid)
		return false;
	fill_head(&record, RECORD_THREAD_EXITS, cookie, sizeof(record));
	emit(&record, sizeof(record));
	return false;
}

static bool hit_throw(struct task_calls *calls, struct pt_regs *regs, abi_u64 cookie)
{
	(void)cookie;
	exit_call_throw(&calls->pending, regs);
	return false;
}

static bool hit_operator(struct task_calls *calls, struct pt_regs *regs, abi_u64 cookie)
{
	mark_enter(&calls->marks, regs, cookie);
	return false;
}

/* Marks come before their calls, exits before calls that start at the same address. Gates need
 * uprobes. */
static const struct {
	enum probe_kind kind;
	bool (*hit)(struct task_calls *calls, struct pt_regs *regs, abi_u64 cookie);
} kinds[] = {
	{PROBE_OPERATOR, hit_operator},
	{PROBE_EXIT, hit_exit},
	{PROBE_EXIT_ENTRY, hit_exit_entry},
	{PROBE_CALL, hit_call},
	{PROBE_FREE, hit_free},
	{PROBE_FREE_PLAIN, hit_free},
	{PROBE_LINK_MAP, hit_link_map},
	{PROBE_THREAD_EXITS, hit_thread_exits},
	{PROBE_THROW, hit_throw},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

_Static_assert(KINDS == PROBE_KINDS - 1, "each probe kind has a row, except PROBE_GATE");

bool calls_hit(struct tracer *tracer, struct task *task, const struct breakpoint *breakpoint,
	       const struct arch_registers *registers)
{
	struct arch_registers regs = *registers;
	/* A copy: placing another breakpoint may move it. */
	const struct breakpoint place = *breakpoint;
	bool held = false;

	now = (struct breakpoint_hit){tracer, task, space_as_memory(task->owner->memory), &regs};
	if (place.returns)
		call_leave(&task->calls->pending, &regs);
	for (size_t i = 0; i < KINDS; i++)
		if (place.kinds & 1u << kinds[i].kind)
			held |= kinds[i].hit(task->calls, &regs, place.cookies[kinds[i].kind]);
	now = (struct breakpoint_hit){0};
	return held;
}
