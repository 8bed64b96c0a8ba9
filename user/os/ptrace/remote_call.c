/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread is in a stop on its way back to user code, in get_signal() of the kernel. There its
 * registers can be replaced: it then executes our syscall instruction. PTRACE_SYSCALL stops it when
 * it enters the call and when it leaves it.
 *
 * The stop at the end of the call is not the place to restore the registers. A system call that was
 * interrupted has left -ERESTART… in rax, and the kernel turns that into a restart only when
 * get_signal() returns (arch_do_signal_or_restart() in arch/x86/kernel/signal.c). If no signal is
 * pending, the thread would return to user code without that, and the program would see errno 512.
 * So the thread is interrupted once more, and gets its registers back in the same kind of stop in
 * which it was at the beginning. While ours are in place, orig_rax is -1: nothing to restart.
 *
 * The state of restart_syscall(2) is in the kernel (current->restart_block). Only calls that use it
 * themselves, sigreturn and exec change it.
 *
 * Signals are blocked while the thread makes the call, and stay pending. One is different: if the
 * thread was stopped for the delivery of a signal, that signal is no longer in the queue. The
 * kernel would put it back behind signals that came later, so it is delivered first.
 * The mask of ptrace is the one that a call like ppoll restores at its end; the temporary mask
 * of the call is lost, but the call installs it again as it restarts.
 *
 * SIGSTOP cannot be blocked. It is passed on, and the stop of the whole process takes its course;
 * only this thread goes on until its call is done.
 *
 * A restartable sequence (rseq(2)) is a piece of code that the kernel aborts if the thread is
 * preempted in it. When a thread returns to user code outside of its sequence, the kernel forgets
 * that it was in one; back in the sequence, the thread would go on as if it had never lost its
 * processor. So the abort that a stop implies is done here: by the restored instruction pointer.
 *
 * Deaths: waitid without WEXITED returns ECHILD for a thread that has died, and leaves its exit
 * status for the code that waits for it. It wakes up even for a leader whose exit is not reported
 * until its threads are gone (wait_consider_task() in kernel/exit.c).
 */
#include "os/ptrace/remote_call.h"

#include <errno.h>

/* System calls of x86-64: arch/x86/entry/syscalls/syscall_64.tbl */
#define CALL_MMAP     9
#define CALL_MPROTECT 10
#define CALL_MUNMAP   11

#if defined(__x86_64__)

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "os/process/maps.h"
#include "os/process/proc.h"
#include "os/ptrace/tracee.h"

#define CODE_64BIT   0x33  /* the selector of 64-bit code: __USER_CS in asm/segment.h */
#define TRAP_FLAG    0x100 /* of eflags */
#define SYSCALL_STOP 0x80  /* set in the status of system call stops by PTRACE_O_TRACESYSGOOD */
#define SCAN_MAX     (64ULL << 20)
#define SCAN_PIECE   (64U << 10)
#define TAIL_SIZE    11 /* bytes after a syscall instruction that are looked at */

/* What interrupted system calls return inside the kernel (include/linux/errno.h). */
#define ERESTARTSYS           512
#define ERESTARTNOHAND        514
#define ERESTART_RESTARTBLOCK 516

/* Requests that older headers do not have: include/uapi/linux/ptrace.h */
#define GET_RSEQ     0x420f
#define GET_DISPATCH 0x4211

struct rseq_registration {
	uint64_t address; /* of struct rseq; 0 if there is none */
	uint32_t size;
	uint32_t signature;
	uint32_t flags;
	uint32_t padding;
};

/* struct rseq_cs in include/uapi/linux/rseq.h */
struct rseq_sequence {
	uint32_t version;
	uint32_t flags;
	uint64_t start;
	uint64_t size;
	uint64_t abort;
};

#define RSEQ_SEQUENCE 8 /* offset of the pointer to the sequence in struct rseq */

struct dispatch_config {
	uint64_t mode; /* 0: off */
	uint64_t selector;
	uint64_t offset;
	uint64_t size;
};

