// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One handler per instruction, in a table by opcode. Rules for other registers are parsed and
 * ignored. An invalid instruction fails the program: the code from there to the end of the function
 * has no rules.
 */
#include "symbol/cfi/program.h"

#include <dwarf.h>
#include <string.h>

#include "symbol/cfi/expression.h"

/* Some instructions have an operand in the low six bits of their opcode. */
#define OPERAND_MAX 0x3f

/* Also skips the remaining instructions. */
void cfi_program_fail(struct cfi_program *program)
{
	program->failed = true;
	program->reader.at = program->reader.end;
}

static bool has_failed(const struct cfi_program *program)
{
	return program->failed || program->reader.failed;
}

static uint64_t code_address(const struct cfi_program *program, uint64_t address)
{
	return program->cie->base.address_size == 4 ? (uint32_t)address : address;
}

static uint64_t register_bit(uint64_t dwarf_register)
{
	return dwarf_register < 64 ? 1ULL << dwarf_register : 0;
}

static uint64_t known_registers(const struct unwind_abi *abi, const struct cfi_cie *cie)
{
	return register_bit(cie->return_column) | register_bit(abi->dwarf_sp) |
	       register_bit(abi->dwarf_bp) | register_bit(abi->dwarf_second);
}

/* Returns CFI_REGISTER_COUNT for registers without a use here, which most are. */
static enum cfi_register find_register(const struct cfi_program *program, uint64_t dwarf_register)
{
	if (dwarf_register < 64 && !(program->known >> dwarf_register & 1))
		return CFI_REGISTER_COUNT;
	if (dwarf_register == program->cie->return_column)
		return CFI_IP;
	if (dwarf_register == program->abi->dwarf_sp)
		return CFI_SP;
	if (dwarf_register == program->abi->dwarf_bp)
		return CFI_BP;
	if (dwarf_register == program->abi->dwarf_second && dwarf_register)
		return CFI_SECOND;
	return CFI_REGISTER_COUNT;
}

static void set_rule(struct cfi_program *program, uint64_t dwarf_register, struct cfi_rule rule)
{
	enum cfi_register which = find_register(program, dwarf_register);

	if (which != CFI_REGISTER_COUNT)
		program->rules.registers[which] = rule;
}

static void set_kind(struct cfi_program *program, uint64_t dwarf_register, enum cfi_rule_kind kind)
{
	set_rule(program, dwarf_register, (struct cfi_rule){.kind = kind});
}

/* Unsigned, so that offsets of a hostile file wrap instead of overflowing. */
static int64_t data_offset(const struct cfi_program *program, uint64_t factored)
{
	return (int64_t)(factored * (uint64_t)program->cie->data_align);
}

static void set_saved(struct cfi_program *program, uint64_t dwarf_register, int64_t offset)
{
	enum cfi_register which = find_register(program, dwarf_register);

	if (which != CFI_REGISTER_COUNT)
		program->rules.registers[which] =
			(struct cfi_rule){.kind = CFI_RULE_AT_CFA, .place.offset = offset};
}

static void restore(struct cfi_program *program, uint64_t dwarf_register)
{
	enum cfi_register which = find_register(program, dwarf_register);

	if (!program->initial) /* a CIE has no initial rules to restore */
		cfi_program_fail(program);
	else if (which != CFI_REGISTER_COUNT)
		program->rules.registers[which] = program->initial->registers[which];
}

static uint64_t read_uleb(struct cfi_program *program)
{
	return cfi_read_uleb(&program->reader);
}

static void advance(struct cfi_program *program, uint64_t delta)
{
	uint64_t target = program->next + delta * program->cie->code_align;

	target = code_address(program, target);
	if (target < program->next)
		cfi_program_fail(program);
	else
		program->next = target;
}

/*
 * Handlers, in the order of DWARF 5, 6.4.2.
 */

static uint8_t inner_operand(const struct cfi_program *program)
{
	return program->opcode & OPERAND_MAX;
}

static void run_advance_loc(struct cfi_program *program)
{
	advance(program, inner_operand(program));
}

static void run_offset(struct cfi_program *program)
{
	set_saved(program, inner_operand(program), data_offset(program, read_uleb(program)));
}

static void run_restore(struct cfi_program *program)
{
	restore(program, inner_operand(program));
}

static void run_set_loc(struct cfi_program *program)
{
	uint64_t target = cfi_read_pointer(&program->reader, &program->cie->base,
					   program->cie->pointer_encoding);

	if (program->reader.failed || target < program->next)
		cfi_program_fail(program);
	else
		program->next = target;
}

static void run_advance_loc1(struct cfi_program *program)
{
	advance(program, cfi_read_byte(&program->reader));
}

static void run_advance_loc2(struct cfi_program *program)
{
	advance(program, cfi_read_fixed(&program->reader, 2));
}

static void run_advance_loc4(struct cfi_program *program)
{
	advance(program, cfi_read_fixed(&program->reader, 4));
}

