// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the exits of a function: every instruction at which a call of it can end, in its own code
 * and in all code that it jumps to. At a `ret` the stack pointer is back where it was at the entry
 * and the result is in its register. So a probe there sees what a return probe would see, but
 * leaves the stack as the C++ unwinder expects it.
 *
 * Idea: follow the control flow from the entry, along both sides of conditional jumps, through
 * direct jumps wherever they lead, through jumps via the object's own global offset table, and past
 * calls. If control leaves through something that cannot be followed (a jump through a register or
 * into another object), the end of the call is not seen, and it is counted as missed.
 *
 * Calls that do not return (__cxa_throw) are passed like any other, although the next function may
 * follow them. Call frame information says where a function ends, and a path ends there, too.
 *
 * Each address is visited at most twice: before and after the path has called an observed function.
 * If no path ends before that, every call of the function also calls an observed function, so it
 * needs no probe of its own.
 *
 * Cost: linear in the size of the reached code, which is bounded (wrapper_search_open_code).
 */
#include "symbol/probe_site/exit_search.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbol/cfi/object.h"
#include "symbol/probe_site/x86_code.h"

#define EXITS_MAX 64
#define CALLED    1u /* this path has called an observed function */

struct exit_place {
	uint64_t vaddr;
	unsigned int state; /* 0 or CALLED */
};

struct explorer {
	struct exit_search *search;
	struct function_exits *exits;
	uint64_t entry;
	struct map64 seen; /* address → bit mask of 1 << state */
	VEC(struct exit_place) todo;
	struct function_code code; /* of the current range */
	struct x86_walk walk;
	struct exit_place at;
	bool ended;
	int err;
};

/*
 * The ranges of functions.
 */

static int compare_ranges(const void *a, const void *b)
{
	const struct code_range *one = a, *other = b;

	return (one->start > other->start) - (one->start < other->start);
}

static int take_entries(struct exit_search *search, const struct cfi_entries *entries)
{
	const struct cfi_fde *fde;

	vec_each (fde, &entries->fdes)
		if (fde->size && vec_push(&search->ranges,
					  (struct code_range){fde->vaddr, fde->vaddr + fde->size}))
			return -ENOMEM;
	if (search->ranges.count)
		qsort(search->ranges.items, search->ranges.count, sizeof(*search->ranges.items),
		      compare_ranges);
	return 0;
}

static int read_ranges(struct exit_search *search)
{
	struct cfi_entries entries = {0};
	struct cfi_object object;
	struct cfi_section section;
	struct error err;
	int code = cfi_object_open(
		&object, elf_begin(search->wrappers->image->module->fd, ELF_C_READ_MMAP, NULL),
		true, &err);

	if (code)
		return code == -ENOMEM ? code : 0;
	if (cfi_object_eh_frame(&object, &section))
		code = cfi_section_read(&section, &entries);
	if (!code)
		code = take_entries(search, &entries);
	cfi_entries_free(&entries);
	cfi_object_close(&object);
	return code == -ENOMEM ? code : 0;
}

int exit_search_open(struct exit_search *search, struct wrapper_search *wrappers,
		     const struct map64 *candidates)
{
	*search = (struct exit_search){.wrappers = wrappers, .candidates = candidates};
	return wrappers->image->module->machine == EM_X86_64 ? read_ranges(search) : 0;
}

void exit_search_close(struct exit_search *search)
{
	vec_free(&search->ranges);
}

void function_exits_free(struct function_exits *exits)
{
	vec_free(&exits->list);
}

