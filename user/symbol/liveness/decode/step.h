/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The effect of an instruction on the frame, the callee-saved registers and the stack pointer. */
#ifndef MTRACE_SYMBOL_LIVENESS_STEP_H
#define MTRACE_SYMBOL_LIVENESS_STEP_H

#include <stdbool.h>
#include <stdint.h>

/* Limit for offsets from the CFA, in bytes; larger ones are hostile, or no offsets. */
#define LIVENESS_OFFSET_MAX (1 << 28)

/* Special values in place of an offset from the CFA. */
#define LIVENESS_NOWHERE INT32_MIN /* bp: does not point into the frame; sp: not seen yet */
#define LIVENESS_LOST    (INT32_MIN + 1)

enum liveness_flow {
	LIVENESS_FLOW_NEXT,
	LIVENESS_FLOW_CALL,
	LIVENESS_FLOW_RETURN,
	LIVENESS_FLOW_STOP, /* never continues */
	LIVENESS_FLOW_JUMP,
	LIVENESS_FLOW_BRANCH,
	LIVENESS_FLOW_TAIL,     /* a jump through a pointer at a fixed address */
	LIVENESS_FLOW_ANYWHERE, /* any other indirect jump */
};

/* How the stack pointer changes. */
enum liveness_sp_change { LIVENESS_SP_ADD, LIVENESS_SP_FROM_BP, LIVENESS_SP_LOSE };

struct liveness_range {
	int32_t at; /* relative to the CFA */
	uint32_t size;
};

static inline bool liveness_ranges_overlap(struct liveness_range a, struct liveness_range b)
{
	return a.size && (int64_t)a.at < (int64_t)b.at + b.size &&
	       (int64_t)b.at < (int64_t)a.at + a.size;
}

struct liveness_step {
	uint64_t target; /* of a direct jump, branch or call; otherwise 0 */
	uint64_t pad;    /* where a call continues if it throws an exception; otherwise 0 */
	uint32_t start;  /* from the function's first byte */
	uint8_t size;
	uint8_t flow;      /* enum liveness_flow */
	uint8_t sp_change; /* enum liveness_sp_change */
	uint8_t reads;     /* bit masks of callee-saved registers, 1 << index */
	uint8_t writes;    /* only if completely and always */
	bool cfa_from_bp;
	bool writes_bp;
	bool reads_frame; /* reads it at an unknown offset */
	int32_t amount;   /* of sp_change */
	int32_t sp, bp;   /* before the instruction, relative to the CFA */
	struct liveness_range read, written;
};

/* The addresses in its frame that a function takes. */
struct liveness_escapes {
	bool opaque;      /* an instruction has unknown effects */
	bool all;         /* any address may escape */
	int32_t local;    /* the lowest one below the return address; INT32_MAX: none */
	int32_t argument; /* the lowest one at or above it; INT32_MAX: none */
};

#endif