static void run_advance_loc8(struct cfi_program *program)
{
	advance(program, cfi_read_fixed(&program->reader, 8));
}

static void set_cfa(struct cfi_program *program, uint64_t dwarf_register, int64_t offset)
{
	program->rules.cfa = (struct cfi_location){
		.form = CFI_FORM_PLAIN,
		.dwarf_register = dwarf_register,
		.offset = offset,
	};
}

static void run_def_cfa(struct cfi_program *program)
{
	uint64_t dwarf_register = read_uleb(program);

	set_cfa(program, dwarf_register, (int64_t)read_uleb(program));
}

static void run_def_cfa_sf(struct cfi_program *program)
{
	uint64_t dwarf_register = read_uleb(program);

	set_cfa(program, dwarf_register,
		data_offset(program, (uint64_t)cfi_read_sleb(&program->reader)));
}

/* Changing only the register or only the offset requires a CFA of the form register + offset. */
static struct cfi_location *plain_cfa(struct cfi_program *program)
{
	if (program->rules.cfa.form != CFI_FORM_PLAIN)
		cfi_program_fail(program);
	return &program->rules.cfa;
}

static void run_def_cfa_register(struct cfi_program *program)
{
	plain_cfa(program)->dwarf_register = read_uleb(program);
}

static void run_def_cfa_offset(struct cfi_program *program)
{
	plain_cfa(program)->offset = (int64_t)read_uleb(program);
}

static void run_def_cfa_offset_sf(struct cfi_program *program)
{
	plain_cfa(program)->offset =
		data_offset(program, (uint64_t)cfi_read_sleb(&program->reader));
}

static struct cfi_location read_expression(struct cfi_program *program)
{
	uint64_t length = read_uleb(program);

	return cfi_expression_classify(cfi_read_part(&program->reader, length), program->abi);
}

static void run_def_cfa_expression(struct cfi_program *program)
{
	program->rules.cfa = read_expression(program);
}

static void run_undefined(struct cfi_program *program)
{
	set_kind(program, read_uleb(program), CFI_RULE_UNDEFINED);
}

static void run_same_value(struct cfi_program *program)
{
	set_kind(program, read_uleb(program), CFI_RULE_SAME);
}

static void run_offset_extended(struct cfi_program *program)
{
	uint64_t dwarf_register = read_uleb(program);

	set_saved(program, dwarf_register, data_offset(program, read_uleb(program)));
}

static void run_offset_extended_sf(struct cfi_program *program)
{
	uint64_t dwarf_register = read_uleb(program);

	set_saved(program, dwarf_register,
		  data_offset(program, (uint64_t)cfi_read_sleb(&program->reader)));
}

static void run_negative_offset_extended(struct cfi_program *program)
{
	uint64_t dwarf_register = read_uleb(program);

	set_saved(program, dwarf_register, data_offset(program, -read_uleb(program)));
}

static void run_register(struct cfi_program *program)
{
	uint64_t dwarf_register = read_uleb(program);
	struct cfi_rule rule = {.kind = CFI_RULE_REGISTER,
				.place.dwarf_register = read_uleb(program)};

	set_rule(program, dwarf_register, rule);
}

/* val_offset: its operands are a register and an offset that no row can express. */
static void run_other_rule(struct cfi_program *program)
{
	uint64_t dwarf_register = read_uleb(program);

	read_uleb(program);
	set_kind(program, dwarf_register, CFI_RULE_OTHER);
}

static void run_expression(struct cfi_program *program)
{
	uint64_t dwarf_register = read_uleb(program);
	struct cfi_rule rule = {.kind = CFI_RULE_AT_PLACE, .place = read_expression(program)};

	set_rule(program, dwarf_register, rule);
}

static void run_val_expression(struct cfi_program *program)
{
	uint64_t dwarf_register = read_uleb(program);

	cfi_skip(&program->reader, read_uleb(program));
	set_kind(program, dwarf_register, CFI_RULE_OTHER);
}

static void run_restore_extended(struct cfi_program *program)
{
	restore(program, read_uleb(program));
}

static void run_remember_state(struct cfi_program *program)
{
	if (program->remembered_count == CFI_REMEMBER_MAX)
		cfi_program_fail(program);
	else
		program->remembered[program->remembered_count++] = program->rules;
}

static void run_restore_state(struct cfi_program *program)
{
	if (!program->remembered_count)
		cfi_program_fail(program);
	else
		program->rules = program->remembered[--program->remembered_count];
}

static void run_nop(struct cfi_program *program)
{
	(void)program;
}

/* The size of pushed arguments, which only landing pads of exceptions need. */
static void run_args_size(struct cfi_program *program)
{
	read_uleb(program);
}

/* Toggles whether the return address is signed. Ignored, as the unwinder always strips signature
 * bits. On other processors this opcode has another meaning. */
