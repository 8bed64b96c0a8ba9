// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps and entry points. Calls are handled in alloc.bpf.h, stacks in stack.bpf.h, processes in
 * task.bpf.h.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/abi.h"
#include "bpf/sample.h"
#include "arch/regs.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Set by user space before loading. The verifier removes the code of disabled features. */
const volatile __u32 config_depth = 32; /* frames per stack, 0 for none */
const volatile __u32 config_unwind = 1; /* stacks by tables; otherwise by frame pointers */
const volatile __u32 config_pairing = PAIRING_SESSION;
const volatile __u32 config_scope = SCOPE_NAMED;
const volatile __u32 config_everybody = 0; /* probes are in all processes that map the file */
const volatile struct selection config_selection = {};
const volatile __u64 config_session_mark = 1;
const volatile __u64 config_wake_bytes = 1 << 20; /* wake the reader when this much is pending */
const volatile __u64 config_stack_dump_room = 8
					      << 20; /* send no stack dumps when more is pending */
const volatile __u32 config_mappings = MAPPINGS_ITERATED;
const volatile __u32 config_casts = 0;         /* the kernel has bpf_rdonly_cast() */
const volatile __u32 config_places = 0;        /* probes may have COOKIE_OF_PLACE */
const volatile __u32 config_sanity = 0;        /* frees have stacks, operators have marks */
const volatile __u64 config_tick_ns = 0;       /* nanoseconds per tick; 0: always read the clock */
const volatile __u32 config_filters_calls = 0; /* filter or sample heap calls: */
const volatile __u64 config_min_size = 0;
const volatile __u64 config_max_size = 0;
const volatile __u64 config_sample = 0;        /* the mean of level 0; 0: never sample */
const volatile __u32 config_pid_namespace = 0; /* inode of user space's; 0: the initial one */

/*
 * This call is never executed, and is gone once the program is loaded. But a program with such a
 * call gets its stack from the thread's kernel stack. Since Linux 6.13, other programs use a
 * per-CPU stack (kernel/bpf/verifier.c: bpf_enable_priv_stack), which is wrong for uprobes: they
 * can be preempted, and then two threads write to the same stack.
 */
#define OWN_STACK()                                             \
	asm volatile("r0 = 0; if r0 == 0 goto +1; call %[call]" \
		     :                                          \
		     : [call] "i"(CALL_OWN_STACK)               \
		     : "r0")

extern void *bpf_rdonly_cast(const void *object, __u32 type) __weak __ksym;

/*
 * Casts a kernel object in order to follow its pointers. For each pointer reached from a trusted
 * one, the verifier checks whether it can be trusted by looking up names among all kernel types, up
 * to four times per load on each path. That took a quarter of the loading time. Our pointers need
 * not be trusted.
 */
#define PLAIN(type, object) \
	(config_casts ? (type *)bpf_rdonly_cast(object, bpf_core_type_id_kernel(type)) : (object))

static __always_inline struct task_struct *this_task(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return PLAIN(struct task_struct, task);
}

#define READ_FAILED ~0ULL

#define WAKE_CHECK  16
#define WAKE_WINDOW 4096 /* larger than WAKE_CHECK records, so that the mark is not skipped */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} events SEC(".maps");

/*
 * Traced processes by pid. User space adds the processes that it was asked to trace. With a wider
 * scope, children and selected programs add themselves (task.bpf.h).
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_NAMED);
	__type(key, __u32);
	__type(value, struct process_state);
} processes SEC(".maps");

__u32 self_testing; /* the self-test uses a child (user/source/bpf/load/child.h) */

#include "bpf/thread.bpf.h"

static __always_inline struct process_state *process_state(void)
{
	__u32 pid = thread_id() >> 32;

	return bpf_map_lookup_elem(&processes, &pid);
}

/* File probes hit every process that maps the file, so some calls are not from traced processes. */
static __always_inline int is_bystander(void)
{
	return config_everybody && !process_state();
}

