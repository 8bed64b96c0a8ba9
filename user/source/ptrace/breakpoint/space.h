/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An address space that has breakpoints of ours: of one process, or of several (vfork). It is held
 * by a descriptor of /proc/PID/mem, so it stays the same whatever becomes of the process.
 *
 * A breakpoint is never lifted while the process is traced: threads that run would slip past. What
 * it hides is kept with it (arch/arch.h has what is done with that).
 */
#ifndef MTRACE_SOURCE_PTRACE_BREAKPOINT_SPACE_H
#define MTRACE_SOURCE_PTRACE_BREAKPOINT_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/arch.h"
#include "base/map64.h"
#include "base/vec.h"
#include "bpf/abi.h"
#include "source/process/probe_request.h"

/* One address may be an entry, an exit and a return address. */
struct breakpoint {
	uint64_t address; /* 0: taken out again */
	uint32_t kinds;   /* set of (1 << enum probe_kind) */
	bool returns;     /* calls that are watched return here */
	uint64_t met_ns;  /* a thread has met it, or it was placed, then or later */
	uint64_t cookies[PROBE_KINDS];
	uint8_t mode;                /* of the code: arch/arch.h */
	uint8_t code[ARCH_CODE_MAX]; /* what is there without breakpoints */
};

struct stack_range {
	uint64_t start, end;
};

struct space {
	const struct arch *arch; /* of the image; NULL before it was looked at */
	bool narrow;             /* its code is of 32 bits */
	int fd;
	uint32_t users;
	struct map64 index; /* address → index into breakpoints */
	VEC(struct breakpoint) breakpoints;
	VEC(struct code_mapping) code;  /* executable mappings, as user space told them */
	VEC(struct stack_range) stacks; /* mappings in which stacks were seen */
	uint64_t slot; /* code that nobody executes any more, for copies of instructions; 0 */
};

/* Of a process that we trace, by any of its living threads. 0 or -errno. */
int space_open(struct space **ret_memory, pid_t tid);
/* The copy that a fork has made: the same breakpoints are in it. 0 or -errno. */
int space_fork(struct space **ret_memory, const struct space *parent, pid_t child);
void space_unref(struct space *memory); /* NULL is fine */

/* 0, or -EFAULT if not all of it is there. */
int space_read(const struct space *memory, uint64_t address, void *bytes, size_t size);
int space_write(const struct space *memory, uint64_t address, const void *bytes, size_t size);
/* How many bytes could be read from the start. */
size_t space_read_some(const struct space *memory, uint64_t address, void *bytes, size_t size);

/* As emulated instructions see it. */
struct arch_memory space_as_memory(struct space *memory);

/* NULL if there is none. Valid until the next one is placed. */
struct breakpoint *breakpoint_find(const struct space *memory, uint64_t address);
/*
 * Place one, or give one that is there another kind. `pointer` is to code: it says its mode
 * (arch/arch.h). 0; -EEXIST if the byte there is not `original`; -EOPNOTSUPP for an instruction
 * that cannot be stepped over; -EFAULT; -ENOMEM.
 */
int breakpoint_place(struct space *memory, uint64_t pointer, enum probe_kind kind, uint64_t cookie,
		     int original);
/* Where a call returns to; `narrow` as the thread is that calls. */
int breakpoint_place_return(struct space *memory, uint64_t pointer, bool narrow);
/* Does what is there trap? If not, nobody can have met a breakpoint there lately. */
bool space_traps(const struct space *memory, uint64_t address, int mode);
/* Does the code lie there bare, with nobody's breakpoint in it? Then ours is put there again. */
bool breakpoint_restore(struct space *memory, struct breakpoint *breakpoint);
/* Is ours what is there? Not if the code was unmapped, and something else took its place. */
bool breakpoint_stands(const struct space *memory, const struct breakpoint *breakpoint);

/* Put the original code back everywhere. The table stays, for children that were forked before. */
void breakpoints_remove(struct space *memory);
/* Forget those whose code was unmapped: something else is there, or nothing. */
void breakpoints_forget_unmapped(struct space *memory);

/* Are both addresses on one stack: in one mapping? */
bool space_is_same_stack(struct space *memory, pid_t pid, uint64_t sp, uint64_t other);

/* The mapping of code at an address, or NULL. */
const struct code_mapping *code_find(const struct space *memory, uint64_t address);

#endif
