// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function that returns twice stores its return address in a buffer, so it reads the word at CFA
 * - word as data. Few other functions do that: those with __builtin_return_address, whose callers
 * are then not analysed, and i386's __x86.get_pc_thunk, which does nothing else.
 */
#include "symbol/liveness/callee.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/liveness/decode/control.h"
#include "symbol/liveness/decode/registers.h"
#include "symbol/liveness/decode/step.h"

#define WALK_BYTES  512
#define WALK_STEPS  64
#define WALK_JUMPS  4
#define KNOWN_MAX   (1 << 16)
#define THUNK_STEPS 2
#define STUB_STEPS  2 /* endbr and the jump */

/* Total size of the sections to read, as a multiple of the file size: sections may overlap. */
#define SECTIONS_MAX 8

static bool returns_twice(const char *name)
{
	static const char *const names[] = {
		"setjmp",     "_setjmp",      "__setjmp",    "sigsetjmp", "__sigsetjmp", "savectx",
		"getcontext", "__getcontext", "swapcontext", "vfork",     "__vfork",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/*
 * Pointers to functions that return twice, found by their relocations.
 */

static bool get_relocation(Elf_Data *data, uint32_t type, int index, GElf_Rela *ret_reloc)
{
	GElf_Rel plain;

	if (type == SHT_RELA)
		return gelf_getrela(data, index, ret_reloc);
	if (!gelf_getrel(data, index, &plain))
		return false;
	*ret_reloc = (GElf_Rela){.r_offset = plain.r_offset, .r_info = plain.r_info};
	return true;
}

static bool spend(uint64_t *left, const Elf_Data *data)
{
	if (data->d_size > *left)
		return false;
	*left -= data->d_size;
	return true;
}

/* A section without bytes in the file (SHT_NOBITS) has a size, but no data. */
static Elf_Data *data_of(Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);

	return data && data->d_buf ? data : NULL;
}

/* Requires a NUL at the end of the string table. Without it, looking up a name may scan the whole
 * table. */
static bool has_names(Elf *elf, size_t section)
{
	Elf_Data *names = data_of(elf_getscn(elf, section));

	return names && names->d_size && !((const char *)names->d_buf)[names->d_size - 1];
}

static int read_relocations(struct liveness_callees *callees, Elf_Scn *section,
			    const GElf_Shdr *header, uint64_t *left)
{
	Elf *elf = callees->code->object.elf;
	Elf_Scn *symbol_section = elf_getscn(elf, header->sh_link);
	Elf_Data *data = data_of(section);
	Elf_Data *symbols = data_of(symbol_section);
	GElf_Shdr symbol_header;
	GElf_Rela reloc;
	int code = 0;

	if (!data || !symbols || !gelf_getshdr(symbol_section, &symbol_header) ||
	    !has_names(elf, symbol_header.sh_link))
		return 0;
	if (!spend(left, data) || !spend(left, symbols))
		return -ENOEXEC;
	for (int i = 0; !code && get_relocation(data, header->sh_type, i, &reloc); i++) {
		size_t index = GELF_R_SYM(reloc.r_info);
		const char *name = NULL;
		GElf_Sym symbol;

		if (index && index <= INT32_MAX && gelf_getsym(symbols, (int)index, &symbol))
			name = elf_strptr(elf, symbol_header.sh_link, symbol.st_name);
		if (name && returns_twice(name))
			code = vec_push(&callees->twice, reloc.r_offset);
	}
	return code;
}

static int read_got(struct liveness_callees *callees, Elf_Scn *section, uint64_t *left)
{
	Elf_Data *data = data_of(section);
	GElf_Dyn entry;

	if (!data)
		return 0;
	if (!spend(left, data))
		return -ENOEXEC;
	for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++)
		if (entry.d_tag == DT_PLTGOT)
			callees->got = entry.d_un.d_ptr;
	return 0;
}