/*
 * Traced processes whose leader has exited, and their number; maintained by user space. They are
 * served by the probes in all processes, all others by their own probes.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_NAMED);
	__type(key, __u32);
	__type(value, __u32);
} leader_exited SEC(".maps");

__u32 leader_exited_count;

/* Returns true if another probe reports this call. */
static __always_inline int is_of_another(__u64 cookie)
{
	int for_anybody = (COOKIE_FLAGS(cookie) & COOKIE_FLAG_ANYBODY) != 0;
	__u32 pid;

	if (config_scope != SCOPE_NAMED || (!for_anybody && !leader_exited_count))
		return 0;
	pid = thread_id() >> 32;
	return for_anybody != (bpf_map_lookup_elem(&leader_exited, &pid) != NULL);
}

/*
 * If a trace event has several places, each one carries its cookie as an immediate argument. The
 * kernel records the current place while our program runs, as it needs it for bpf_get_func_ip
 * (kernel/trace/trace_uprobe.c: uprobe_dispatcher).
 */
static __noinline __u64 cookie_of_place(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_dispatch_data *note = (void *)BPF_CORE_READ(task, utask, vaddr);
	struct trace_uprobe *place = BPF_CORE_READ(note, tu);

	return BPF_CORE_READ(place, tp.args[0].code, immediate);
}

static __always_inline __u64 probe_cookie(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);

	return config_places && cookie == COOKIE_OF_PLACE ? cookie_of_place() : cookie;
}

static __always_inline void count_loss(enum loss loss)
{
	struct process_state *state = process_state();

	if (state && (__u32)loss < LOSS_COUNT)
		__sync_fetch_and_add(&state->losses[loss], 1);
}

#include "bpf/deferred.bpf.h"

/*
 * The reader sleeps until enough data is pending, or its timer expires. Waking it costs the traced
 * program more than everything else here, so only records that cross the mark do it. As even
 * querying the pending size costs a call, only one record in WAKE_CHECK does that. The counter is
 * not atomic: missing a few records is harmless.
 */
static __u32 wake_counter;

static __always_inline __u64 wake_flags(void)
{
	if (++wake_counter % WAKE_CHECK)
		return BPF_RB_NO_WAKEUP;
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) - config_wake_bytes < WAKE_WINDOW
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* Wakes the reader for urgent records, by sending an empty record. */
static __always_inline void wake_now(void)
{
	struct record_head record = {};

	record.length = sizeof(record);
	bpf_ringbuf_output(&events, &record, sizeof(record), BPF_RB_FORCE_WAKEUP);
}

/*
 * Sends a record of constant length. It is complete before space is reserved: a program that is
 * preempted after the reservation blocks the reader, so only the copy is in between.
 * (bpf_ringbuf_output would copy with a call, at twice the cost.)
 */
static __always_inline int try_to_emit(void *record, __u32 length)
{
	void *place = must_wait() ? NULL : bpf_ringbuf_reserve(&events, length, 0);

	if (!place)
		return 0;
	__builtin_memcpy(place, record, length);
	bpf_ringbuf_submit(place, wake_flags());
	return 1;
}

static __always_inline void emit(void *record, __u32 length)
{
	if (!try_to_emit(record, length))
		count_loss(LOSS_EVENTS);
}

#include "bpf/clock.bpf.h"

static __always_inline void fill_head(struct record_head *head, __u8 kind, __u64 cookie,
				      __u32 length)
{
	__u64 thread = thread_id();

	head->kind = kind;
	head->api = COOKIE_API(cookie);
	head->flags = 0;
	head->pid = thread >> 32;
	head->tid = (__u32)thread;
	head->length = length;
	head->time_ns = clock_now();
}

/* Reads a word of a 32-bit program. The verifier checks global functions once, rather than for each
 * call on each path. */
__noinline __u64 read_32bit(__u64 address)
{
	__u32 word;

	return bpf_probe_read_user(&word, sizeof(word), (void *)address) ? READ_FAILED : word;
}

static __always_inline int read_user(__u64 address, __u64 *ret_word)
{
	return bpf_probe_read_user(ret_word, sizeof(*ret_word), (void *)address);
}

