/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of a module, and the call frame information that describes it. */
#ifndef MTRACE_SYMBOL_LIVENESS_CODE_H
#define MTRACE_SYMBOL_LIVENESS_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/unwind_row.h"
#include "base/error.h"
#include "symbol/cfi/object.h"
#include "symbol/cfi/program.h"
#include "symbol/cfi/section.h"
#include "symbol/probe_site/function_code.h"

struct liveness_code {
	struct cfi_object object;
	struct cfi_entries entries; /* FDEs sorted by virtual address, one for each address */
	struct unwind_abi abi;
	int machine;
	bool has_sections; /* so relocations of its calls can be read */
};

int liveness_code_open(struct liveness_code *code, int fd, struct error *err);
void liveness_code_close(struct liveness_code *code);

/* The virtual address of code at a file offset. The offset just past a segment is also valid. */
bool liveness_code_address(const struct liveness_code *code, uint64_t offset, uint64_t *ret_vaddr);

/* The FDE that covers a virtual address. NULL if there is none, or if another FDE overlaps it. */
const struct cfi_fde *liveness_code_fde(const struct liveness_code *code, uint64_t vaddr);

/* At most `size` bytes of code at a virtual address. The size is 0 if there is no code. */
struct function_code liveness_code_bytes(const struct liveness_code *code, uint64_t vaddr,
					 uint64_t size);

#endif
