// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DWARF expressions are programs for a stack machine, but compilers and assembler authors use only
 * a few. These are matched as a whole: "register + offset", followed by one of the tails below.
 */
#include "symbol/cfi/expression.h"

#include <dwarf.h>
#include <stddef.h>

#define TAIL_MAX    12
#define ANY_LITERAL 0x100 /* DW_OP_lit0 … lit31; its value becomes the location's `extra` */
#define ANY_ULEB    0x101 /* a ULEB128 number, which also becomes `extra` */
#define RETURN_BREG 0x102 /* DW_OP_breg of the return address column, … */
#define WORD_SHIFT  0x103 /* DW_OP_lit of log2 of the word */
#define NO_OFFSET   0x00  /* … whose operand is 0 */

static const struct tail {
	enum cfi_form form;
	size_t length;
	uint16_t bytes[TAIL_MAX];
} tails[] = {
	{CFI_FORM_PLAIN, 0, {0}},
	{CFI_FORM_LOAD, 1, {DW_OP_deref}},
	{CFI_FORM_LOAD_ADD, 3, {DW_OP_deref, DW_OP_plus_uconst, ANY_ULEB}},
	{CFI_FORM_LOAD_ADD, 3, {DW_OP_deref, ANY_LITERAL, DW_OP_plus}},
	{CFI_FORM_LOAD_AT, 4, {DW_OP_deref, DW_OP_plus_uconst, ANY_ULEB, DW_OP_deref}},
	{CFI_FORM_PLT,
	 9,
	 {RETURN_BREG, NO_OFFSET, DW_OP_lit15, DW_OP_and, ANY_LITERAL, DW_OP_ge, WORD_SHIFT,
	  DW_OP_shl, DW_OP_plus}},
};

static bool match_operation(uint16_t wanted, struct cfi_reader *reader,
			    const struct unwind_abi *abi, uint64_t *ret_extra)
{
	uint64_t got;

	if (wanted == ANY_ULEB) {
		*ret_extra = cfi_read_uleb(reader);
		return true;
	}
	got = cfi_read_fixed(reader, 1);
	if (wanted == RETURN_BREG)
		return got == (uint64_t)DW_OP_breg0 + abi->dwarf_ip;
	if (wanted == WORD_SHIFT)
		return got == (abi->word == 8 ? DW_OP_lit3 : DW_OP_lit2);
	if (wanted != ANY_LITERAL)
		return got == wanted;
	*ret_extra = got - DW_OP_lit0;
	return got >= DW_OP_lit0 && got <= DW_OP_lit31;
}

static bool match_tail(const struct tail *tail, struct cfi_reader reader,
		       const struct unwind_abi *abi, uint64_t *ret_extra)
{
	for (size_t i = 0; i < tail->length; i++)
		if (!match_operation(tail->bytes[i], &reader, abi, ret_extra))
			return false;
	return !reader.failed && cfi_reader_is_empty(&reader);
}

/* "register + offset" */
static bool read_base(struct cfi_reader *reader, struct cfi_location *location)
{
	uint64_t operation = cfi_read_fixed(reader, 1);

	if (operation == DW_OP_bregx)
		location->dwarf_register = cfi_read_uleb(reader);
	else if (operation >= DW_OP_breg0 && operation <= DW_OP_breg31)
		location->dwarf_register = operation - DW_OP_breg0;
	else
		return false;
	location->offset = cfi_read_sleb(reader);
	return !reader->failed;
}

struct cfi_location cfi_expression_classify(struct cfi_reader expression,
					    const struct unwind_abi *abi)
{
	struct cfi_location location = {0};

	if (!read_base(&expression, &location))
		return location;
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
		if (match_tail(&tails[i], expression, abi, &location.extra)) {
			location.form = tails[i].form;
			break;
		}
	return location;
}