static void run_negate_ra_state(struct cfi_program *program)
{
	if (program->abi->link != UNWIND_LINK_RECORD)
		cfi_program_fail(program);
}

#define DW_CFA_AARCH64_NEGATE_RA_STATE_WITH_PC 0x2c
#define DW_CFA_AARCH64_NEGATE_RA_STATE         0x2d

typedef void run_instruction(struct cfi_program *program);

static run_instruction *const instructions[UINT8_MAX + 1] = {
	[DW_CFA_advance_loc... DW_CFA_advance_loc + OPERAND_MAX] = run_advance_loc,
	[DW_CFA_offset... DW_CFA_offset + OPERAND_MAX] = run_offset,
	[DW_CFA_restore... DW_CFA_restore + OPERAND_MAX] = run_restore,
	[DW_CFA_nop] = run_nop,
	[DW_CFA_set_loc] = run_set_loc,
	[DW_CFA_advance_loc1] = run_advance_loc1,
	[DW_CFA_advance_loc2] = run_advance_loc2,
	[DW_CFA_advance_loc4] = run_advance_loc4,
	[DW_CFA_MIPS_advance_loc8] = run_advance_loc8,
	[DW_CFA_offset_extended] = run_offset_extended,
	[DW_CFA_offset_extended_sf] = run_offset_extended_sf,
	[DW_CFA_GNU_negative_offset_extended] = run_negative_offset_extended,
	[DW_CFA_restore_extended] = run_restore_extended,
	[DW_CFA_undefined] = run_undefined,
	[DW_CFA_same_value] = run_same_value,
	[DW_CFA_register] = run_register,
	[DW_CFA_val_offset] = run_other_rule,
	[DW_CFA_val_offset_sf] = run_other_rule,
	[DW_CFA_expression] = run_expression,
	[DW_CFA_val_expression] = run_val_expression,
	[DW_CFA_remember_state] = run_remember_state,
	[DW_CFA_restore_state] = run_restore_state,
	[DW_CFA_def_cfa] = run_def_cfa,
	[DW_CFA_def_cfa_sf] = run_def_cfa_sf,
	[DW_CFA_def_cfa_register] = run_def_cfa_register,
	[DW_CFA_def_cfa_offset] = run_def_cfa_offset,
	[DW_CFA_def_cfa_offset_sf] = run_def_cfa_offset_sf,
	[DW_CFA_def_cfa_expression] = run_def_cfa_expression,
	[DW_CFA_GNU_args_size] = run_args_size,
	[DW_CFA_AARCH64_NEGATE_RA_STATE_WITH_PC] = run_negate_ra_state,
	[DW_CFA_AARCH64_NEGATE_RA_STATE] = run_negate_ra_state,
};

static void run(struct cfi_program *program)
{
	program->opcode = cfi_read_byte(&program->reader);
	if (instructions[program->opcode])
		instructions[program->opcode](program);
	else
		cfi_program_fail(program);
}

bool cfi_program_initial(const struct cfi_cie *cie, const struct unwind_abi *abi,
			 struct cfi_rules *ret_rules)
{
	struct cfi_program program = {
		.abi = abi,
		.cie = cie,
		.known = known_registers(abi, cie),
		.reader = cie->program,
	};

	if (program.reader.end - program.reader.at > CFI_INITIAL_PROGRAM_MAX)
		return false;
	while (!cfi_reader_is_empty(&program.reader))
		run(&program);
	*ret_rules = program.rules;
	return !has_failed(&program);
}

void cfi_program_start(struct cfi_program *program, const struct cfi_cie *cie,
		       const struct cfi_rules *initial, const struct unwind_abi *abi,
		       const struct cfi_fde *fde)
{
	program->abi = abi;
	program->cie = cie;
	program->initial = initial;
	program->known = known_registers(abi, cie);
	program->reader = fde->program;
	program->rules = *initial;
	program->location = program->next = fde->vaddr;
	program->end = fde->vaddr + fde->size;
	program->failed = false;
	program->remembered_count = 0;
}

/* Returns true if the span from `location` to `next` can be skipped. */
static bool passes(const struct cfi_program *program, uint64_t vaddr)
{
	return program->next == program->location ||
	       (program->next <= vaddr &&
		program->rules.registers[CFI_IP].kind != CFI_RULE_UNDEFINED);
}

bool cfi_program_seek(struct cfi_program *program, uint64_t vaddr, struct cfi_span *ret_span)
{
	bool failed;

	while (passes(program, vaddr)) {
		program->location = program->next;
		if (cfi_reader_is_empty(&program->reader))
			break;
		run(program);
	}
	failed = has_failed(program);
	if (failed || program->next == program->location || program->next > program->end)
		program->next = program->end;
	if (program->location >= program->end)
		return false;
	ret_span->start = program->location;
	ret_span->end = program->next;
	ret_span->rules = failed ? NULL : &program->rules;
	program->location = program->next;
	return true;
}