/* What the thread gets back. */
struct saved_state {
	struct user_regs_struct registers;
	uint64_t mask;
};

/* Finding an instruction. */

static const uint8_t syscall_code[] = {0x0f, 0x05};

/* Returns true if a thread that has returned from the system call traps before it does anything. */
static bool is_trap(const uint8_t tail[TAIL_SIZE])
{
	static const uint8_t compare[] = {0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff, 0x77};
	const uint8_t *at = tail;

	/* cmp $-4096,%rax; ja error: glibc's _exit */
	if (!memcmp(tail, compare, sizeof(compare)))
		at += sizeof(compare) + 1;
	return at[0] == 0xf4 /* hlt */ || at[0] == 0xcc /* int3 */ ||
	       (at[0] == 0x0f && at[1] == 0x0b) /* ud2 */;
}

struct instruction_search {
	uint64_t any;   /* the first one, or 0 */
	uint64_t traps; /* the first one that is followed by a trap, or 0 */
};

static void search_bytes(struct instruction_search *search, uint64_t address, const uint8_t *bytes,
			 size_t size)
{
	const size_t whole = sizeof(syscall_code) + TAIL_SIZE;
	const uint8_t *at = bytes, *end = bytes + size;

	while (!search->traps && (at = memmem(at, (size_t)(end - at), syscall_code, 2))) {
		uint64_t found = address + (uint64_t)(at - bytes);

		if (!search->any)
			search->any = found;
		if ((size_t)(end - at) >= whole && is_trap(at + sizeof(syscall_code)))
			search->traps = found;
		at++;
	}
}

/* Pieces overlap, so that an instruction and its tail are in one of them. */
static void search_mapping(struct instruction_search *search, pid_t pid,
			   const struct proc_mapping *mapping, uint64_t *left)
{
	static const size_t step = SCAN_PIECE - sizeof(syscall_code) - TAIL_SIZE;
	uint8_t bytes[SCAN_PIECE];

	for (uint64_t at = mapping->start; at < mapping->end && !search->traps; at += step) {
		uint64_t size = mapping->end - at < SCAN_PIECE ? mapping->end - at : SCAN_PIECE;
		ssize_t got;

		if (size > *left)
			return;
		*left -= size;
		got = proc_memory_read(pid, at, bytes, size);
		if (got <= 0)
			return;
		search_bytes(search, at, bytes, (size_t)got);
	}
}

int remote_find_syscall(pid_t pid, uint64_t *ret_address)
{
	struct instruction_search search = {0};
	struct proc_maps maps = {0};
	uint64_t left = SCAN_MAX;
	int code = proc_maps_read(pid, &maps);

	for (size_t i = 0; !code && i < maps.count && !search.traps; i++)
		if (maps.items[i].executable && maps.items[i].readable)
			search_mapping(&search, pid, &maps.items[i], &left);
	proc_maps_free(&maps);
	if (code)
		return code;
	if (!search.any)
		return -ENOENT;
	*ret_address = search.traps ? search.traps : search.any;
	return 0;
}

/* Preparing calls. */

static int get_registers(const struct remote_thread *remote, struct user_regs_struct *ret_registers)
{
	return ptrace(PTRACE_GETREGS, remote->tid, NULL, ret_registers) ? -errno : 0;
}

static bool is_syscall(const struct remote_thread *remote)
{
	uint8_t code[sizeof(syscall_code)];

	return proc_memory_read(remote->pid, remote->syscall, code, sizeof(code)) == sizeof(code) &&
	       !memcmp(code, syscall_code, sizeof(code));
}

static int get_rseq(const struct remote_thread *remote, struct rseq_registration *ret_rseq)
{
	*ret_rseq = (struct rseq_registration){0};
	return ptrace(GET_RSEQ, remote->tid, (void *)sizeof(*ret_rseq), ret_rseq) < 0 ? -errno : 0;
}

