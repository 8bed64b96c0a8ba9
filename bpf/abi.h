/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs and user space say to each other: records in the ring buffer, the attach
 * cookie, configuration and loss counters. Included by both sides; every width is fixed, and every
 * layout asserted, so that a 32-bit and a 64-bit build agree.
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
 * Canonical allocation functions. The row of each (symbols, argument positions, family) is in
 * user/api/api.c. Values travel in records and files: only ever append.
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
	API_MMAP_LIBC, /* derived: an mmap whose direct caller is the C library itself */
	API_COUNT,
};

/* What kind of memory a call deals with; decides which calls nest in which. */
enum api_family {
	FAMILY_HEAP = 0, /* malloc and new families: sites, totals, live */
	FAMILY_MAP = 1,  /* mmap family: mappings */
	FAMILY_COUNT,
};

/*
 * The attach cookie of a probe: all that the generic programs must know about the call, so that
 * they need no map lookup. Bits:
 *   0..7 api   8..11 size argument   12..15 count argument   16..19 old-pointer argument
 *   20..23 out-pointer argument   24..31 COOKIE_ flags   32..39 which allocator (frees)
 * An argument position is 0-based; COOKIE_NO_ARG where the call has none.
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

#define COOKIE_FLAG_MAP     0x1  /* FAMILY_MAP: a failed result is a negative errno or MAP_FAILED */
#define COOKIE_FLAG_BEGIN   0x2  /* emit RECORD_BEGIN at entry, RECORD_END at return */
#define COOKIE_FLAG_FREE    0x4  /* emit RECORD_FREE at entry; no return probe */
#define COOKIE_FLAG_UNMAP   0x8  /* the result is a status (0 is success), not an address */
#define COOKIE_FLAG_CALLER  0x10 /* free: read the direct caller too */
#define COOKIE_FLAG_ANYBODY 0x20 /* in every process, for those without first thread */
#define COOKIE_FLAG_LEAF    0x40 /* calls no heap function that is probed: see bpf/thin.bpf.h */

/* Instead of a cookie: each place of the probe has one of its own
 * (user/source/bpf/events/events.h). */
#define COOKIE_OF_PLACE (~(abi_u64)0)

/*
 * The cookie of an operator's mark (bpf/sanity.bpf.h) has the function's place besides:
 *   32..39 how far behind its first byte the probe is   40..63 its bytes
 * and in the place of the count the position of the alignment.
 */
#define COOKIE_MARK_OFFSET(c) (((c) >> 32) & 0xff)
#define COOKIE_MARK_SIZE(c)   ((c) >> 40)

/* free(pointer), nothing else asked for: has a BPF program of its own. */
#define COOKIE_PLAIN_FREE ((abi_u64)API_FREE | 0xf0ff00 | (abi_u64)COOKIE_FLAG_FREE << 24)

/*
 * Where a return probe would be wrong, a call is watched at its exits: the instructions by which
 * the function can be left (user/symbol/probe_site/exit_search.c). The attach cookie of such a
 * probe.
 */
enum exit_kind {
	EXIT_RETURN = 0, /* a `ret`: the result is there, the stack as at the entry */
	EXIT_HANDS_OVER, /* a jump to another function that is probed, and tells the rest */
	EXIT_COUNT,
};

enum record_kind {
	RECORD_ALLOC = 1,   /* struct record_call; address = result, size = asked for */
	RECORD_FREE,        /* struct record_free */
	RECORD_BEGIN,       /* struct record_begin */
	RECORD_END,         /* struct record_call; address = result, size = asked for */
	RECORD_STACK,       /* struct record_stack, sent before the first record that names it */
	RECORD_MAPPING,     /* struct record_mapping: one executable mapping, as it is now */
	RECORD_EXEC,        /* struct record_exec: a new image; its mappings follow */
	RECORD_EXIT,        /* struct record_exit: the last thread is gone */
	RECORD_THREAD_ENDS, /* struct record_head: the C library begins to clean up a thread */
	RECORD_THREAD_GONE, /* struct record_head: a thread is gone, others run on */
	RECORD_SLICE,       /* struct record_slice: a stack to be finished in user space */
	RECORD_FORK,        /* struct record_fork: a child that is traced from here on */
	RECORD_LEAVE,       /* struct record_exit: it runs on, but nobody asked for its new image */
	RECORD_LEADER_GONE, /* struct record_head: the first thread is gone, others run on */
	RECORD_RELEASE,     /* struct record_release: RECORD_FREE, told at length */
	RECORD_HELD,        /* struct record_head: it stands until its new mappings were seen */
	RECORD_AT_END, /* struct record_head: all threads stand at the beginning of their exits */
};