static __always_inline int read_word(const struct pt_regs *regs, __u64 address, __u64 *ret_word)
{
	__u64 word;

	if (!regs_are_32bit(regs))
		return read_user(address, ret_word);
	word = read_32bit(address);
	if (word == READ_FAILED)
		return -1;
	*ret_word = word;
	return 0;
}

static __always_inline int read_return_at(const struct pt_regs *regs, __u64 sp, __u64 *ret_address)
{
	if (REGS_LINKS) {
		*ret_address = regs_link(regs);
		return 0;
	}
	return read_word(regs, sp, ret_address);
}

#include "bpf/caller.h"
#include "bpf/stack.bpf.h"

struct vma_range {
	__u64 start;
	__u64 end;
};

static long note_vma(struct task_struct *task, struct vm_area_struct *vma, struct vma_range *range)
{
	range->start = vma->vm_start;
	range->end = vma->vm_end;
	return 0;
}

/*
 * Returns true if both addresses are on the same stack: not if only one is on the thread's
 * alternate signal stack, or if they are in different mappings. Only called when a call is pending,
 * so it may be slow.
 */
__noinline int compare_stacks(__u64 sp, __u64 other)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 low = task->sas_ss_sp, size = task->sas_ss_size;
	struct vma_range range = {};

	if ((sp - low < size) != (other - low < size))
		return 0;
	if (bpf_find_vma(task, sp, note_vma, &range, 0))
		return 1;
	return other >= range.start && other <= range.end;
}

static __always_inline int is_same_stack(__u64 sp, __u64 other)
{
	return compare_stacks(sp, other);
}

/* Probed functions return to a page of the kernel's, one per process (kernel/events/uprobes.c:
 * uprobe_get_trampoline_vaddr). It is mapped as high as possible. On AArch64 that may be above all
 * programs, and return addresses are reported without those bits. */
__noinline int compare_trampoline(__u64 address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct xol_area *area = BPF_CORE_READ(task, mm, uprobes_state.xol_area);

	return area && address == (BPF_CORE_READ(area, vaddr) & REGS_ADDRESS);
}

static __always_inline int is_return_trampoline(__u64 address)
{
	return compare_trampoline(address);
}

/* The kernel's limit of pending return probes per thread (MAX_URETPROBE_DEPTH). Other tools' probes
 * on recursive functions can use them up. */
#define RETURN_DEPTH_MAX 64

static __always_inline int is_return_list_full(void)
{
	struct task_struct *task = this_task();

	return task->utask && task->utask->depth >= RETURN_DEPTH_MAX;
}

/* A call is about to unmap memory: if it is code, forget the mappings. This runs for every munmap,
 * but the kernel itself does far more work for that. */
static __noinline int forget_code(__u64 address)
{
	struct found_code found = {};

	if (config_unwind && config_depth && !code_find(address, &found))
		forget_mappings();
	return 0;
}

static __always_inline int wants_sanity(void)
{
	return config_sanity;
}

#include "bpf/reported.bpf.h"
#include "bpf/alloc.bpf.h"
#include "bpf/marks.bpf.h"
#include "bpf/gate.bpf.h"
#include "bpf/pending.bpf.h"

/* Sessions. */

static __u64 *(*const session_word_kfunc)(void *context) = (void *)CALL_SESSION_WORD;

static int session_is_ours(__u64 word);
struct session_pending;

#define SHARERS_MAX 8

/* The word that our entry program stored in a pending return probe. Other tools that probe the same
 * function, even for another process, may have stored theirs before it. */
static __noinline __u64 word_of(struct return_instance *instance)
{
	struct return_consumer other;
	__u64 word;

	if (!instance)
		return 0;
	word = instance->consumer.cookie;
	for (int i = 0; i < SHARERS_MAX && !session_is_ours(word); i++) {
		if (i + 1 >= instance->cons_cnt ||
		    bpf_probe_read_kernel(&other, sizeof(other), instance->extra_consumers + i))
			break;
		word = other.cookie;
	}
	return word;
}

