/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Liveness of stack words: which words of a stopped function's frame, and which callee-saved
 * registers, can the function still read? A word that it cannot read is a leftover, and keeps no
 * block alive.
 *
 * A function is the code of one FDE. From the instruction at which the frame resumes, a search
 * follows every path. A path ends where the word is read (READ), where it is overwritten, or where
 * the function returns. The CFI row of each instruction translates its operands to offsets from the
 * CFA. Where the row is based on the frame pointer, the stack pointer is tracked separately. Jumps
 * into other functions are followed if those continue the frame (cold parts).
 *
 * Everything that is not proven dead is READ or UNKNOWN: code without an FDE, signal frames, CFAs
 * computed by expressions, functions with calls that return twice, indirect jumps, and operands at
 * unknown addresses. If a function takes an address in its frame, all words at and above it are
 * UNKNOWN; if it copies sp or indexes the frame, all words are. A word at or above the stack
 * pointer of a later call that the function only writes may be an argument of that call: UNKNOWN as
 * well.
 *
 * Assumptions, which hold for compilers but may not for hand-written code:
 * - CFI rows are correct, and callees follow the calling convention: they restore callee-saved
 *   registers, and take no arguments in them (except %ebx on i386).
 * - A pointer into the frame is not used to access anything below the lowest address that the
 *   function takes. As a safeguard, words that the function itself writes but never reads are
 *   UNKNOWN.
 * - A frame is only resumed by a return, by an exception handler, or by a function that returns
 *   twice: setjmp, getcontext and vfork are recognised by name in relocations, and by their code
 *   (they read their own return address) in direct calls.
 * - Only calls throw exceptions (no -fnon-call-exceptions), and exception tables have the format
 *   that gcc, clang and rustc write.
 * - A call that is the last instruction of a function does not return.
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
	bool unwound;     /* the CFA and the saved registers are known */
	bool known;       /* also its code; if not, nothing is known about the words of the frame */
	bool cfa_from_bp; /* the CFA is bp + cfa_offset; otherwise sp + cfa_offset */
	int32_t cfa_offset; /* bytes */
	/* Where the caller's registers are saved, in bytes relative to the CFA; 0: still in the
	 * register. */
	int32_t saved[LIVENESS_SAVED];
	uint8_t registers[LIVENESS_SAVED]; /* enum liveness of their current contents */
};

struct module_liveness; /* the code of one module; caches functions */

/*
 * Maps the file; `fd` stays the caller's. Truncating the file meanwhile kills this process with
 * SIGBUS. Returns 0 or -errno: -ENOEXEC if it is not an ELF file, -ENOTSUP for other machines.
 */
int liveness_open(int fd, struct module_liveness **ret, struct error *err);
void liveness_close(struct module_liveness *liveness);

/*
 * `offset` is the file offset at which the frame resumes: a return address or, for an `interrupted`
 * frame, the next instruction.
 */
void liveness_frame(struct module_liveness *liveness, uint64_t offset, bool interrupted,
		    struct frame_liveness *ret);

/*
 * Determines whether the function can still read the word (of the module's word size) at CFA +
 * cfa_offset.
 *
 * Two kinds of words need further questions. Offsets of 0 and above are arguments on the stack,
 * which belong to the caller's frame: such a word is dead only if it is dead for both functions.
 * The slot of a saved register (frame_liveness.saved) will be restored, which counts as a read
 * here: ask what the caller's frame does with that register (frame_liveness.registers), and if that
 * passes the register on, ask the next frame.
 */
enum liveness liveness_slot(struct module_liveness *liveness, uint64_t offset, bool interrupted,
			    int32_t cfa_offset);

#endif