static int read_sections(struct liveness_callees *callees)
{
	uint64_t left = (uint64_t)callees->code->object.size * SECTIONS_MAX;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int code = 0;

	while (!code && (section = elf_nextscn(callees->code->object.elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_DYNAMIC)
			code = read_got(callees, section, &left);
		else if (header.sh_type == SHT_RELA || header.sh_type == SHT_REL)
			code = read_relocations(callees, section, &header, &left);
	}
	return code;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return (one > other) - (one < other);
}

int liveness_callees_open(struct liveness_callees *callees, const struct liveness_code *code)
{
	int status;

	*callees = (struct liveness_callees){.code = code, .bytes.machine = code->machine};
	status = x86_walk_open(&callees->walk, &callees->bytes);
	if (!status)
		status = read_sections(callees);
	if (!status && callees->twice.count)
		qsort(callees->twice.items, callees->twice.count, sizeof(*callees->twice.items),
		      compare_addresses);
	return status;
}

void liveness_callees_close(struct liveness_callees *callees)
{
	x86_walk_close(&callees->walk);
	vec_free(&callees->twice);
	map64_free(&callees->known);
}

static bool is_twice_pointer(const struct liveness_callees *callees, uint64_t address)
{
	return callees->twice.count && bsearch(&address, callees->twice.items, callees->twice.count,
					       sizeof(address), compare_addresses);
}

bool liveness_callee_is_twice_by_pointer(const struct liveness_callees *callees,
					 const struct x86_walk *walk)
{
	uint64_t slot;

	return x86_indirect_slot(walk, callees->got, &slot) && is_twice_pointer(callees, slot);
}

/*
 * Code.
 */

static bool look_at(struct liveness_callees *callees, uint64_t address)
{
	callees->bytes = liveness_code_bytes(callees->code, address, WALK_BYTES);
	x86_walk_rewind(&callees->walk);
	return callees->bytes.size != 0;
}

/* Returns true if the current instruction reads the return address as data, with sp at CFA +
 * `sp`. */
static bool reads_return_address(const struct x86_walk *walk, int32_t sp, int32_t word)
{
	const cs_x86 *x86 = &walk->insn->detail->x86;

	if (walk->insn->id == X86_INS_POP && sp == -word)
		return true;
	if (walk->insn->id == X86_INS_LEA)
		return false;
	for (uint8_t i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_MEM && x86->operands[i].access != CS_AC_WRITE &&
		    liveness_is_sp(x86->operands[i].mem.base) &&
		    x86->operands[i].mem.disp == -(int64_t)word - sp)
			return true;
	return false;
}

struct callee_walk {
	int32_t sp;
	int32_t word;
	int steps;
	int read_at; /* the step that reads the return address; 0: none */
};

/* Walks to the next instruction that leaves the sequence. Returns its flow. */
static enum liveness_flow walk_on(struct liveness_callees *callees, struct callee_walk *at,
				  uint64_t *ret_target)
{
	struct liveness_step step;

	while (at->steps < WALK_STEPS && x86_walk_next(&callees->walk)) {
		at->steps++;
		step = (struct liveness_step){.sp = at->sp, .bp = LIVENESS_NOWHERE};
		liveness_control(&callees->walk, &step);
		*ret_target = step.target;
		if (!at->read_at && at->sp != LIVENESS_LOST &&
		    reads_return_address(&callees->walk, at->sp, at->word))
			at->read_at = at->steps;
		at->sp = liveness_sp_after(&step);
		if (step.flow != LIVENESS_FLOW_NEXT && step.flow != LIVENESS_FLOW_BRANCH)
			return (enum liveness_flow)step.flow;
	}
	return LIVENESS_FLOW_NEXT;
}

static enum liveness_callee classify(struct liveness_callees *callees, uint64_t target)
{
	int32_t word = callees->code->abi.word;
	struct callee_walk at = {.sp = -word, .word = word};
	enum liveness_flow flow = LIVENESS_FLOW_JUMP;
	int jumps = 0;

	for (; flow == LIVENESS_FLOW_JUMP && jumps < WALK_JUMPS && look_at(callees, target);
	     jumps++)
		flow = walk_on(callees, &at, &target);
	callees->cost += (uint64_t)at.steps;
	if (at.read_at)
		return at.read_at == 1 && flow == LIVENESS_FLOW_RETURN && at.steps == THUNK_STEPS
			       ? LIVENESS_CALLEE_ORDINARY
			       : LIVENESS_CALLEE_TWICE;
	if (flow != LIVENESS_FLOW_TAIL && flow != LIVENESS_FLOW_ANYWHERE)
		return LIVENESS_CALLEE_ORDINARY;
	if (liveness_callee_is_twice_by_pointer(callees, &callees->walk))
		return LIVENESS_CALLEE_TWICE;
	return jumps == 1 && at.steps <= STUB_STEPS ? LIVENESS_CALLEE_STUB
						    : LIVENESS_CALLEE_ORDINARY;
}

enum liveness_callee liveness_callee(struct liveness_callees *callees, uint64_t target)
{
	uint32_t known = map64_get(&callees->known, target);

	if (known != MAP64_NONE)
		return (enum liveness_callee)known;
	known = classify(callees, target);
	if (callees->known.count >= KNOWN_MAX)
		map64_free(&callees->known);
	map64_set(&callees->known, target, known); /* on failure, try again next time */
	return (enum liveness_callee)known;
}
