// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The CFI interpreter only tracks a few registers. x86 does not use the second frame pointer of
 * struct unwind_abi, so run the program once for each callee-saved register and put it in that
 * place.
 */
#include "symbol/liveness/rows.h"

#include <elf.h>

#include "symbol/liveness/decode/step.h"

#define PROGRAM_MAX (1 << 18) /* bytes of CFI per function; each question runs it */

/* DWARF register numbers, in the order of LIVENESS_SAVED. */
static const uint8_t saved_x86_64[LIVENESS_SAVED] = {3, 6, 12, 13, 14, 15};
static const uint8_t saved_i386[] = {3, 5, 6, 7};

bool liveness_rows_start(struct liveness_rows *rows, const struct liveness_code *code,
			 const struct cfi_fde *fde, uint8_t also)
{
	const struct cfi_cie *cie = &code->entries.cies.items[fde->cie];

	rows->abi = code->abi;
	rows->abi.dwarf_second = also;
	rows->span = (struct cfi_span){0};
	if (cie->signal || fde->program.end - fde->program.at > PROGRAM_MAX ||
	    cie->return_column != rows->abi.dwarf_ip ||
	    !cfi_program_initial(cie, &rows->abi, &rows->initial))
		return false;
	cfi_program_start(&rows->program, cie, &rows->initial, &rows->abi, fde);
	return true;
}

bool liveness_rows_seek(struct liveness_rows *rows, uint64_t vaddr)
{
	while (rows->span.end <= vaddr)
		if (!cfi_program_seek(&rows->program, vaddr, &rows->span))
			return false;
	return rows->span.start <= vaddr && rows->span.rules;
}

static bool is_offset(int64_t value)
{
	return value > -LIVENESS_OFFSET_MAX && value < LIVENESS_OFFSET_MAX;
}

bool liveness_rows_cfa(const struct liveness_rows *rows, struct liveness_cfa *ret_cfa)
{
	const struct cfi_rules *rules = rows->span.rules;
	const struct cfi_rule *ip = &rules->registers[CFI_IP];
	const struct cfi_location *cfa = &rules->cfa;

	if (rules->registers[CFI_SP].kind != CFI_RULE_NONE || ip->kind != CFI_RULE_AT_CFA ||
	    ip->place.offset != rows->abi.return_offset || cfa->form != CFI_FORM_PLAIN ||
	    !is_offset(cfa->offset))
		return false;
	ret_cfa->by_bp = cfa->dwarf_register == rows->abi.dwarf_bp;
	ret_cfa->offset = (int32_t)cfa->offset;
	return ret_cfa->by_bp || cfa->dwarf_register == rows->abi.dwarf_sp;
}

static bool read_rule(const struct cfi_rule *rule, int32_t *ret_offset)
{
	*ret_offset = 0;
	if (rule->kind == CFI_RULE_NONE || rule->kind == CFI_RULE_SAME)
		return true;
	if (rule->kind != CFI_RULE_AT_CFA || !is_offset(rule->place.offset) || !rule->place.offset)
		return false;
	*ret_offset = (int32_t)rule->place.offset;
	return true;
}

bool liveness_rows_saved(const struct liveness_code *code, const struct cfi_fde *fde,
			 uint64_t vaddr, int32_t ret_saved[LIVENESS_SAVED])
{
	bool is_32bit = code->machine == EM_386;
	size_t count = is_32bit ? sizeof(saved_i386) : LIVENESS_SAVED;

	for (size_t i = 0; i < LIVENESS_SAVED; i++)
		ret_saved[i] = 0;
	for (size_t i = 0; i < count; i++) {
		uint8_t number = is_32bit ? saved_i386[i] : saved_x86_64[i];
		bool is_bp = number == code->abi.dwarf_bp;
		struct liveness_rows rows;

		if (!liveness_rows_start(&rows, code, fde, is_bp ? 0 : number) ||
		    !liveness_rows_seek(&rows, vaddr) ||
		    !read_rule(&rows.span.rules->registers[is_bp ? CFI_BP : CFI_SECOND],
			       &ret_saved[i]))
			return false;
	}
	return true;
}
