/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gates: the entry of a function is replaced by a jump to code of ours (user/gate/). That code ends
 * with a copy of the instructions that the jump has displaced, and continues behind them. This is
 * the processor's part: what a jump displaces, and a copy that has the same effect elsewhere.
 *
 * The jump is written while all threads are stopped, so it need not be atomic. It must not cut an
 * instruction, and nothing may continue in the middle of it: no branch, no return from a call, and
 * no thread, whose instruction pointer only the caller knows.
 */
#ifndef MTRACE_ARCH_GATE_H
#define MTRACE_ARCH_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GATE_JUMP_MAX      8
#define GATE_DISPLACED_MAX 20 /* one byte less than a jump, and the longest instruction */
#define GATE_COPY_MAX      64

/* Machine code at its address in the process, or at its virtual address in a file. */
struct gate_code {
	const uint8_t *bytes;
	size_t size;
	uint64_t address;
};

/* Where a gate's jump goes. */
struct gate_site {
	uint64_t address; /* the function's, or behind its mark for indirect branches (endbr64) */
	uint8_t size;     /* bytes of whole instructions that the jump displaces */
	bool ends;        /* they end with a jump, so nothing continues behind them */
};

/* Why a function has no gate. */
enum gate_refusal {
	GATE_POSSIBLE,
	GATE_SHORT,     /* the function, or the part that always runs, is shorter than a jump */
	GATE_BOUND,     /* a displaced instruction depends on its place, such as a call */
	GATE_ENTERED,   /* a branch leads into the displaced bytes */
	GATE_OCCUPIED,  /* a breakpoint is there */
	GATE_UNDECODED, /* the function has bytes that are no instructions */
	GATE_FAR,       /* an operand or the target of a branch is out of reach from the copy */
	GATE_NO_MEMORY,
	GATE_REFUSALS
};

struct arch_gate {
	size_t jump_size;
	/* Finds the site of a function, which has all its code. */
	enum gate_refusal (*find)(const struct gate_code *function, struct gate_site *ret_site);
	/*
	 * Returns true if a branch anywhere in `text` may lead into a site behind its first byte.
	 * Instructions may start at any byte, so that data does not hide any; branches of a few
	 * bytes' reach are left to find(), because they do not leave a function.
	 */
	bool (*is_entered)(const struct gate_code *text, const struct gate_site *site);
	/*
	 * Copies the displaced instructions, followed by a jump behind them, for a place `to`.
	 * `displaced` has their bytes, at their address. Returns GATE_POSSIBLE, GATE_BOUND,
	 * GATE_FAR or GATE_NO_MEMORY.
	 */
	enum gate_refusal (*copy)(const struct gate_code *displaced, uint64_t to,
				  uint8_t ret_copy[GATE_COPY_MAX], size_t *ret_size);
	/* Encodes a jump. Returns false if `to` is out of reach. */
	bool (*jump)(uint64_t from, uint64_t to, uint8_t ret_jump[GATE_JUMP_MAX]);
};

extern const struct arch_gate gate_x86_64;

/* Returns the operations for code of a machine (e_machine); NULL if it has no gates. */
const struct arch_gate *arch_gate(uint16_t machine, bool is_32bit);

#endif