static __always_inline struct session_pending *session_newest(void)
{
	struct task_struct *task = this_task();

	return (void *)(task->utask ? task->utask->return_instances : NULL);
}

static __always_inline struct session_pending *session_read(struct session_pending *pending,
							    __u64 *ret_sp, __u64 *ret_word)
{
	struct return_instance *instance = (void *)pending;

	*ret_sp = instance->stack;
	*ret_word = word_of(instance);
	return (void *)instance->next;
}

#include "bpf/session.bpf.h"

static __always_inline int begin_session(struct pt_regs *regs, __u64 *word)
{
	__u64 cookie;

	if (is_bystander())
		return 1;
	cookie = bpf_get_attach_cookie(regs);
	return is_of_another(cookie) ? 1 : session_enter(regs, cookie, word);
}

SEC("uprobe/session")
int call_session(struct pt_regs *regs)
{
	__u64 *word;

	OWN_STACK();
	word = session_word_kfunc(regs);
	/* At entry the word is 0 (kernel/events/uprobes.c: handler_chain). */
	if (!*word)
		return begin_session(regs, word);
	session_leave(regs, *word);
	return 0;
}

/* The other carriers. */

SEC("uprobe/entry")
int call_entry(struct pt_regs *regs)
{
	__u64 cookie = probe_cookie(regs);
	struct thread_calls *thread;

	OWN_STACK();
	if (is_bystander() || is_of_another(cookie))
		return 0;
	thread = thread_calls();
	if (thread)
		thread_enter(thread, regs, cookie);
	else
		count_loss(LOSS_NO_STATE);
	return 0;
}

/* The entry has noted which function returns: one event serves the returns of all functions
 * (user/source/bpf/events/events.h). Probes in all processes may also hit processes that are not
 * traced. */
SEC("uprobe/return")
int call_return(struct pt_regs *regs)
{
	struct thread_calls *thread;
	__u64 cookie, payload;

	OWN_STACK();
	/* Whichever probe has seen the entry, the first of the two returns ends the call. */
	if (is_bystander() ||
	    (config_scope == SCOPE_NAMED &&
	     COOKIE_FLAGS(bpf_get_attach_cookie(regs)) & COOKIE_FLAG_ANYBODY && !process_state()))
		return 0;
	thread = thread_calls();
	if (!thread ||
	    !thread_leave(thread, regs_sp(regs) - regs_return_pops(regs), &cookie, &payload))
		return 0;
	emit_outcome(regs, cookie, payload);
	return 0;
}

/* Calls that are probed at their exits; the same for all carriers. */

SEC("uprobe/exit_entry")
int call_exit_entry(struct pt_regs *regs)
{
	__u64 cookie = probe_cookie(regs);
	struct thread_calls *thread = thread_calls();

	OWN_STACK();
	if (!thread)
		count_loss(LOSS_NO_STATE);
	else if (config_pairing != PAIRING_SESSION || session_place(regs, cookie) != PLACE_NESTED)
		exit_call_enter(thread, regs, cookie);
	return 0;
}

SEC("uprobe/exit")
int call_exit(struct pt_regs *regs)
{
	struct thread_calls *thread = thread_calls();

	OWN_STACK();
	if (thread)
		exit_call_leave(thread, regs, probe_cookie(regs));
	return 0;
}

SEC("uprobe/throw")
int call_throw(struct pt_regs *regs)
{
	struct thread_calls *thread = thread_calls();

	OWN_STACK();
	if (thread)
		exit_call_throw(thread, regs);
	return 0;
}

/*
 * free and delete: the entry has all information. Nested frees are reported as well: the model
 * recognises those of a realloc by the thread's pending calls.
 */
SEC("uprobe/free")
int call_free(struct pt_regs *regs)
{
	__u64 cookie;

	OWN_STACK();
	if (is_bystander())
		return 0;
	cookie = probe_cookie(regs);
	if (is_of_another(cookie))
		return 0;
	if (config_sanity)
		emit_release(regs, cookie);
	else
		emit_free(regs, cookie);
	return 0;
}

/* The operators new, new[], delete and delete[] themselves. Their allocations are seen at malloc
 * and free. */
