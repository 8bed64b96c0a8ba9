/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classifies called code: functions that return twice, PLT stubs, and ordinary functions. */
#ifndef MTRACE_SYMBOL_LIVENESS_CALLEE_H
#define MTRACE_SYMBOL_LIVENESS_CALLEE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"
#include "symbol/liveness/code.h"
#include "symbol/probe_site/x86_code.h"

enum liveness_callee {
	LIVENESS_CALLEE_ORDINARY,
	LIVENESS_CALLEE_STUB,  /* only jumps through a pointer, to another module */
	LIVENESS_CALLEE_TWICE, /* returns twice, like setjmp */
};

struct liveness_callees {
	const struct liveness_code *code;
	struct x86_walk walk;
	struct function_code bytes; /* the code being walked */
	VEC(uint64_t) twice; /* addresses of pointers to functions that return twice, sorted */
	uint64_t got;        /* value of %ebx in position-independent i386 code */
	struct map64 known;  /* target → enum liveness_callee */
	uint64_t cost;       /* of all decoding: instructions, or work that takes about as long */
};

/*
 * Returns 0, -ENOMEM, or -ENOEXEC for invalid relocations. `code` must outlive it. Call
 * liveness_callees_close() also after a failure.
 */
int liveness_callees_open(struct liveness_callees *callees, const struct liveness_code *code);
void liveness_callees_close(struct liveness_callees *callees);

enum liveness_callee liveness_callee(struct liveness_callees *callees, uint64_t target);

/* Returns true if the current instruction of a walk calls, through a pointer, a function that
 * returns twice. */
bool liveness_callee_is_twice_by_pointer(const struct liveness_callees *callees,
					 const struct x86_walk *walk);

#endif
