/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An address space with our breakpoints: of one process, or of several (vfork). It is accessed
 * through a descriptor of /proc/PID/mem, so it stays the same whatever happens to the process.
 *
 * A breakpoint is never removed temporarily while the process is traced: other threads would run
 * past it. The original code is kept with it (see arch/arch.h).
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

/* One address may be an entry, an exit and a return address at the same time. */
struct breakpoint {
	uint64_t address; /* 0: removed */
	uint32_t kinds;   /* bit mask of (1 << enum probe_kind) */
	bool returns;     /* probed calls return here */
	uint64_t hit_ns;  /* last time it was hit or placed, or earlier */
	uint64_t cookies[PROBE_KINDS];
	uint8_t mode;                /* mode of the code: arch/arch.h */
	uint8_t code[ARCH_CODE_MAX]; /* the code without breakpoints */
};

struct stack_range {
	uint64_t start, end;
};

struct space {
	const struct arch *arch; /* of the image; NULL until it has been read */
	bool is_32bit;           /* 32-bit code */
	int fd;
	uint32_t users;
	struct map64 index; /* address → index into breakpoints */
	VEC(struct breakpoint) breakpoints;
	VEC(struct code_mapping) code;  /* executable mappings, from the command */
	VEC(struct stack_range) stacks; /* mappings that contain stacks */
	uint64_t slot;                  /* unused code, for copies of instructions; 0: none */
};

/* Opens the memory of a traced process, by any of its living threads. Returns 0 or -errno. */
int space_open(struct space **ret_memory, pid_t tid);
/* Opens the copy made by a fork, with the same breakpoints. Returns 0 or -errno. */
int space_fork(struct space **ret_memory, const struct space *parent, pid_t child);
void space_unref(struct space *memory); /* accepts NULL */

/* Return 0, or -EFAULT if not all of it is accessible. */
int space_read(const struct space *memory, uint64_t address, void *bytes, size_t size);
int space_write(const struct space *memory, uint64_t address, const void *bytes, size_t size);
/* Returns how many bytes from the start could be read. */
size_t space_read_some(const struct space *memory, uint64_t address, void *bytes, size_t size);

/* The interface for emulated instructions. */
struct arch_memory space_as_memory(struct space *memory);

/* NULL if there is none. Valid until the next one is placed. */
struct breakpoint *breakpoint_find(const struct space *memory, uint64_t address);
/*
 * Places a breakpoint, or adds a kind to an existing one. `pointer` is a code pointer, which
 * includes the mode (arch/arch.h). Returns 0; -EEXIST if the byte there is not `original`;
 * -EOPNOTSUPP for an instruction that cannot be stepped over; -EFAULT; or -ENOMEM.
 */
int breakpoint_place(struct space *memory, uint64_t pointer, enum probe_kind kind, uint64_t cookie,
		     int original);
/* Places one where a call returns to; `is_32bit` is that of the calling thread. */
int breakpoint_place_return(struct space *memory, uint64_t pointer, bool is_32bit);
/* Returns true if the code there traps. If not, nobody can have hit a breakpoint there recently. */
bool space_traps(const struct space *memory, uint64_t address, int mode);
/* If the original code is there, without anybody's breakpoint, places ours again and returns
 * true. */
bool breakpoint_restore(struct space *memory, struct breakpoint *breakpoint);
/* Returns true if our breakpoint is in place: false if the code was unmapped or replaced. */
bool breakpoint_is_set(const struct space *memory, const struct breakpoint *breakpoint);

/* Restores the original code everywhere. Keeps the table, for children forked earlier. */
void breakpoints_remove(struct space *memory);
/* Drops breakpoints whose code was unmapped or replaced. */
void breakpoints_forget_unmapped(struct space *memory);

/* Returns true if both addresses are on the same stack, which is in one mapping. */
bool space_is_same_stack(struct space *memory, pid_t pid, uint64_t sp, uint64_t other);

/* The executable mapping at an address, or NULL. */
const struct code_mapping *code_find(const struct space *memory, uint64_t address);

#endif
