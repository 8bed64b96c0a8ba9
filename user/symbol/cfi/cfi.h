/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CFI compiler: from an ELF file's call frame information to the rows of arch/unwind_row.h.
 *
 * Input is .eh_frame, found by section or, without section headers, by PT_GNU_EH_FRAME; and for
 * functions that it leaves out (assembler, -fno-asynchronous-unwind-tables) .debug_frame, of the
 * file itself and of its separate debug file. Files are hostile: whatever does not add up is left
 * out and counted, and time and memory are linear in the size of the file.
 *
 * A table is *pruned* unless asked for in full. A return address stands behind a call, so of the
 * rows only those can ever be looked up (at return address - 1) that cover the last byte of one.
 * Every byte sequence that could be a call counts as one: what is kept in vain costs a row, what
 * were dropped would cost a stack. Two kinds of code are returned to without a call, and are kept
 * as well: signal trampolines, and where a coroutine ends. Equal neighbours merge. What remains is
 * a tenth of the full table. Only the interrupted frame (the first one of a thread that was stopped
 * anywhere; the one behind a signal frame) needs that.
 */
#ifndef MTRACE_SYMBOL_CFI_CFI_H
#define MTRACE_SYMBOL_CFI_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "base/error.h"
#include "base/vec.h"

/* Why code got an UNWIND_CFA_STOP row. */
enum cfi_stop {
	CFI_STOP_NONE = 0,
	CFI_STOP_PROGRAM,      /* its CFI makes no sense, or nests too deeply */
	CFI_STOP_CFA_REGISTER, /* the CFA is computed from another register than sp or bp */
	CFI_STOP_CFA_FORM,     /* by an expression that no row has */
	CFI_STOP_CFA_RANGE,    /* with an offset that is too large, or no multiple of a word */
	CFI_STOP_RETURN,       /* the return address is not at its usual place */
	CFI_STOP_SP,           /* the caller's sp is not the CFA */
	CFI_STOP_SIGNAL,       /* a signal frame of unusual layout */
	CFI_STOP_COUNT,
};

struct cfi_counts {
	uint32_t functions; /* FDEs compiled */
	uint32_t broken;    /* FDEs that cannot be read; their code is a gap */
	uint32_t outside;   /* of code that the file does not have (as of discarded sections) */
	uint32_t doubled;   /* of code that another FDE describes */
	uint32_t stops[CFI_STOP_COUNT]; /* spans of code by reason; if pruned, of those kept */
	uint32_t lost_bp;               /* spans whose frame pointer rule no row has; likewise */
};

struct cfi_table {
	VEC(struct unwind_row) rows; /* by offset, strictly rising; a gap ends the last function */
	const struct unwind_abi *abi;
	struct cfi_counts counts;
};

/*
 * Compile the file's rows, the full or the pruned set. A file without call frame information gives
 * a table with one gap. 0, -ENOEXEC for what is not ELF, -ENOTSUP for other processors, -E2BIG
 * beyond the limits of section.h and CFI_ROW_MAX, or -ENOMEM; with words.
 *
 * The file is mapped: if it is truncated meanwhile, SIGBUS ends this process.
 */
int cfi_table_build(int fd, bool full, struct cfi_table *ret_table, struct error *err);

/*
 * The same with the file's separate debug file, or -1; both stay the caller's. That they belong
 * together (the build id) is the caller's to know. One that cannot be read counts as none.
 */
int cfi_table_build_split(int fd, int debug_fd, bool full, struct cfi_table *ret_table,
			  struct error *err);

/*
 * The same from memory, such as the vdso; `image` is laid out as a file, and only read: compressed
 * sections in it are left out.
 */
int cfi_table_build_image(const void *image, size_t size, bool full, struct cfi_table *ret_table,
			  struct error *err);

/* The ABI of a processor (EM_…), or NULL if its stacks are not walked. */
const struct unwind_abi *cfi_abi(unsigned int machine);

/* The longest call and what belongs to it, of any processor: x86 has 7 bytes, old Arm code 8. */
#define CFI_CALL_MAX 8

/* Can a call of a processor (EM_…) return to behind these bytes? Yes, where that is not known. */
bool cfi_can_return_behind(unsigned int machine, const uint8_t code[CFI_CALL_MAX]);

/*
 * Is this the code that a signal's handler returns to, of a processor (EM_…)? For code that is in
 * no file, as the page that the kernel maps on Arm. Rows hold from the byte before it on.
 */
bool cfi_trampoline_row(unsigned int machine, const void *code, size_t size,
			struct unwind_row *ret_row);

void cfi_table_free(struct cfi_table *table);

/* The row of a byte of code: a gap's where there is none. */
const struct unwind_row *cfi_table_find(const struct cfi_table *table, uint64_t file_offset);

const char *cfi_stop_name(enum cfi_stop stop);

#define CFI_ROW_MAX (1 << 24) /* 128 MiB */

#endif