static const struct code_range *find_range(const struct exit_search *search, uint64_t vaddr)
{
	size_t low = 0, high = search->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (search->ranges.items[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || vaddr >= search->ranges.items[low - 1].end)
		return NULL;
	return &search->ranges.items[low - 1];
}

/*
 * Control flow.
 */

static void object_to(struct explorer *explorer, const char *why)
{
	explorer->exits->objection = why;
	explorer->ended = true;
}

/* Ends the path, in the function's own code or where it cannot be followed further. */
static void end_own_path(struct explorer *explorer)
{
	explorer->ended = true;
	if (explorer->at.state != CALLED)
		explorer->exits->has_own_path = true;
}

static void add_exit(struct explorer *explorer, enum exit_kind kind)
{
	struct function_exit added = {explorer->walk.insn->address, kind}, *known;
	struct function_exits *exits = explorer->exits;

	vec_each (known, &exits->list)
		if (known->vaddr == added.vaddr)
			return;
	if (exits->list.count >= EXITS_MAX)
		object_to(explorer, "it has too many exits");
	else if (vec_push(&exits->list, added))
		explorer->err = -ENOMEM;
}

static void push_place(struct explorer *explorer, uint64_t vaddr)
{
	struct exit_place place = {.vaddr = vaddr, .state = explorer->at.state};

	if (vec_push(&explorer->todo, place))
		explorer->err = -ENOMEM;
}

/* Follows a jump, possibly through a stub of the procedure linkage table. */
static void jump_to(struct explorer *explorer, uint64_t target)
{
	struct wrapper_search *wrappers = explorer->search->wrappers;

	explorer->ended = true;
	if (target - explorer->code.address >= explorer->code.size)
		target = wrapper_search_target(wrappers, target);
	if (target == explorer->entry)
		object_to(explorer, "it jumps to its own entry");
	else if (target && wrapper_search_is_observed(wrappers, target)) {
		explorer->exits->calls_observed = true;
		add_exit(explorer, EXIT_HANDS_OVER);
	} else if (!find_range(explorer->search, target))
		end_own_path(explorer);
	else
		push_place(explorer, target);
	if (map64_get(explorer->search->candidates, target) != MAP64_NONE)
		explorer->exits->enters_candidate = true;
}

static void step_jump(struct explorer *explorer)
{
	uint64_t target, slot;

	if (x86_direct_target(&explorer->walk, &target)) {
		jump_to(explorer, target);
		return;
	}
	if (x86_indirect_slot(&explorer->walk, 0, &slot))
		target = got_slots_find(&explorer->search->wrappers->slots, slot);
	else
		target = 0;
	jump_to(explorer, target);
}

static void step_branch(struct explorer *explorer)
{
	uint64_t target;

	if (!x86_direct_target(&explorer->walk, &target) || !find_range(explorer->search, target) ||
	    target == explorer->entry ||
	    wrapper_search_is_observed(explorer->search->wrappers, target))
		object_to(explorer, "a conditional jump leaves it");
	else
		push_place(explorer, target);
}

static void step_call(struct explorer *explorer)
{
	if (!wrapper_search_leads_to_observed(explorer->search->wrappers, &explorer->walk))
		return;
	explorer->exits->calls_observed = true;
	explorer->at.state = CALLED;
}

static void step(struct explorer *explorer)
{
	switch (explorer->walk.insn->id) {
	case X86_INS_RET:
		add_exit(explorer, EXIT_RETURN);
		end_own_path(explorer);
		return;
	case X86_INS_JMP:
		step_jump(explorer);
		return;
	case X86_INS_INT3:
	case X86_INS_UD2:
	case X86_INS_HLT:
		explorer->ended = true;
		return;
	}
	if (x86_is_group(&explorer->walk, CS_GRP_CALL))
		step_call(explorer);
	else if (x86_is_group(&explorer->walk, CS_GRP_JUMP))
		step_branch(explorer);
}

/* Marks the address as seen. Returns false if it was seen in this state before. */
static bool see(struct explorer *explorer)
{
	uint64_t vaddr = explorer->walk.insn->address;
	uint32_t seen = map64_get(&explorer->seen, vaddr);
	uint32_t bit = 1u << explorer->at.state;

	if (seen == MAP64_NONE)
		seen = 0;
	if (seen & bit)
		return false;
	if (map64_set(&explorer->seen, vaddr, seen | bit))
		explorer->err = -ENOMEM;
	return true;
}

static void follow_path(struct explorer *explorer)
{
	explorer->walk.offset = explorer->at.vaddr - explorer->code.address;
	explorer->ended = false;
	while (!explorer->ended && !explorer->err) {
		if (!x86_walk_next(&explorer->walk)) {
			if (!x86_walk_is_complete(&explorer->walk))
				object_to(explorer, "its code cannot be decoded");
			return;
		}
		if (!see(explorer))
			return;
		step(explorer);
	}
}

/* Reuses the open code if the path continues in the same function. */
static void enter_place(struct explorer *explorer)
{
	const struct code_range *range = find_range(explorer->search, explorer->at.vaddr);

	if (range && explorer->code.bytes && explorer->code.address == range->start) {
		follow_path(explorer);
		return;
	}
	if (explorer->code.bytes)
		wrapper_search_close_code(&explorer->code, &explorer->walk);
	explorer->code.bytes = NULL;
	if (!range || !wrapper_search_open_code(explorer->search->wrappers, range->start,
						range->end - range->start, &explorer->code,
						&explorer->walk)) {
		explorer->code.bytes = NULL;
		object_to(explorer, "its code cannot be read");
		return;
	}
	follow_path(explorer);
}

int exit_search_run(struct exit_search *search, uint64_t vaddr, struct function_exits *exits)
{
	struct explorer explorer = {.search = search, .exits = exits, .entry = vaddr};

	if (!find_range(search, vaddr))
		exits->objection = "the end of its code is unknown";
	else
		push_place(&explorer, vaddr);
	while (!explorer.err && !exits->objection && explorer.todo.count) {
		explorer.at = explorer.todo.items[--explorer.todo.count];
		enter_place(&explorer);
	}
	if (explorer.code.bytes)
		wrapper_search_close_code(&explorer.code, &explorer.walk);
	map64_free(&explorer.seen);
	vec_free(&explorer.todo);
	return explorer.err;
}
