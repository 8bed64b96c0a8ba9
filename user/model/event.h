/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a source reports to the model, in chronological order. An event is a decoded record
 * (bpf/abi.h), from any backend, file or socket. Times are CLOCK_MONOTONIC nanoseconds. Pointers in
 * an event are valid only during the call that delivers it.
 */
#ifndef MTRACE_MODEL_EVENT_H
#define MTRACE_MODEL_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "api/api.h"
#include "model/origin.h"

enum event_kind {
	EVENT_PROCESS, /* a process is traced from here on */
	EVENT_FORK,    /* pid is a new child of a traced process; tid is the thread that forked */
	EVENT_EXEC,    /* pid executed a program: same fields as EVENT_PROCESS */
	EVENT_EXIT,
	EVENT_LEAVE,        /* pid is no longer traced, but still runs */
	EVENT_LOSSES,       /* drops of the process so far; replaces earlier ones */
	EVENT_THREAD_EXITS, /* tid is exiting and frees its cache: it may free what is not live */
	EVENT_THREAD_GONE,  /* tid has exited and may be reused */
	EVENT_MAPPING, /* an executable mapping in its current state; replaces what was there */
	EVENT_WRAPPER, /* code of a function that calls an allocator for its caller (operator new)
			*/
	EVENT_STACK,   /* precedes the first call that refers to it */
	EVENT_ALLOC,   /* a finished allocation (failed with EVENT_FLAG_FAILED) */
	EVENT_FREE,    /* a free that is about to happen */
	EVENT_BEGIN,   /* begin of realloc, posix_memalign, mmap, munmap or mremap … */
	EVENT_END,     /* … and its end, in the same thread */
	EVENT_KIND_COUNT,
};

#define EVENT_FLAG_FAILED    RECORD_FLAG_FAILED
#define EVENT_FLAG_TRUNCATED RECORD_FLAG_TRUNCATED
#define EVENT_FLAG_GUESSED   RECORD_FLAG_GUESSED
/* EVENT_FREE: by an allocator to which the first one delegates. */
#define EVENT_FLAG_NESTED 0x10
/* Of a call, with --sanity: see RECORD_OPERATOR. */
#define EVENT_OPERATOR(flags) RECORD_OPERATOR(flags)
/* Of a call, with --sample: see RECORD_SAMPLE. */
#define EVENT_SAMPLE(flags) RECORD_SAMPLE(flags)

/* Code of a library that contains probed allocator functions (libc, jemalloc …), so it is not the
 * program's own. */
#define MAPPING_FLAG_ALLOCATOR 0x1

#define MODULE_NONE UINT32_MAX

struct event_process {
	uint64_t start_time_ns; /* since boot, from /proc/PID/stat; unique together with pid */
	uint32_t ppid;
	uint32_t inner_pid; /* its pid in its own pid namespace, or 0 if that is ours */
	enum origin origin;
	bool from_start; /* traced from its first instruction, so every block is known */
	const char *comm;
	const char *exe;
	const char *const *command; /* NULL-terminated */
	const char *arch;
	const char *cgroup;    /* path; NULL for the root */
	const char *container; /* id or name, or NULL */
};

/*
 * A child starts with the state of its parent: memory, image, and only the thread that forked,
 * whose tid in the child is the child's pid.
 */
struct event_fork {
	uint32_t parent;        /* pid */
	uint64_t start_time_ns; /* of the child, since boot: see event_process */
	bool shares_memory; /* vfork, posix_spawn, CLONE_VM: the parent's model serves both until
			       the child calls exec or exits */
	const char *comm;
};

struct event_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* file offset of start */
	uint32_t module; /* id in the module table, or MODULE_NONE for anonymous code */
	uint32_t flags;  /* MAPPING_FLAG_* */
};

struct event_wrapper {
	uint64_t start; /* code addresses [start, end) */
	uint64_t end;
	enum api api; /* api of calls from this code: API_NEW, API_NEW_ARRAY */
};

struct event_stack {
	uint64_t id;
	const uint64_t *frames; /* return addresses, the direct caller first */
	uint32_t count;
	uint32_t stop; /* enum stack_stop */
};

struct event_call {
	uint64_t address; /* ALLOC, END: result; FREE: block */
	uint64_t size;    /* ALLOC, END: requested bytes (posix_memalign: only in BEGIN); FREE: the
			     size passed to sized delete, or SIZE_UNKNOWN … */
	uint64_t slack;   /* … and by how much the block may be larger */
	uint64_t caller;  /* return address of the direct caller; FREE: 0 if not needed */
	uint64_t stack;   /* id, 0 for none */
	uint64_t args[RECORD_BEGIN_ARGS]; /* BEGIN only: see struct record_begin */
};

struct event_exit {
	uint32_t code; /* as from wait(2) */
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
