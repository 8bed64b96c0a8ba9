// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/probe_site/x86_code.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>

int x86_walk_open(struct x86_walk *walk, const struct function_code *code)
{
	cs_mode mode = code->machine == EM_386 ? CS_MODE_32 : CS_MODE_64;

	*walk = (struct x86_walk){.code = code};
	if (code->machine != EM_386 && code->machine != EM_X86_64)
		return -ENOTSUP;
	walk->address_mask = mode == CS_MODE_32 ? UINT32_MAX : UINT64_MAX;
	if (cs_open(CS_ARCH_X86, mode, &walk->handle) != CS_ERR_OK)
		return -ENOMEM;
	cs_option(walk->handle, CS_OPT_DETAIL, CS_OPT_ON);
	walk->insn = cs_malloc(walk->handle);
	return walk->insn ? 0 : -ENOMEM;
}

void x86_walk_close(struct x86_walk *walk)
{
	if (walk->insn)
		cs_free(walk->insn, 1);
	if (walk->handle)
		cs_close(&walk->handle);
	*walk = (struct x86_walk){0};
}

void x86_walk_rewind(struct x86_walk *walk)
{
	walk->offset = 0;
}

bool x86_walk_next(struct x86_walk *walk)
{
	const uint8_t *next = walk->code->bytes + walk->offset;
	size_t left = walk->code->size - walk->offset;
	uint64_t address = walk->code->address + walk->offset;

	if (!cs_disasm_iter(walk->handle, &next, &left, &address, walk->insn))
		return false;
	walk->offset = walk->code->size - left;
	return true;
}

/* The syntax also changes the operand order in the details, so switch it for this instruction
 * only. */
void x86_walk_name(struct x86_walk *walk, char *text, size_t size)
{
	cs_option(walk->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	if (x86_walk_next(walk))
		snprintf(text, size, "%.20s%s%.24s", walk->insn->mnemonic,
			 walk->insn->op_str[0] ? " " : "", walk->insn->op_str);
	cs_option(walk->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_INTEL);
}

bool x86_walk_is_complete(const struct x86_walk *walk)
{
	return walk->offset == walk->code->size;
}

bool x86_is_group(const struct x86_walk *walk, cs_group_type group)
{
	return cs_insn_group(walk->handle, walk->insn, group);
}

static bool is_transfer(const struct x86_walk *walk)
{
	return x86_is_group(walk, CS_GRP_JUMP) || x86_is_group(walk, CS_GRP_CALL) ||
	       x86_is_group(walk, CS_GRP_BRANCH_RELATIVE);
}

bool x86_direct_target(const struct x86_walk *walk, uint64_t *ret_target)
{
	const cs_x86 *x86 = &walk->insn->detail->x86;

	if (!is_transfer(walk) || x86->op_count != 1 || x86->operands[0].type != X86_OP_IMM)
		return false;
	*ret_target = (uint64_t)x86->operands[0].imm & walk->address_mask;
	return true;
}

bool x86_indirect_slot(const struct x86_walk *walk, uint64_t got, uint64_t *ret_slot)
{
	const cs_x86 *x86 = &walk->insn->detail->x86;
	const x86_op_mem *mem = &x86->operands[0].mem;
	uint64_t base = 0;

	if (!is_transfer(walk) || x86->op_count != 1 || x86->operands[0].type != X86_OP_MEM ||
	    mem->index != X86_REG_INVALID || mem->segment != X86_REG_INVALID)
		return false;
	if (mem->base == X86_REG_RIP)
		base = walk->insn->address + walk->insn->size;
	else if (mem->base == X86_REG_EBX)
		base = got;
	else if (mem->base != X86_REG_INVALID)
		return false;
	*ret_slot = (base + (uint64_t)mem->disp) & walk->address_mask;
	return true;
}

int x86_written(const struct x86_walk *walk, cs_regs ret_written)
{
	cs_regs read;
	uint8_t read_count, count;

	if (cs_regs_access(walk->handle, walk->insn, read, &read_count, ret_written, &count))
		return -1;
	return count;
}
