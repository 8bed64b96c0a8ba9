/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface between the BPF programs and user space: records in the ring buffer, the attach
 * cookie, configuration and loss counters. Included by both sides. Every width is fixed and every
 * layout asserted, so that 32-bit and 64-bit builds agree.
 *
 * Times are CLOCK_MONOTONIC nanoseconds. pid is the process (the kernel's tgid), tid the thread.
 */
#ifndef MTRACE_BPF_ABI_H
#define MTRACE_BPF_ABI_H

#ifdef __bpf__
typedef __u8 abi_u8;
typedef __u16 abi_u16;
typedef __u32 abi_u32;
typedef __u64 abi_u64;
#else
#include <stdint.h>
typedef uint8_t abi_u8;
typedef uint16_t abi_u16;
typedef uint32_t abi_u32;
typedef uint64_t abi_u64;
#endif

/*
 * Canonical allocation functions. user/api/api.c has a row for each (symbols, argument positions,
 * family). The values are stored in records and files: only append.
 */
enum api {
	API_NONE = 0,
	API_MALLOC,
	API_CALLOC,
	API_REALLOC,
	API_REALLOCARRAY,
	API_FREE,
	API_POSIX_MEMALIGN,
	API_ALIGNED_ALLOC,
	API_VALLOC,
	API_PVALLOC,
	API_NEW,
	API_NEW_ARRAY,
	API_DELETE,
	API_DELETE_ARRAY,
	API_MMAP,
	API_MUNMAP,
	API_MREMAP,
	API_MMAP_LIBC, /* derived: an mmap called directly by the C library */
	API_COUNT,
};

/* The kind of memory that a call handles. Determines which calls nest in which. */
enum api_family {
	FAMILY_HEAP = 0, /* malloc and new families: sites, totals, live */
	FAMILY_MAP = 1,  /* mmap family: mappings */
	FAMILY_COUNT,
};

/*
 * The attach cookie of a probe: everything that the generic programs need to know about the call,
 * so that they need no map lookup. Bits:
 *   0..7 api   8..11 size argument   12..15 count argument   16..19 old-pointer argument
 *   20..23 out-pointer argument   24..31 COOKIE_ flags
 *   32..39 frees: which allocator; gates: enum gate_part
 * Argument positions start at 0; COOKIE_NO_ARG: the call has none.
 */
#define COOKIE_NO_ARG       0xfu
#define COOKIE_API(c)       ((abi_u8)((c)&0xff))
#define COOKIE_SIZE(c)      (((c) >> 8) & 0xf)
#define COOKIE_COUNT(c)     (((c) >> 12) & 0xf)
#define COOKIE_OLD(c)       (((c) >> 16) & 0xf)
#define COOKIE_OUT(c)       (((c) >> 20) & 0xf)
#define COOKIE_FLAGS(c)     (((c) >> 24) & 0xff)
#define COOKIE_OBJECT(c)    (((c) >> COOKIE_OBJECT_SHIFT) & 0xff)
#define COOKIE_OBJECT_SHIFT 32

#define COOKIE_FLAG_MAP     0x1  /* FAMILY_MAP: a negative errno or MAP_FAILED is a failure */
#define COOKIE_FLAG_BEGIN   0x2  /* emit RECORD_BEGIN at entry, RECORD_END at return */
#define COOKIE_FLAG_FREE    0x4  /* emit RECORD_FREE at entry; no return probe */
#define COOKIE_FLAG_UNMAP   0x8  /* the result is a status (0 is success), not an address */
#define COOKIE_FLAG_CALLER  0x10 /* free: also read the direct caller */
#define COOKIE_FLAG_ANYBODY 0x20 /* in every process, for those whose leader has exited */
#define COOKIE_FLAG_LEAF    0x40 /* calls no probed heap function: see bpf/alloc_filter.bpf.h */

/* Used instead of a cookie if each place of the probe has its own
 * (user/source/bpf/events/events.h). */
#define COOKIE_OF_PLACE (~(abi_u64)0)

/*
 * The cookie of an operator's mark (bpf/sanity.bpf.h) also describes the code of the function:
 *   32..39 distance of the probe from its first byte   40..63 its size in bytes
 * The count field has the position of the alignment.
 */
#define COOKIE_MARK_OFFSET(c) (((c) >> 32) & 0xff)
#define COOKIE_MARK_SIZE(c)   ((c) >> 40)

/*
 * A gate, code of ours in the traced process, decides which calls are sampled. For a sampled call
 * it passes a probe site, after the function has returned to it:
 *   - The argument registers hold the call's arguments, and the result register its result.
 *   - The stack pointer is GATE_FRAME bytes below the return address of the call.
 *   - regs_gate_sample() is the sample, as in records.
 * A call whose begin is reported before it is made has a second site, where there is no result yet.
 */
#define GATE_FRAME          72
#define COOKIE_GATE_PART(c) COOKIE_OBJECT(c)

/* Which part of the call a gate's site reports. */
enum gate_part {
	GATE_WHOLE = 0, /* all of it: also the begin, if it has COOKIE_FLAG_BEGIN */
	GATE_BEGIN,     /* the begin, before the call */
	GATE_END,       /* the outcome, after it */
};

/* A plain free(pointer), which has a BPF program of its own. */
#define COOKIE_PLAIN_FREE ((abi_u64)API_FREE | 0xf0ff00 | (abi_u64)COOKIE_FLAG_FREE << 24)

/*
 * Functions that must not have a return probe are probed at their exits: the instructions by which
 * the function can end (user/symbol/probe_site/exit_search.c). This is the attach cookie of such a
 * probe.
 */
enum exit_kind {
	EXIT_RETURN = 0, /* a `ret`: the result is set, the stack is as at the entry */
	EXIT_HANDS_OVER, /* a jump to another probed function, which reports the rest */
	EXIT_COUNT,
};

enum record_kind {
	RECORD_ALLOC = 1,    /* struct record_call; address = result, size = requested */
	RECORD_FREE,         /* struct record_free */
	RECORD_BEGIN,        /* struct record_begin */
	RECORD_END,          /* struct record_call; address = result, size = requested */
	RECORD_STACK,        /* struct record_stack, sent before the first record that names it */
	RECORD_MAPPING,      /* struct record_mapping: one current executable mapping */
	RECORD_EXEC,         /* struct record_exec: a new image; its mappings follow */
	RECORD_EXIT,         /* struct record_exit: the last thread has exited */
	RECORD_THREAD_EXITS, /* struct record_head: the C library starts to clean up a thread */
	RECORD_THREAD_GONE,  /* struct record_head: a thread has exited, others continue */
	RECORD_STACK_DUMP,   /* struct record_stack_dump: a stack to finish in user space */
	RECORD_FORK,         /* struct record_fork: a child, traced from here on */
	RECORD_LEAVE,        /* struct record_exit: runs on, but its new image is not selected */
	RECORD_LEADER_GONE,  /* struct record_head: the leader has exited, others continue */
	RECORD_RELEASE,      /* struct record_release: RECORD_FREE with more details */
	RECORD_HELD,         /* struct record_head: stopped until its new mappings are seen */
	RECORD_AT_END, /* struct record_head: all threads are stopped at the start of their exits */
};

#define RECORD_FLAG_FAILED    0x1  /* the call failed; heap calls with size 0: returned NULL */
#define RECORD_FLAG_TRUNCATED 0x2  /* RECORD_STACK: the stack is known to continue */
#define RECORD_FLAG_GUESSED   0x8  /* RECORD_STACK: relies on a guessed frame pointer */
#define RECORD_FLAG_32BIT     0x40 /* RECORD_STACK_DUMP, RECORD_EXEC: 32-bit code */

/* RECORD_FREE: the upper half of the flags is the allocator that frees. */
#define RECORD_OBJECT_SHIFT 8

/* RECORD_ALLOC, RECORD_END and RECORD_RELEASE with --sanity: the operator that made the call. */
#define RECORD_FLAG_OPERATOR(api) ((abi_u16)((api) << 8))
#define RECORD_OPERATOR(flags)    ((flags) >> 8) /* enum api, OPERATOR_UNKNOWN, or 0 for none */
#define OPERATOR_UNKNOWN          0xff

/*
 * RECORD_ALLOC, RECORD_BEGIN and RECORD_END with --sample use the same bits for the mean by which
 * the call was sampled: its level + 1 (each level doubles the mean), or SAMPLE_NOT if the new block
 * is not reported. 0: no sampling. For frees see bpf/alloc_filter.bpf.h.
 */
#define RECORD_FLAG_SAMPLE(sample) ((abi_u16)((sample) << 8))
#define RECORD_SAMPLE(flags)       ((flags) >> 8)
#define SAMPLE_LEVELS              32
#define SAMPLE_NOT                 63u
#define REPORTED_BITS              22
#define REPORTED_BYTES             (1u << REPORTED_BITS)

/* A precomputed mean (bpf/sample.h). */
struct sample_rate {
	abi_u64 inverse; /* 2^SAMPLE_POINT / mean */
	abi_u64 limit;   /* larger calls are always reported */
};

struct record_head {
	abi_u8 kind; /* enum record_kind */
	abi_u8 api;  /* enum api */
	abi_u16 flags;
	abi_u32 pid;
	abi_u32 tid;
	abi_u32 length; /* bytes, including this head */
	abi_u64 time_ns;
};

struct record_call {
	struct record_head head;
	abi_u64 address;
	abi_u64 size;
	abi_u64 caller; /* the direct caller's return address */
	abi_u64 stack;  /* id of a RECORD_STACK; 0 if stacks are off or it was dropped */
};

struct record_free {
	struct record_head head;
	abi_u64 address;
	abi_u64 caller; /* 0 unless COOKIE_FLAG_CALLER is set: reading it is expensive */
};

/* Replaces struct record_free with --sanity. */
#define SIZE_UNKNOWN (~(abi_u64)0)
struct record_release {
	struct record_head head;
	abi_u64 address;
	abi_u64 caller;
	abi_u64 stack;
	abi_u64 size;   /* passed to sized delete, or SIZE_UNKNOWN */
	abi_u64 slack;  /* how much larger the block may be: alignment - 1 */
	abi_u32 object; /* the process's allocator that frees */
	abi_u32 pad;
};

/*
 * realloc, reallocarray: args = {old pointer, new size}
 * posix_memalign:        args = {0, size}
 * mmap:                  args = {hint, length, flags (MAP_…)}
 * munmap:                args = {address, length}
 * mremap:                args = {old address, old length, new length, flags, new address}
 */
#define RECORD_BEGIN_ARGS 5
struct record_begin {
	struct record_head head;
	abi_u64 caller;
	abi_u64 args[RECORD_BEGIN_ARGS];
};

enum stack_stop {
	STOP_END = 0,    /* the outermost frame was reached */
	STOP_DEPTH,      /* --depth frames taken */
	STOP_UNKNOWN,    /* unknown (frame pointers cannot tell) */
	STOP_NO_TABLE,   /* code without call frame information, and no plausible frame pointer */
	STOP_NO_ROW,     /* the rule has no row, or needs a lost register */
	STOP_NO_CODE,    /* the return address is not in executable memory */
	STOP_READ,       /* the stack could not be read */
	STOP_PROBE,      /* a return probe of another tool replaced the return address */
	STOP_SIGNAL,     /* a frame that a signal interrupted: tables only cover call sites */
	STOP_BUSY,       /* the process was changing its mappings */
	STOP_LATE,       /* the table of the code was not ready */
	STOP_STACK_DUMP, /* the end of the stack copy that user space got */
	STOP_COUNT,
};

/* Marks a frame that was not left by a call: one that a signal interrupted, or the trampoline to
 * which its handler returns. The address is that of the next instruction, not a return address. */
#define STACK_EXACT (1ULL << 63)

#define STACK_MAX_FRAMES 127
struct record_stack {
	struct record_head head;
	abi_u64 id;
	abi_u32 count; /* 64-bit return addresses that follow; the first is the direct caller */
	abi_u32 stop;  /* enum stack_stop */
};

/*
 * A walk that stopped in the kernel but can continue in user space: the frames so far, the
 * registers of the next frame, and the stack above it. With STOP_SIGNAL the next frame was
 * interrupted and is not among the frames; otherwise it is the last of them.
 */
#define STACK_DUMP_PAGES 3
#define STACK_DUMP_BYTES (STACK_DUMP_PAGES * 4096)
struct record_stack_dump {
	struct record_head head;
	abi_u64 id; /* unique id of this stack */
	abi_u32 count;
	abi_u32 stop;
	abi_u64 ip;
	abi_u64 sp; /* also the address of the copied bytes */
	abi_u64 bp;
	abi_u64 bp_place; /* enum unwind_bp_place (arch/unwind.h) */
	abi_u64 size;     /* bytes of the stack that follow the frames */
	/* The last element, which no frame can use, is the link register, if there is one; 0:
	 * unknown. */
	abi_u64 frames[STACK_MAX_FRAMES + 1];
};

#define STACK_DUMP_LINK STACK_MAX_FRAMES /* in `frames` */

/*
 * A path in the kernel's order: the names of its components, the last one first, each terminated by
 * NUL, with an empty one at the end. Relative to the root of the mount namespace; truncated if too
 * long.
 */
#define PATH_NAMES_SIZE 256
#define NAME_SIZE_MAX   64 /* per name, with its NUL; longer ones are truncated */
#define PATH_DEPTH_MAX  32 /* components */
struct record_mapping {
	struct record_head head;
	abi_u64 start; /* addresses, bytes */
	abi_u64 end;
	abi_u64 offset; /* file offset, bytes */
	abi_u64 inode;  /* 0: anonymous */
	abi_u32 dev_major;
	abi_u32 dev_minor;
	char names[PATH_NAMES_SIZE];
};

#define RECORD_FLAG_BY_THREAD 0x4 /* RECORD_EXEC: not called by the leader */
#define COMM_SIZE             16
#define EXEC_PATH_SIZE        256
#define EXEC_COMMAND_SIZE     512
struct record_exec {
	struct record_head head;
	abi_u64 start_time_ns; /* of the process, since boot; 0: it is stopped, see /proc */
	abi_u64 filtered;      /* LOSS_FILTERED of the previous image; reset to 0 */
	abi_u32 parent;
	abi_u32 inner; /* its pid in a pid namespace nested in ours, or 0 */
	char comm[COMM_SIZE];
	char path[EXEC_PATH_SIZE];       /* of the image, or a script's interpreter; as passed */
	char names[PATH_NAMES_SIZE];     /* the same, in the kernel's order */
	abi_u64 command_size;            /* full size of the command line in bytes */
	char command[EXEC_COMMAND_SIZE]; /* its arguments, each terminated by NUL */
};

#define RECORD_FLAG_NEWBORN 0x10 /* RECORD_EXEC: traced from this image on */
#define RECORD_FLAG_SHARED  0x20 /* RECORD_FORK: the child shares its parent's memory */

/* head.pid is the child, head.tid the thread that forked. */
struct record_fork {
	struct record_head head;
	abi_u64 start_time_ns; /* since boot */
	abi_u32 parent;
	abi_u32 pad;
	char comm[COMM_SIZE];
};

/* What the BPF programs missed or could not report. One counter each, per process. */
enum loss {
	LOSS_EVENTS = 0, /* the ring buffer was full */
	LOSS_STACKS,     /* a stack could not be read or stored: the event has none */
	LOSS_NO_RETURN,  /* the return of a call could not be probed: its event is missing */
	LOSS_NO_STATE,   /* no memory for the thread's pending calls */
	LOSS_READ,       /* memory of the target could not be read */
	LOSS_CHILDREN,   /* a child could not be traced: too many processes */
	LOSS_GAP_NS,     /* time during which other tools had removed our probes */
	LOSS_FILTERED,   /* not a loss: filtered by --min-size and --max-size */
	LOSS_COUNT,
};

struct record_exit {
	struct record_head head;
	abi_u32 code; /* as returned by wait(2) */
	abi_u32 pad;
	abi_u64 losses[LOSS_COUNT]; /* totals of the process */
};

/* A process that has exited (bpf/exit_time.bpf.h). */
#define ENDED_MAX 16384
struct ended_key {
	abi_u64 task;          /* address of the leader's task_struct; may be reused */
	abi_u64 start_time_ns; /* of the process, since boot */
};
struct ended_process {
	abi_u64 cpu_ns; /* CPU time of all its threads; 0: not yet known */
	abi_u32 pid;
	abi_u32 pad;
};

/*
 * Unwind tables (bpf/unwind.bpf.h, user/source/unwind/tables.h): the rows of all files, one file
 * after the other, and for each UNWIND_PAGE_SIZE bytes of a file's code the range of rows to
 * search. Files are identified by device (in the kernel's encoding: major << 20 | minor) and inode.
 */
#define UNWIND_PAGE_SHIFT 10
#define UNWIND_PAGE_SIZE  (1u << UNWIND_PAGE_SHIFT)
#define UNWIND_FILE_MAX   16384
#define UNWIND_EXACT_MAX  16384

struct unwind_page {
	abi_u32 first; /* index of the row that covers the first byte of the page */
	abi_u32 last;  /* index of the last row that starts in the page; at least `first` */
};

/* The vdso has no file, but it has a table: it uses this inode. */
#define VDSO_INODE ~0ULL

struct unwind_file_key {
	abi_u64 inode;
	abi_u32 device; /* VDSO_INODE: its word size in bytes */
	abi_u32 pad;
};

struct unwind_file {
	abi_u32 pages;      /* index of its first page entry; unique per file; 0: no table */
	abi_u32 first_page; /* file offset >> UNWIND_PAGE_SHIFT */
	abi_u32 page_count;
	abi_u32 known; /* 0: no table has been looked for yet */
};

/* Rows of single instructions that are not in the tables of call sites. */
struct unwind_exact_key {
	abi_u32 pages;  /* unwind_file.pages of the file */
	abi_u32 offset; /* file offset */
};

/*
 * What is known about a process's code, per 64 KiB of address space: the executable mapping, and
 * the table of its file. Valid as long as the generation is the current one of the process; without
 * a table, only until the next table is published.
 */
#define CODE_REGION_SHIFT 16
#define CODE_REGION_FILL  64 /* regions of a mapping that are filled in advance */
#define CODE_GENERATIONS  4096

struct code_region {
	abi_u64 region; /* address >> CODE_REGION_SHIFT */
	abi_u32 pid;
	abi_u32 generation;
};

struct code_mapping {
	abi_u64 start;
	abi_u64 size;
	abi_u64 to_offset;       /* address + to_offset = file offset */
	struct unwind_file file; /* pages: 0 if there is no table */
	abi_u32 generation;
	abi_u32 published;
};

/* The state of a traced process. */
struct process_state {
	abi_u64 losses[LOSS_COUNT];
};

#define PROCESSES_NAMED   1024  /* limit of traced processes: named ones … */
#define PROCESSES_FOUND   32768 /* … and found ones */
#define FORKS_DEFERRED    1024  /* deferred forks, which did not fit into the ring buffer … */
#define EXECS_DEFERRED    256   /* … deferred execs … */
#define MAPPINGS_DEFERRED 1024  /* … and processes with deferred mappings */

/* Which processes are traced. */
enum scope {
	SCOPE_NAMED = 0, /* only those that user space adds */
	SCOPE_FAMILY,    /* also their children */
	SCOPE_SYSTEM,    /* all that match a selection */
};

/*
 * SCOPE_SYSTEM: the conditions for tracing a program, checked at exec. All wanted conditions must
 * hold. Programs are identified by device and inode (the map `selected_files`), or by a glob for
 * the last component of their path.
 */
#define SELECT_COMM   0x1
#define SELECT_NAME   0x2
#define SELECT_FILE   0x4
#define SELECT_USER   0x8
#define SELECT_CGROUP 0x10
#define GLOB_MAX      64
struct selection {
	abi_u32 wants;       /* SELECT_ */
	abi_u32 user;        /* SELECT_USER: real uid */
	char comm[GLOB_MAX]; /* SELECT_COMM: glob */
	char name[GLOB_MAX]; /* SELECT_NAME: glob */
};

/* How the BPF programs get all mappings of a process. */
enum mappings_by {
	MAPPINGS_ITERATED = 0, /* with the kernel's iterator (Linux 6.7) */
	MAPPINGS_WALKED,       /* from the kernel's maple tree (6.1) */
	MAPPINGS_ASKED,        /* user space is asked to read /proc */
};

/* How the entry of a call passes its arguments to the return. Probed at startup, best first. */
enum pairing {
	PAIRING_SESSION = 0, /* uprobe session cookie (Linux 6.13) */
	PAIRING_TASK,        /* task local storage (5.11) */
	PAIRING_HASH,        /* hash map keyed by thread */
	PAIRING_COUNT,
};

/* Placeholders, not helper numbers: user space replaces them (user/source/bpf/load/calls.h). */
#define CALL_SESSION_WORD 0x5e551000
#define CALL_OWN_STACK    0x5e551001

#define SESSION_MARK_MAX 63 /* see bpf/session.bpf.h */

#define PENDING_MAX 8 /* pending probed calls per thread */

#define ABI_ASSERT(what) _Static_assert(what, #what)
ABI_ASSERT(sizeof(struct record_head) == 24);
ABI_ASSERT(sizeof(struct record_call) == 56);
ABI_ASSERT(sizeof(struct record_free) == 40);
ABI_ASSERT(sizeof(struct record_release) == 72);
ABI_ASSERT(sizeof(struct record_begin) == 72);
ABI_ASSERT(sizeof(struct record_stack) == 40);
ABI_ASSERT(sizeof(struct record_stack_dump) == 80 + 8 * (STACK_MAX_FRAMES + 1));
ABI_ASSERT(sizeof(struct record_mapping) == 320);
ABI_ASSERT(sizeof(struct record_exec) == 584 + EXEC_COMMAND_SIZE);
ABI_ASSERT(sizeof(struct record_exit) == 32 + 8 * LOSS_COUNT);
ABI_ASSERT(sizeof(struct record_exit) <= sizeof(struct record_exec)); /* bpf/deferred.bpf.h */
ABI_ASSERT(sizeof(struct record_fork) == 56);
ABI_ASSERT(sizeof(struct ended_key) == 16);
ABI_ASSERT(sizeof(struct ended_process) == 16);
ABI_ASSERT(sizeof(struct unwind_page) == 8);
ABI_ASSERT(sizeof(struct unwind_file_key) == 16);
ABI_ASSERT(sizeof(struct unwind_file) == 16);
ABI_ASSERT(sizeof(struct unwind_exact_key) == 8);
ABI_ASSERT(sizeof(struct code_region) == 16);
ABI_ASSERT(sizeof(struct code_mapping) == 48);

#endif