/*
 * Syscall user dispatch turns a system call into SIGSYS, and the kernel kills a thread that has
 * blocked that signal. Before Linux 6.4 there is no request to find out.
 */
static bool dispatches_calls(const struct remote_thread *remote)
{
	struct dispatch_config config = {0};

	return !ptrace(GET_DISPATCH, remote->tid, (void *)sizeof(config), &config) && config.mode;
}

/* Whatever fails in a thread that is being killed fails with -ESRCH. */
static int unless_killed(const struct remote_thread *remote, int code)
{
	struct user_regs_struct registers;

	return code && get_registers(remote, &registers) == -ESRCH ? -ESRCH : code;
}

/* Returns 0, or -errno with the reason in *ret_reason. */
static int check_thread(const struct remote_thread *remote, const char **ret_reason)
{
	struct user_regs_struct registers;
	struct rseq_registration rseq;
	int event = TRACEE_EVENT(*remote->status);
	int code = get_registers(remote, &registers);

	*ret_reason = "it cannot be read";
	if (code)
		return code;
	*ret_reason = "it executes 32-bit code";
	if (registers.cs != CODE_64BIT)
		return -EOPNOTSUPP;
	*ret_reason = "it is in another kind of stop";
	if ((event && event != PTRACE_EVENT_STOP) || (!event && *remote->status & SYSCALL_STOP))
		return -EINVAL;
	*ret_reason = "a seccomp filter restricts its system calls";
	if (tracee_has_seccomp(remote->pid, remote->tid))
		return -EPERM;
	*ret_reason = "it handles its system calls itself (PR_SET_SYSCALL_USER_DISPATCH)";
	if (dispatches_calls(remote))
		return -EPERM;
	*ret_reason = "its memory has no syscall instruction at the given address";
	if (!is_syscall(remote))
		return -ENOEXEC;
	*ret_reason = "the kernel does not tell where its restartable sequences are";
	code = get_rseq(remote, &rseq);
	return code == -EIO ? -EOPNOTSUPP : code;
}

int remote_thread_open(struct remote_thread *ret_remote, pid_t pid, pid_t tid, int *status,
		       uint64_t syscall, struct error *err)
{
	struct remote_thread remote = {
		.pid = pid, .tid = tid, .status = status, .syscall = syscall};
	const char *reason;
	int code = unless_killed(&remote, check_thread(&remote, &reason));

	if (code == -ESRCH)
		return error_set_errno(err, -ESRCH, "cannot run a system call in thread %d of %d",
				       (int)tid, (int)pid);
	if (code)
		return error_set(err, code, "cannot run a system call in thread %d of %d: %s",
				 (int)tid, (int)pid, reason);
	*ret_remote = remote;
	return 0;
}

/* Going from stop to stop. */

static int await_stop(const struct remote_thread *remote)
{
	siginfo_t info = {0};

	while (waitid(P_PID, (id_t)remote->tid, &info, WSTOPPED | __WALL | __WNOTHREAD))
		if (errno != EINTR)
			return -ESRCH;
	*remote->status = info.si_status;
	return TRACEE_EVENT(info.si_status) == PTRACE_EVENT_EXIT ? -ESRCH : 0;
}

static int go_on(const struct remote_thread *remote, enum __ptrace_request request, int signal)
{
	if (ptrace(request, remote->tid, NULL, (void *)(intptr_t)signal))
		return -errno;
	return await_stop(remote);
}

static bool is_event_stop(const struct remote_thread *remote)
{
	return TRACEE_EVENT(*remote->status) == PTRACE_EVENT_STOP;
}

/* A SIGTRAP that the process gets is blocked. */
static bool is_syscall_stop(const struct remote_thread *remote)
{
	return !TRACEE_EVENT(*remote->status) && (*remote->status & ~SYSCALL_STOP) == SIGTRAP;
}

/* Returns the signal that the thread is stopped for, although all signals are blocked, or 0. */
static int unblockable(const struct remote_thread *remote)
{
	return *remote->status == SIGSTOP ? SIGSTOP : 0;
}

