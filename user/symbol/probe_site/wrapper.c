// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A function is a wrapper if a direct jump or call in its code, or one through the global offset
 * table, leads to an observed function. Two detours are followed: stubs of the procedure linkage
 * table, and tail jumps to helpers (operator new[] → a common function → malloc). Conditions are
 * ignored: a function that has its own fast path and otherwise calls malloc would be mistaken for a
 * wrapper. Allocators with a fast path call internal functions on their slow path instead.
 *
 * On processors other than x86, only direct jumps and calls are recognised (arch/arch.h), which is
 * all that static programs use.
 */
#include "symbol/probe_site/wrapper.h"

#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "symbol/probe_site/x86_code.h"

#define STUB_SIZE         16
#define STUB_INSTRUCTIONS 3 /* endbr64, possibly a push, the jump */
#define HELPER_SIZE       512
#define HELPER_DEPTH      3
#define WALK_COST         512       /* fixed cost of a walk, in addition to its bytes */
#define COST_MAX          (4 << 20) /* per module: a hostile one may consist of jumps only */

int wrapper_search_open(struct wrapper_search *search, const struct elf_image *image)
{
	*search = (struct wrapper_search){.image = image};
	return got_slots_read(&search->slots, image);
}

void wrapper_search_close(struct wrapper_search *search)
{
	got_slots_free(&search->slots);
	map64_free(&search->observed);
}

int wrapper_search_observe(struct wrapper_search *search, uint64_t vaddr)
{
	return map64_set(&search->observed, vaddr, 0);
}

bool wrapper_search_is_observed(const struct wrapper_search *search, uint64_t vaddr)
{
	return map64_get(&search->observed, vaddr) != MAP64_NONE;
}

static bool leads_through_slot(const struct wrapper_search *search, const struct x86_walk *walk)
{
	uint64_t slot, function;

	if (!x86_indirect_slot(walk, search->slots.base, &slot))
		return false;
	function = got_slots_find(&search->slots, slot);
	return function && wrapper_search_is_observed(search, function);
}

bool wrapper_search_open_code(struct wrapper_search *search, uint64_t vaddr, uint64_t size,
			      struct function_code *code, struct x86_walk *walk)
{
	*code = (struct function_code){.address = vaddr, .machine = search->image->module->machine};
	search->cost += WALK_COST + size;
	if (search->cost > COST_MAX)
		return false;
	code->bytes = elf_image_code(search->image, vaddr, size, &code->size);
	if (!code->bytes)
		return false;
	if (!x86_walk_open(walk, code))
		return true;
	x86_walk_close(walk);
	free((void *)code->bytes);
	return false;
}

void wrapper_search_close_code(struct function_code *code, struct x86_walk *walk)
{
	x86_walk_close(walk);
	free((void *)code->bytes);
}

uint64_t wrapper_search_target(struct wrapper_search *search, uint64_t vaddr)
{
	struct function_code code;
	struct x86_walk walk;
	bool is_stub = false;
	uint64_t slot;

	if (!search->slots.list.count ||
	    !wrapper_search_open_code(search, vaddr, STUB_SIZE, &code, &walk))
		return vaddr;
	for (int i = 0; i < STUB_INSTRUCTIONS && !is_stub && x86_walk_next(&walk); i++)
		is_stub = walk.insn->id == X86_INS_JMP &&
			  x86_indirect_slot(&walk, search->slots.base, &slot);
	wrapper_search_close_code(&code, &walk);
	return is_stub ? got_slots_find(&search->slots, slot) : vaddr;
}

bool wrapper_search_leads_to_observed(struct wrapper_search *search, const struct x86_walk *walk)
{
	uint64_t target;

	if (!x86_direct_target(walk, &target))
		return leads_through_slot(search, walk);
	if (target - walk->code->address < walk->code->size)
		return false;
	return wrapper_search_is_observed(search, target) ||
	       wrapper_search_is_observed(search, wrapper_search_target(search, target));
}

/* Returns true, and the target, for an unconditional direct jump out of the function. */
static bool is_tail_jump(const struct x86_walk *walk, uint64_t *ret_target)
{
	return walk->insn->id == X86_INS_JMP && x86_direct_target(walk, ret_target) &&
	       *ret_target - walk->code->address >= walk->code->size;
}

/* The end of the helper is unknown, so stop at its first jump or return. The jump may be a tail
 * jump to another helper. */
static bool helper_calls_observed(struct wrapper_search *search, uint64_t vaddr, int depth)
{
	struct function_code code;
	struct x86_walk walk;
	bool found = false;
	uint64_t target = 0;

	if (!vaddr || depth > HELPER_DEPTH ||
	    !wrapper_search_open_code(search, vaddr, HELPER_SIZE, &code, &walk))
		return false;
	while (!found && x86_walk_next(&walk)) {
		found = wrapper_search_leads_to_observed(search, &walk);
		if (walk.insn->id == X86_INS_JMP || x86_is_group(&walk, CS_GRP_RET))
			break;
	}
	if (found || walk.insn->id != X86_INS_JMP || !x86_direct_target(&walk, &target))
		target = 0;
	wrapper_search_close_code(&code, &walk);
	return found ||
	       (target &&
		helper_calls_observed(search, wrapper_search_target(search, target), depth + 1));
}

/* Like wrapper_detect(), for processors on which only direct jumps and calls are recognised. */
static bool detect_direct(struct wrapper_search *search, const struct arch *arch, uint64_t pointer,
			  uint64_t size)
{
	int mode = arch_code_mode(arch, pointer, false);
	uint64_t vaddr = arch_code_address(arch, pointer), target;
	size_t got = 0, step;
	bool found = false;
	uint8_t *bytes;

	search->cost += WALK_COST + size;
	if (search->cost > COST_MAX)
		return false;
	bytes = elf_image_code(search->image, vaddr, size, &got);
	for (size_t at = 0; bytes && !found && at + 1 < got; at += step) {
		uint8_t code[ARCH_CODE_MAX] = {0};

		memcpy(code, bytes + at, got - at < sizeof(code) ? got - at : sizeof(code));
		step = arch->look(code, mode, vaddr + at, &target);
		target = arch_code_address(arch, target);
		found = target - vaddr >= size && wrapper_search_is_observed(search, target);
	}
	free(bytes);
	return found;
}

bool wrapper_detect(struct wrapper_search *search, uint64_t vaddr, uint64_t size)
{
	const struct arch *arch = arch_of_machine(search->image->module->machine);
	struct function_code code;
	struct x86_walk walk;
	bool found = false;
	uint64_t target;

	if (arch)
		return detect_direct(search, arch, vaddr, size);
	if (!wrapper_search_open_code(search, vaddr, size, &code, &walk))
		return false;
	while (!found && x86_walk_next(&walk))
		found = wrapper_search_leads_to_observed(search, &walk) ||
			(is_tail_jump(&walk, &target) &&
			 helper_calls_observed(search, wrapper_search_target(search, target), 1));
	wrapper_search_close_code(&code, &walk);
	return found;
}
