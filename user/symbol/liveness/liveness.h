/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Liveness of stack words: which words of a stopped function's frame, and which callee-saved
 * registers, can the function still read? A word that it cannot read is a leftover, and keeps no
 * block alive.
 *
 * The function that covers an instruction is its FDE. From the instruction at which the frame goes
 * on, a search follows every path. A path ends where the word is read (READ), where it is
 * overwritten, or where the function returns. Operands become offsets from the CFA by the CFI row
 * of their instruction; where the row is by the frame pointer, the stack pointer is tracked.
 * Jumps into other functions are followed if those continue the frame (cold parts).
 *
 * Everything that is not proven dead is READ or UNKNOWN: code without an FDE, signal frames, CFAs
 * by expression, functions with calls that return twice, indirect jumps,
 * operands whose place is not known. If a function takes the address of a place in its frame, all
 * words from there on upwards are UNKNOWN; if it copies sp or indexes the frame, all words are.
 *
 * Assumptions, which compilers keep but hand-written code may break:
 * - CFI rows are correct, and callees follow the calling convention: they restore callee-saved
 *   registers, and read none of them as an argument (on i386, %ebx may be one).
 * - A pointer into the frame leads to nothing below the lowest address that the function takes,
 *   except for words that the function itself writes and never reads: those are UNKNOWN then.
 * - Nothing resumes a frame except by return, by an exception handler, or by a function that
 *   returns twice: setjmp, getcontext and vfork are recognised by name in relocations, and by
 *   their code (they read their own return address) in direct calls.
 * - Exceptions come from calls only (not -fnon-call-exceptions), and their tables have the format
 *   that gcc, clang and rustc write.
 * - Behind a call that ends a function nothing runs: the callee does not return.
 *
 * x86-64 and i386 only; for other machines everything is unknown. Not thread-safe.
 */
#ifndef MTRACE_SYMBOL_LIVENESS_LIVENESS_H
#define MTRACE_SYMBOL_LIVENESS_LIVENESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "symbol/liveness/verdict.h"

struct frame_liveness {
	bool known;     /* if false, all words of the frame and all registers of the caller count as
			   read */
	bool cfa_by_bp; /* the CFA is bp + cfa_offset; else sp + cfa_offset */
	int32_t cfa_offset; /* bytes */
	/* Where the caller's registers are saved, relative to the CFA; 0: still in the register. */
	int32_t saved[LIVENESS_SAVED];
	uint8_t registers[LIVENESS_SAVED]; /* enum liveness of their contents now */
};

struct module_liveness; /* the code of one module; caches functions */

/*
 * Maps the file; `fd` stays the caller's. If the file is truncated meanwhile, SIGBUS ends this
 * process. Returns 0 or -errno: -ENOEXEC for what is not ELF, -ENOTSUP for other machines.
 */
int liveness_open(int fd, struct module_liveness **ret, struct error *err);
void liveness_close(struct module_liveness *liveness);

/*
 * `offset` is the file offset of the instruction at which the frame goes on: a return address, or,
 * of a frame that was `interrupted`, the instruction to run next.
 */
void liveness_frame(struct module_liveness *liveness, uint64_t offset, bool interrupted,
		    struct frame_liveness *ret);

/*
 * Can the function still read the word (of the module's size) at CFA + cfa_offset?
 *
 * Two kinds of words need more questions than this. Offsets from 0 up are arguments on the stack,
 * which belong to the caller's frame: such a word is dead if it is for both functions. The slot of
 * a saved register (frame_liveness.saved) is restored, which counts as a read here: ask what the
 * caller's frame does with that register (frame_liveness.registers). If it passes the register on,
 * ask the next frame.
 */
enum liveness liveness_slot(struct module_liveness *liveness, uint64_t offset, bool interrupted,
			    int32_t cfa_offset);

#endif