/* Continues the thread to the next stop in get_signal(), delivering `signal`. */
static int stop_again(const struct remote_thread *remote, int signal)
{
	int code = ptrace(PTRACE_INTERRUPT, remote->tid, NULL, NULL) ? -errno : 0;

	while (!code) {
		code = go_on(remote, PTRACE_CONT, signal);
		if (!code && is_event_stop(remote))
			break;
		signal = unblockable(remote);
	}
	return code;
}

/* Continues the thread to its next entry into, or exit from, a system call. */
static int go_to_syscall_stop(const struct remote_thread *remote)
{
	int signal = 0, code;

	do {
		code = go_on(remote, PTRACE_SYSCALL, signal);
		signal = code ? 0 : unblockable(remote);
	} while (!code && (is_event_stop(remote) || signal));
	if (code)
		return code;
	return is_syscall_stop(remote) ? 0 : -EIO; /* a fault: the instruction is gone */
}

/* Saving and restoring. */

/* Calls that return EINTR for a stop, unlike others. Without a timeout they can simply restart. */
static bool is_interrupted_epoll(const struct user_regs_struct *registers)
{
	int64_t result = (int64_t)registers->rax;

	if (result != -EINTR)
		return false;
	switch (registers->orig_rax) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int32_t)registers->r10 < 0;
	case 441: /* epoll_pwait2 */
		return !registers->r10;
	default:
		return false;
	}
}

/* Moves rip out of a restartable sequence, as the kernel does (rseq_ip_fixup() in kernel/rseq.c).
 */
static int abort_sequence(const struct remote_thread *remote, struct user_regs_struct *registers)
{
	struct rseq_registration rseq;
	struct rseq_sequence sequence;
	uint64_t pointer;
	int code = get_rseq(remote, &rseq);

	if (code || !rseq.address)
		return code;
	if (proc_memory_read(remote->pid, rseq.address + RSEQ_SEQUENCE, &pointer,
			     sizeof(pointer)) != sizeof(pointer))
		return -EFAULT;
	if (!pointer)
		return 0;
	if (proc_memory_read(remote->pid, pointer, &sequence, sizeof(sequence)) != sizeof(sequence))
		return -EFAULT;
	if (registers->rip - sequence.start < sequence.size)
		registers->rip = sequence.abort;
	return 0;
}

static int save_state(const struct remote_thread *remote, struct saved_state *ret_saved)
{
	int code = get_registers(remote, &ret_saved->registers);

	if (!code && ptrace(PTRACE_GETSIGMASK, remote->tid, (void *)sizeof(ret_saved->mask),
			    &ret_saved->mask))
		code = -errno;
	if (!code)
		code = abort_sequence(remote, &ret_saved->registers);
	if (!code && is_interrupted_epoll(&ret_saved->registers))
		ret_saved->registers.rax = (uint64_t)-ERESTARTNOHAND;
	return code;
}

static int set_registers(const struct remote_thread *remote,
			 const struct user_regs_struct *registers)
{
	return ptrace(PTRACE_SETREGS, remote->tid, NULL, registers) ? -errno : 0;
}

static int set_mask(const struct remote_thread *remote, uint64_t mask)
{
	return ptrace(PTRACE_SETSIGMASK, remote->tid, (void *)sizeof(mask), &mask) ? -errno : 0;
}

static int restore_state(const struct remote_thread *remote, const struct saved_state *saved)
{
	int code = set_registers(remote, &saved->registers);

	return code ? code : set_mask(remote, saved->mask);
}

/* The call. */

static struct user_regs_struct registers_for(const struct remote_thread *remote,
					     const struct saved_state *saved, long number,
					     const uint64_t arguments[6])
{
	struct user_regs_struct registers = saved->registers;

	registers.rip = remote->syscall;
	registers.rax = (uint64_t)number;
	registers.orig_rax = (uint64_t)-1;
	registers.rdi = arguments[0];
	registers.rsi = arguments[1];
	registers.rdx = arguments[2];
	registers.r10 = arguments[3];
	registers.r8 = arguments[4];
	registers.r9 = arguments[5];
	registers.eflags &= ~(uint64_t)TRAP_FLAG;
	return registers;
}

