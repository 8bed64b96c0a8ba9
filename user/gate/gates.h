/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gates of a module in a process: the functions, the code that their jumps lead to, and the
 * data of that code (stub/abi.h).
 *
 * A call is sampled after it has returned to its gate, which then passes a probe site: a nop in the
 * mapped code, where the caller of these functions can place a uprobe. bpf/abi.h (GATE_FRAME) says
 * what is there in the registers and on the stack.
 */
#ifndef MTRACE_GATE_GATES_H
#define MTRACE_GATE_GATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch/gate.h"
#include "base/error.h"
#include "gate/place/place.h"
#include "stub/abi.h"

#define GATES_NO_OTHER SIZE_MAX

/* A function that gets a gate. Addresses are those in the process. */
struct gate_function {
	enum stub_kind kind;
	uint64_t start, end;
	uint64_t site;     /* of the jump */
	uint64_t offset;   /* of the jump in the module's file */
	uint8_t displaced; /* bytes */
	uint8_t original[GATE_DISPLACED_MAX];
	size_t other; /* for STUB_NEW and STUB_NEW_ALIGNED: index of the function that is called
			 instead (gate/template.h); otherwise GATES_NO_OTHER */
};

struct gates_config {
	uint16_t machine;   /* e_machine */
	uint64_t low, high; /* of the module's mappings: what its instructions may refer to */
	uint64_t file_size; /* of the module, bytes */
	uint64_t mean;      /* bytes per sample at level 0 */
	uint64_t blocks;    /* sampled blocks to have room for: 2/3 of the room */
	/* Other functions whose calls of these are part of their own work. */
	const struct stub_range *callers;
	size_t caller_count;
};

struct gates;

/*
 * Places gates at all functions, or at none. They sample nothing until gates_sample(). Returns 0 or
 * -errno with a message of one line, also those of gate_place(); -ENOTSUP if a function cannot have
 * a gate at the place that was found.
 */
int gates_place(struct gates **ret_gates, pid_t pid, const struct gate_function *functions,
		size_t count, const struct gates_config *config, struct error *err);
const struct gate_stop *gates_stop(const struct gates *gates);

/* Opens the file of the mapped code, for probes. Returns a descriptor or -errno. */
int gates_open_code(const struct gates *gates);
/* The offset in that file of a function's probe site; 0: it has none with that number (0 or 1). */
uint64_t gates_probe(const struct gates *gates, size_t function, int number);

/* Returns true if this offset in the module's file is in a page that has been replaced by one of
 * the code's file, where it has the same offset. */
bool gates_replace(const struct gates *gates, uint64_t offset);

/* Samples from now on by this level + 1 (each level doubles the mean), or, if 0, nothing. Returns 0
 * or -errno. */
int gates_sample(const struct gates *gates, uint32_t sample);
/* The number of sampled blocks for which there was no room, so that they are not reported. Returns
 * 0 or -errno. */
int gates_missed(const struct gates *gates, uint64_t *ret_missed);

/* Removes them from the process, unless it is gone, and frees the memory. NULL is fine. Returns 0
 * or -errno; sets *err. */
int gates_remove(struct gates *gates, struct error *err);
/* Only frees the memory: the process is gone or has executed another program. */
void gates_forget(struct gates *gates);

#endif
