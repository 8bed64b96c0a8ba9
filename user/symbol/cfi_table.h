/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CFI compiler: turns an ELF file's call frame information into the rows of arch/unwind_row.h.
 *
 * The input is .eh_frame, found by its section header or, without section headers, by
 * PT_GNU_EH_FRAME. Functions that it does not cover (assembler, -fno-asynchronous-unwind-tables)
 * are taken from .debug_frame of the file itself and of its separate debug file. Files are
 * untrusted: malformed entries are skipped and counted, and time and memory are linear in the size
 * of the file.
 *
 * A table is *pruned* unless the caller asks for the full one. A return address points just past a
 * call and is looked up at return address - 1, so only rows that cover the last byte of a call are
 * ever used. Every byte sequence that could be a call counts as one: a false positive costs a row,
 * a false negative would cost a stack. Two kinds of code are returned to without a call, and their
 * rows are kept as well: signal trampolines, and the outermost functions of coroutines. Equal
 * neighbours are merged. A pruned table has a tenth of the rows. Only interrupted frames need the
 * full table: the first frame of a thread that was stopped at an arbitrary instruction, and a frame
 * that a signal interrupted.
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
	VEC(struct unwind_row) rows; /* ascending offsets; a gap row ends the last function */
	const struct unwind_abi *abi;
	struct cfi_counts counts;
};

/*
 * Compiles the rows of a file, full or pruned. A file without call frame information gives a table
 * with a single gap row. Returns 0, -ENOEXEC if it is not an ELF file, -ENOTSUP for an unsupported
 * processor, -E2BIG beyond CFI_ROW_MAX or the limits of section.h, or -ENOMEM; sets *err.
 *
 * The file is mapped: truncating it meanwhile kills this process with SIGBUS.
 */
int cfi_table_build(int fd, bool full, struct cfi_table *ret_table, struct error *err);

/*
 * The same with the file's separate debug file, or -1. Both descriptors stay the caller's. The
 * caller makes sure that the files belong together (build id). An unreadable debug file is ignored.
 */
int cfi_table_build_split(int fd, int debug_fd, bool full, struct cfi_table *ret_table,
			  struct error *err);

/*
 * The same for an image in memory, such as the vdso. The image is laid out like the file and is not
 * written to, so its compressed sections are skipped.
 */
int cfi_table_build_image(const void *image, size_t size, bool full, struct cfi_table *ret_table,
			  struct error *err);

void cfi_table_free(struct cfi_table *table);

/* The row that covers a byte of code, or a gap row. Never NULL. */
const struct unwind_row *cfi_table_find(const struct cfi_table *table, uint64_t file_offset);

#define CFI_ROW_MAX (1 << 24) /* 128 MiB */

#endif