#define RECORD_FLAG_FAILED    0x1 /* the call failed; for heap calls with size 0: it returned NULL */
#define RECORD_FLAG_TRUNCATED 0x2  /* RECORD_STACK: the stack is known to go on */
#define RECORD_FLAG_GUESSED   0x8  /* RECORD_STACK: a frame pointer was believed on the way */
#define RECORD_FLAG_NARROW    0x40 /* RECORD_SLICE, RECORD_EXEC: of 32-bit code, a 32-bit program */

/* RECORD_FREE: which of the process's allocators frees, in the upper half of the flags. */
#define RECORD_OBJECT_SHIFT 8

/* With --sanity, of RECORD_ALLOC, RECORD_END and RECORD_RELEASE: the operator that made the call.
 */
#define RECORD_FLAG_OPERATOR(api) ((abi_u16)((api) << 8))
#define RECORD_OPERATOR(flags)    ((flags) >> 8) /* enum api, OPERATOR_UNKNOWN, or 0 for none */
#define OPERATOR_UNKNOWN          0xff

/*
 * With --sample, of RECORD_ALLOC, RECORD_BEGIN and RECORD_END, in the place of the operator: by
 * which mean the call was chosen, its level + 1 (a level is twice the mean of the one below), or
 * that its new block is not told. 0: every call was. What is told of frees: see bpf/thin.bpf.h.
 */
#define RECORD_FLAG_SAMPLE(sample) ((abi_u16)((sample) << 8))
#define RECORD_SAMPLE(flags)       ((flags) >> 8)
#define SAMPLE_LEVELS              32
#define SAMPLE_NOT                 63u
#define TOLD_BITS                  22
#define TOLD_BYTES                 (1u << TOLD_BITS)

/* What there is to know of a mean (bpf/sample.h). */
struct sample_rate {
	abi_u64 inverse; /* 2^SAMPLE_POINT / mean */
	abi_u64 limit;   /* from that many bytes on all are told */
};

struct record_head {
	abi_u8 kind; /* enum record_kind */
	abi_u8 api;  /* enum api */
	abi_u16 flags;
	abi_u32 pid;
	abi_u32 tid;
	abi_u32 length; /* bytes of the whole record */
	abi_u64 time_ns;
};

struct record_call {
	struct record_head head;
	abi_u64 address;
	abi_u64 size;
	abi_u64 caller; /* the direct caller's return address */
	abi_u64 stack;  /* id of a RECORD_STACK; 0 where stacks are off or lost */
};

struct record_free {
	struct record_head head;
	abi_u64 address;
	abi_u64 caller; /* 0 unless COOKIE_FLAG_CALLER asked for it: reading costs more than all
			   else */
};

/* With --sanity, instead of struct record_free. */
#define SIZE_UNTOLD (~(abi_u64)0)
struct record_release {
	struct record_head head;
	abi_u64 address;
	abi_u64 caller;
	abi_u64 stack;
	abi_u64 size;   /* that sized delete was told, or SIZE_UNTOLD … */
	abi_u64 slack;  /* … and by how much the block may be larger, its alignment less 1 */
	abi_u32 object; /* which of the process's allocators frees */
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
	STOP_END = 0,  /* the outermost frame was reached */
	STOP_DEPTH,    /* --depth frames taken */
	STOP_UNKNOWN,  /* the walk could not tell (frame pointers cannot) */
	STOP_NO_TABLE, /* code without call frame information, and no plausible frame pointer */
	STOP_NO_ROW,   /* a rule that no row can express, or that needs a register that is lost */
	STOP_NO_CODE,  /* the return address does not lie in executable memory: not a stack */
	STOP_READ,     /* the stack could not be read */
	STOP_PROBE,    /* another tool's return probe has replaced the return address */
	STOP_SIGNAL,   /* a frame that a signal interrupted: tables know call sites alone */
	STOP_BUSY,     /* the process was changing its mappings */
	STOP_LATE,     /* the code's table was not there yet */
	STOP_SLICE,    /* the piece of stack that user space was given ends there */
	STOP_COUNT,
};

/* Marks a frame that no call left: one that a signal interrupted, and the trampoline by which its
 * handler returns. The address is that of the next instruction, not of one behind a call. */
#define STACK_EXACT (1ULL << 63)

#define STACK_MAX_FRAMES 127
struct record_stack {
	struct record_head head;
	abi_u64 id;
	abi_u32 count; /* 64-bit return addresses that follow; the first is the direct caller */
	abi_u32 stop;  /* enum stack_stop */
};

/*
 * A walk that had to stop where user space can go on: the frames so far, the registers of the
 * next one, and the stack above it. With STOP_SIGNAL that next frame was interrupted, and is not
 * among the frames; else it is the last of them.
 */
