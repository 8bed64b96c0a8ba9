/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a source tells the model, in the order in which it happened. An event is a decoded record
 * (bpf/abi.h), whatever backend, file or socket it came from. Times are CLOCK_MONOTONIC
 * nanoseconds. Pointers in an event are valid only during the call that delivers it.
 */
#ifndef MTRACE_MODEL_EVENT_H
#define MTRACE_MODEL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "model/origin.h"

enum event_kind {
	EVENT_PROCESS, /* a process is traced from here on */
	EVENT_FORK,    /* pid is born of a traced process; tid is the thread that forked */
	EVENT_EXEC,    /* pid runs a new image: same fields as EVENT_PROCESS */
	EVENT_EXIT,
	EVENT_LEAVE,       /* pid runs on, but is not traced any more */
	EVENT_LOSSES,      /* what was not seen of the process so far; replaces earlier ones */
	EVENT_THREAD_ENDS, /* tid gives back its cache: it may free what does not live */
	EVENT_THREAD_GONE, /* tid may be used again */
	EVENT_MAPPING,     /* an executable mapping, as it is now; replaces what lay there */
	EVENT_WRAPPER, /* code of a function that calls an allocator for its caller (operator new)
			*/
	EVENT_STACK,   /* sent before the first call that names it */
	EVENT_ALLOC,   /* a finished allocation (or failed: EVENT_FLAG_FAILED) */
	EVENT_FREE,    /* a free that is about to happen */
	EVENT_BEGIN,   /* realloc, posix_memalign, mmap, munmap, mremap begins … */
	EVENT_END,     /* … and ends, in the same thread */
	EVENT_KIND_COUNT,
};

#define EVENT_FLAG_FAILED     RECORD_FLAG_FAILED
#define EVENT_FLAG_TRUNCATED  RECORD_FLAG_TRUNCATED
#define EVENT_FLAG_GUESSED    RECORD_FLAG_GUESSED
#define EVENT_FLAG_NESTED     0x10 /* EVENT_FREE: by another allocator that the first hands on to */
#define EVENT_OPERATOR(flags) RECORD_OPERATOR(flags) /* of a call, with --sanity: see there */
#define EVENT_SAMPLE(flags)   RECORD_SAMPLE(flags)   /* of a call, with --sample: see there */

/* Code of a library that holds probed allocator functions (libc, jemalloc …), and so no program's.
 */
#define MAPPING_FLAG_ALLOCATOR 0x1

#define MODULE_NONE UINT32_MAX

struct event_process {
	uint64_t start_time_ns; /* since boot, from /proc/PID/stat: with pid it is unique */
	uint32_t ppid;
	uint32_t inner_pid; /* its number in its own pid namespace, or 0 where that is ours */
	enum origin origin;
	bool from_start; /* traced from its first instruction: every block is known */
	const char *comm;
	const char *exe;
	const char *const *command; /* NULL-terminated */
	const char *arch;
	const char *cgroup;    /* path; NULL for the root */
	const char *container; /* its id or name, or NULL */
};

/*
 * A child begins with what its parent has: memory, image, and of the threads the one that forked,
 * which has the child's pid as its tid there.
 */
struct event_fork {
	uint32_t parent;        /* pid */
	uint64_t start_time_ns; /* of the child, since boot: see event_process */
	bool shares_memory;     /* vfork, posix_spawn, CLONE_VM: the parent's books serve both until
				   the child execs or ends */
	const char *comm;
};

struct event_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* of start in the file */
	uint32_t module; /* id in the module table, or MODULE_NONE for anonymous code */
	uint32_t flags;  /* MAPPING_FLAG_* */
};

struct event_wrapper {
	uint64_t start; /* code addresses [start, end) */
	uint64_t end;
	enum api api; /* what a call from in there really is: API_NEW, API_NEW_ARRAY */
};

struct event_stack {
	uint64_t id;
	const uint64_t *frames; /* return addresses, the direct caller first */
	uint32_t count;
	uint32_t stop; /* enum stack_stop */
};

struct event_call {
	uint64_t address; /* ALLOC, END: result; FREE: block */
	uint64_t size;    /* ALLOC, END: bytes asked for; posix_memalign: told at BEGIN only;
			     FREE: the size that sized delete was told, or SIZE_UNTOLD … */
	uint64_t slack;   /* … and by how much the block may be larger */
	uint64_t caller;  /* return address of the direct caller; FREE: 0 where it is not needed */
	uint64_t stack;   /* id, 0 for none */
	uint64_t args[RECORD_BEGIN_ARGS]; /* BEGIN only: see struct record_begin */
};

struct event_exit {
	uint32_t code; /* as wait(2) gives it */
};

struct snapshot_losses; /* model/snapshot/snapshot.h */

struct event {
	enum event_kind kind;
	enum api api;
	uint16_t flags;
	uint32_t pid;
	uint32_t tid;
	uint64_t time_ns;
	union {
		struct event_process process;
		struct event_fork fork;
		struct event_mapping mapping;
		struct event_wrapper wrapper;
		struct event_stack stack;
		struct event_call call;
		struct event_exit exit;
		const struct snapshot_losses *losses;
	};
};

#endif
