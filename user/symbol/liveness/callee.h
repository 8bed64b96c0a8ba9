/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What matters about called code: does it return twice, is it a stub of the PLT? */
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
	LIVENESS_CALLEE_STUB,  /* jumps through a pointer at once, to another module */
	LIVENESS_CALLEE_TWICE, /* returns twice, like setjmp */
};

struct liveness_callees {
	const struct liveness_code *code;
	struct x86_walk walk;
	struct function_code bytes; /* that are walked */
	VEC(uint64_t) twice; /* addresses of pointers to functions that return twice, sorted */
	uint64_t got;        /* what %ebx holds in position-independent i386 code */
	struct map64 known;  /* target → enum liveness_callee */
	uint64_t cost;       /* of all that was decoded: instructions, and about as long */
};

/*
 * Returns 0, -ENOMEM, or -ENOEXEC for relocations that make no sense. The code must outlive it.
 * liveness_callees_close also after failure.
 */
int liveness_callees_open(struct liveness_callees *callees, const struct liveness_code *code);
void liveness_callees_close(struct liveness_callees *callees);

enum liveness_callee liveness_callee(struct liveness_callees *callees, uint64_t target);

/* Does the present instruction of a walk call a function that returns twice by its pointer? */
bool liveness_callee_is_twice_by_pointer(const struct liveness_callees *callees,
					 const struct x86_walk *walk);

#endif
