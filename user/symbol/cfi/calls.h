/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the byte sequences that can be calls. */
#ifndef MTRACE_SYMBOL_CFI_CALLS_H
#define MTRACE_SYMBOL_CFI_CALLS_H

#include <stddef.h>
#include <stdint.h>

#define CFI_NO_CALL SIZE_MAX

/*
 * Returns the first file offset in (start, end] at which a call can end (the offset just past its
 * last byte), or CFI_NO_CALL.
 */
typedef size_t cfi_call_search(const uint8_t *file, size_t start, size_t end);

size_t cfi_x86_call_end(const uint8_t *file, size_t start, size_t end);
size_t cfi_aarch64_call_end(const uint8_t *file, size_t start, size_t end);
size_t cfi_arm_call_end(const uint8_t *file, size_t start, size_t end); /* ARM and Thumb */
size_t cfi_powerpc_call_end(const uint8_t *file, size_t start, size_t end);

#endif
