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
#ifndef MTRACE_SYMBOL_CFI_TABLE_H
#define MTRACE_SYMBOL_CFI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "base/error.h"
#include "base/vec.h"
#include "symbol/row/stop.h"

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

void cfi_table_free(struct cfi_table *table);

/* The row of a byte of code: a gap's where there is none. */
const struct unwind_row *cfi_table_find(const struct cfi_table *table, uint64_t file_offset);

#define CFI_ROW_MAX (1 << 24) /* 128 MiB */

#endif