/* Signals are blocked, and the thread has our registers. Leaves it in a stop in get_signal(). */
static int run(const struct remote_thread *remote, int64_t *ret_result)
{
	struct user_regs_struct registers = {0};
	int code = go_to_syscall_stop(remote);
	int stop_code;

	if (!code)
		code = go_to_syscall_stop(remote);
	if (!code)
		code = get_registers(remote, &registers);
	stop_code = code == -ESRCH ? code : stop_again(remote, 0);
	*ret_result = (int64_t)registers.rax;
	return code ? code : stop_code;
}

static int block_and_run(const struct remote_thread *remote,
			 const struct user_regs_struct *registers, int64_t *ret_result)
{
	int code = set_mask(remote, ~0ULL);

	if (!code)
		code = set_registers(remote, registers);
	return code ? code : run(remote, ret_result);
}

static bool is_restart(int64_t result)
{
	return result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK;
}

int remote_call(struct remote_thread *remote, long number, const uint64_t arguments[6],
		int64_t *ret_result)
{
	struct user_regs_struct registers;
	struct saved_state saved;
	int64_t result = 0;
	int code = is_event_stop(remote) ? 0 : stop_again(remote, *remote->status);
	int restored;

	if (!code)
		code = save_state(remote, &saved);
	if (code)
		return unless_killed(remote, code);
	registers = registers_for(remote, &saved, number, arguments);
	code = block_and_run(remote, &registers, &result);
	restored = code == -ESRCH ? code : restore_state(remote, &saved);
	if (code || restored)
		return unless_killed(remote, code ? code : restored);
	*ret_result = is_restart(result) ? -EINTR : result;
	return 0;
}

#else

int remote_find_syscall(pid_t pid, uint64_t *ret_address)
{
	(void)pid;
	(void)ret_address;
	return -EOPNOTSUPP;
}

int remote_thread_open(struct remote_thread *ret_remote, pid_t pid, pid_t tid, int *status,
		       uint64_t syscall, struct error *err)
{
	(void)ret_remote;
	(void)status;
	(void)syscall;
	return error_set(err, -EOPNOTSUPP,
			 "cannot run a system call in thread %d of %d: only on x86-64", (int)tid,
			 (int)pid);
}

int remote_call(struct remote_thread *remote, long number, const uint64_t arguments[6],
		int64_t *ret_result)
{
	(void)remote;
	(void)number;
	(void)arguments;
	(void)ret_result;
	return -EOPNOTSUPP;
}

#endif

int remote_mmap(struct remote_thread *remote, const struct remote_mapping *mapping,
		uint64_t *ret_address)
{
	const uint64_t arguments[6] = {mapping->address,
				       mapping->size,
				       (uint64_t)mapping->protection,
				       (uint64_t)mapping->flags,
				       (uint64_t)(int64_t)mapping->file,
				       mapping->offset};
	int64_t result;
	int code = remote_call(remote, CALL_MMAP, arguments, &result);

	if (code)
		return code;
	if (result < 0)
		return (int)result;
	*ret_address = (uint64_t)result;
	return 0;
}

static int call_plain(struct remote_thread *remote, long number, const uint64_t arguments[6])
{
	int64_t result = 0;
	int code = remote_call(remote, number, arguments, &result);

	return code ? code : (int)result;
}

int remote_munmap(struct remote_thread *remote, uint64_t address, uint64_t size)
{
	const uint64_t arguments[6] = {address, size};

	return call_plain(remote, CALL_MUNMAP, arguments);
}

int remote_mprotect(struct remote_thread *remote, uint64_t address, uint64_t size, int protection)
{
	const uint64_t arguments[6] = {address, size, (uint64_t)protection};

	return call_plain(remote, CALL_MPROTECT, arguments);
}