SEC("uprobe/operator")
int call_operator(struct pt_regs *regs)
{
	__u64 cookie = probe_cookie(regs);
	struct thread_marks *thread;

	OWN_STACK();
	if (is_bystander() || is_of_another(cookie))
		return 0;
	thread = thread_marks();
	if (thread)
		mark_enter(thread, regs, cookie);
	return 0;
}

/* The most frequent call, free(pointer) without a caller, does not even need its cookie. */
SEC("uprobe/free_plain")
int call_free_plain(struct pt_regs *regs)
{
	OWN_STACK();
	if (!is_bystander() && !is_of_another(COOKIE_PLAIN_FREE))
		emit_free(regs, COOKIE_PLAIN_FREE);
	return 0;
}

/* A call that a gate has sampled. Only loaded if calls are sampled. */
SEC("uprobe/gate")
int call_gate(struct pt_regs *regs)
{
	__u64 cookie = probe_cookie(regs);

	OWN_STACK();
	if (!is_bystander() && !is_of_another(cookie))
		gate_call(regs, cookie);
	return 0;
}

#include "bpf/task.bpf.h"

/* The dynamic linker calls this empty function whenever its list of objects changes. */
SEC("uprobe/link_map")
int link_map_changed(struct pt_regs *regs)
{
	OWN_STACK();
	if (!process_state())
		return 0;
	forget_mappings();
	send_mappings();
	wake_now();
	return 0;
}

/*
 * glibc calls this first when a thread exits. Blocks that the thread frees afterwards, but did not
 * allocate, are its cache, which is released by calling free again for each block.
 */
SEC("uprobe/thread_exits")
int thread_exits(struct pt_regs *regs)
{
	OWN_STACK();
	process_thread(RECORD_THREAD_EXITS);
	return 0;
}

/* Not loaded if children are not traced. */
SEC("raw_tp/sched_process_fork")
int task_fork(struct bpf_raw_tracepoint_args *context)
{
	process_fork((struct task_struct *)context->args[1]);
	return 0;
}

/* Identifies a file the way the kernel does, for user space, which has mapped it at an address and
 * runs this program (BPF_PROG_TEST_RUN). */
struct unwind_file_key identified;

SEC("raw_tp")
int identify(struct bpf_raw_tracepoint_args *context)
{
	struct found_code found = {};
	int err = code_try(context->args[0], &found);

	identified = found.key;
	return err;
}

/* The same for a file that user space has open. On overlayfs this differs from the mapped file, but
 * is the one that exec sees. */
SEC("raw_tp")
int identify_open(struct bpf_raw_tracepoint_args *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file **files = BPF_CORE_READ(task, files, fdt, fd), *file = NULL;

	if (bpf_probe_read_kernel(&file, sizeof(file), files + context->args[0]) || !file)
		return -1;
	identified.inode = BPF_CORE_READ(file, f_inode, i_ino);
	identified.device = BPF_CORE_READ(file, f_inode, i_sb, s_dev);
	return 0;
}

/* Counts how many users have a perf event open, including user space itself, which passes its
 * descriptor and runs this program. */
__u32 event_users;

SEC("raw_tp")
int count_users(struct bpf_raw_tracepoint_args *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file **files = BPF_CORE_READ(task, files, fdt, fd), *file;
	const struct perf_event *event;

	event_users = 0;
	if (bpf_probe_read_kernel(&file, sizeof(file), files + context->args[0]))
		return 1;
	event = BPF_CORE_READ(file, private_data);
	event_users = BPF_CORE_READ(event, tp_event, perf_refcount);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int task_exec(struct bpf_raw_tracepoint_args *context)
{
	process_exec(context->args[1], (struct linux_binprm *)context->args[2]);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int task_exit(void *context)
{
	process_exit();
	return 0;
}

/* Not loaded unless cost is measured. */
SEC("raw_tp/sched_process_free")
int task_free(struct bpf_raw_tracepoint_args *context)
{
	note_time((struct task_struct *)context->args[0]);
	return 0;
}