#define SLICE_PAGES 3
#define SLICE_BYTES (SLICE_PAGES * 4096)
struct record_slice {
	struct record_head head;
	abi_u64 id; /* of this one sample */
	abi_u32 count;
	abi_u32 stop;
	abi_u64 ip;
	abi_u64 sp; /* where the bytes were read */
	abi_u64 bp;
	abi_u64 bp_place; /* enum unwind_bp_place (arch/unwind.h) */
	abi_u64 size;     /* bytes of the stack that follow the frames */
	/* The place that no frame can have is for the link register, where there is one; 0: it is
	 * not known. */
	abi_u64 frames[STACK_MAX_FRAMES + 1];
};

#define SLICE_LINK STACK_MAX_FRAMES /* in `frames` */

/*
 * A path as the kernel keeps it: the names of its components, the last first, each ended by NUL,
 * an empty one at the end. Up to the root of the mount namespace; cut short if it is too long.
 */
#define PATH_NAMES_SIZE 256
#define NAME_SIZE_MAX   64 /* of one, with its NUL; longer ones are cut */
#define PATH_DEPTH_MAX  32 /* components */
struct record_mapping {
	struct record_head head;
	abi_u64 start; /* addresses, bytes */
	abi_u64 end;
	abi_u64 offset; /* in the file, bytes */
	abi_u64 inode;  /* 0: anonymous */
	abi_u32 dev_major;
	abi_u32 dev_minor;
	char names[PATH_NAMES_SIZE];
};

#define RECORD_FLAG_BY_THREAD 0x4 /* RECORD_EXEC: not by the first thread */
#define COMM_SIZE             16
#define EXEC_PATH_SIZE        256
#define EXEC_COMMAND_SIZE     512
struct record_exec {
	struct record_head head;
	abi_u64 start_time_ns; /* of the process, since boot; 0: it stands still, ask /proc */
	abi_u64 filtered;      /* LOSS_FILTERED of the image before, which begins anew */
	abi_u32 parent;
	abi_u32 inner; /* its own number, in a pid namespace further inside than ours; or 0 */
	char comm[COMM_SIZE];
	char path[EXEC_PATH_SIZE]; /* of the image, or of a script's interpreter; as it was given …
				    */
	char names[PATH_NAMES_SIZE]; /* … and as the kernel keeps it */
	abi_u64 command_size;        /* bytes of the command line, also those that had no room: */
	char command[EXEC_COMMAND_SIZE]; /* its words, each ended by NUL */
};

#define RECORD_FLAG_NEWBORN 0x10 /* RECORD_EXEC: traced from this image on */
#define RECORD_FLAG_SHARED  0x20 /* RECORD_FORK: the child runs in its parent's memory */

/* The head's pid is the child's, its tid that of the thread that forked. */
struct record_fork {
	struct record_head head;
	abi_u64 start_time_ns; /* since boot */
	abi_u32 parent;
	abi_u32 pad;
	char comm[COMM_SIZE];
};

/* What BPF failed to see or to say; a counter each, for each process. */
enum loss {
	LOSS_EVENTS = 0, /* the ring buffer was full */
	LOSS_STACKS,     /* a stack could not be read or stored: the event came without one */
	LOSS_NO_RETURN,  /* a call whose return could not be watched: its event is missing */
	LOSS_NO_STATE,   /* no memory for the thread's pending calls */
	LOSS_READ,       /* memory of the target could not be read */
	LOSS_CHILDREN,   /* a child could not be followed: too many processes */
	LOSS_GAP_NS,     /* time in which somebody else had taken our probes */
	LOSS_FILTERED,   /* no loss: allocations that --min-size and --max-size leave out */
	LOSS_COUNT,
};

struct record_exit {
	struct record_head head;
	abi_u32 code; /* as wait(2) gives it */
	abi_u32 pad;
	abi_u64 losses[LOSS_COUNT]; /* all there were */
};

/* Of a process that has ended (bpf/ended.bpf.h). */
#define ENDED_MAX 16384
struct ended_key {
	abi_u64 task;          /* where the first thread lay; another one may by now */
	abi_u64 start_time_ns; /* of the process, since boot */
};
struct ended_process {
	abi_u64 cpu_ns; /* that all its threads had of processors; 0: not yet known */
	abi_u32 pid;
	abi_u32 pad;
};

/*
 * Unwind tables (bpf/unwind.bpf.h, user/source/unwind/tables.h): rows of all files one behind the
 * other, and for each UNWIND_PAGE_SIZE bytes of a file's code the rows to search. Files are known
 * by device (as the kernel encodes it: major << 20 | minor) and inode.
 */
#define UNWIND_PAGE_SHIFT 10
#define UNWIND_PAGE_SIZE  (1u << UNWIND_PAGE_SHIFT)
#define UNWIND_FILE_MAX   16384
#define UNWIND_EXACT_MAX  16384

struct unwind_page {
	abi_u32 first; /* index of the row that holds at the page's first byte */
	abi_u32 last;  /* of the last row that starts in the page, else the first */
};

/* The vdso has no file; but it has a table, and stands for itself. */
#define VDSO_INODE ~0ULL

struct unwind_file_key {
	abi_u64 inode;
	abi_u32 device; /* of VDSO_INODE: its word, in bytes */
	abi_u32 pad;
};

struct unwind_file {
	abi_u32 pages;      /* index of the first one's entry, what tells files apart; 0: none */
	abi_u32 first_page; /* file offset >> UNWIND_PAGE_SHIFT */
	abi_u32 page_count;
	abi_u32 known; /* 1; where nobody has looked for a table yet, 0 */
};

/* Rows of single instructions, which the tables of call sites do not have. */
struct unwind_exact_key {
	abi_u32 pages;  /* of the file */
	abi_u32 offset; /* in it */
};

/*
 * What is known of a process's code, by 64 KiB of address space: executable memory, and the table
 * of the file that is mapped there. It holds as long as the generation is the process's present
 * one; without a table, as long as no table was published since.
 */
#define CODE_REGION_SHIFT 16
#define CODE_REGION_FILL  64 /* regions of a mapping that are told in advance */
#define CODE_GENERATIONS  4096

struct code_region {
	abi_u64 region; /* address >> CODE_REGION_SHIFT */
	abi_u32 pid;
	abi_u32 generation;
};

struct code_mapping {
	abi_u64 start;
	abi_u64 size;
	abi_u64 to_offset;       /* what to add to an address for the offset in the file */
	struct unwind_file file; /* pages: 0 if there is no table */
	abi_u32 generation;
	abi_u32 published;
};

/* What BPF knows of a traced process. */
struct process_state {
	abi_u64 losses[LOSS_COUNT];
};

#define PROCESSES_NAMED 1024  /* traced at once: those that were named … */
#define PROCESSES_FOUND 32768 /* … and those that are found */
#define BIRTHS_UNTOLD   1024  /* that had no room in the ring buffer, and were not found yet … */
#define EXECS_UNTOLD    256   /* … likewise; … */
#define MAPPINGS_UNTOLD 1024  /* … processes with such mappings */

/* Which processes are traced. */
enum scope {
	SCOPE_NAMED = 0, /* those that user space enters */
	SCOPE_FAMILY,    /* and their children */
	SCOPE_SYSTEM,    /* all that a selection lets through */
};

/*
 * Of SCOPE_SYSTEM: what a program must be to be traced; asked when it is executed. All that are
 * wanted must hold. Programs are known by device and inode (the map `selected_files`), or by a glob
 * for the last part of their path.
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

/* How the kernel side comes by all mappings of a process. */
enum mappings_by {
	MAPPINGS_ITERATED = 0, /* by the kernel's iterator (Linux 6.7) */
	MAPPINGS_WALKED,       /* by their tree (6.1) */
	MAPPINGS_ASKED,        /* not at all: user space is asked to read /proc */
};

/* How the entry of a call hands its arguments to the return: probed at start, best first. */
enum pairing {
	PAIRING_SESSION = 0, /* uprobe session cookie (Linux 6.13) */
	PAIRING_TASK,        /* task local storage (5.11) */
	PAIRING_HASH,        /* hash map keyed by thread */
	PAIRING_COUNT,
};

/* No helper has these numbers. User space replaces them (user/source/bpf/load/calls.h). */
#define CALL_SESSION_WORD 0x5e551000
#define CALL_OWN_STACK    0x5e551001

#define SESSION_MARK_MAX 63 /* see bpf/session.bpf.h */

#define PENDING_MAX 8 /* nested probed calls remembered per thread */

#define ABI_ASSERT(what) _Static_assert(what, #what)
ABI_ASSERT(sizeof(struct record_head) == 24);
ABI_ASSERT(sizeof(struct record_call) == 56);
ABI_ASSERT(sizeof(struct record_free) == 40);
ABI_ASSERT(sizeof(struct record_release) == 72);
ABI_ASSERT(sizeof(struct record_begin) == 72);
ABI_ASSERT(sizeof(struct record_stack) == 40);
ABI_ASSERT(sizeof(struct record_slice) == 80 + 8 * (STACK_MAX_FRAMES + 1));
ABI_ASSERT(sizeof(struct record_mapping) == 320);
ABI_ASSERT(sizeof(struct record_exec) == 584 + EXEC_COMMAND_SIZE);
ABI_ASSERT(sizeof(struct record_exit) == 32 + 8 * LOSS_COUNT);
ABI_ASSERT(sizeof(struct record_exit) <= sizeof(struct record_exec)); /* bpf/untold.bpf.h */
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
