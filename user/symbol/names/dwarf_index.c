// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Idea: two levels of sorted address ranges. The first level has the ranges of all units and is
 * built at once, from one entry of each unit. The second level has the ranges of one unit's
 * functions and is built on the first lookup in that unit: one pass over the unit's outer entries,
 * where DW_AT_sibling skips the contents of functions. Inlined calls are found by walking down from
 * the function. A lookup costs two binary searches and the walk down. In contrast, libdw's
 * dwarf_getscopes visits the whole unit each time, and its address index needs .debug_aranges,
 * which clang does not write.
 *
 * Invariant: a walk visits entries in ascending order of offset, which is their order in a
 * well-formed tree. Entries that lead back are ignored, so a malformed file cannot cause an endless
 * walk, and the cost of a walk is bounded by the size of the unit.
 */
#include "symbol/names/dwarf_index.h"

#include <dwarf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/vec.h"

#define NESTING_MAX   32 /* of namespaces and types around a function */
#define OVERLAPS_MAX  64 /* ranges to check, starting from the one that begins last */
#define BLOCK_NESTING 256

struct dwarf_range {
	Dwarf_Addr low;
	Dwarf_Addr high; /* past the last byte */
	Dwarf_Off die;   /* of the function */
	uint32_t unit;
};

struct code_ranges {
	VEC(struct dwarf_range) list;
};

struct dwarf_unit {
	Dwarf_Off die;
	bool is_read;
	struct code_ranges functions;
};

struct dwarf_index {
	Dwarf *dwarf;
	VEC(struct dwarf_unit) units;
	struct code_ranges unit_ranges;
};

/* A walk through entries in ascending order of offset. */
struct die_walk {
	Dwarf_Off last;
	struct code_ranges *ranges;
};

static int add_ranges(struct code_ranges *ranges, Dwarf_Die *die, uint32_t unit)
{
	Dwarf_Off die_offset = dwarf_dieoffset(die);
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;

	while ((offset = dwarf_ranges(die, offset, &base, &low, &high)) > 0) {
		if (!low || low >= high) /* code that the linker discarded */
			continue;
		if (vec_push(&ranges->list, (struct dwarf_range){low, high, die_offset, unit}))
			return -ENOMEM;
	}
	return 0;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct dwarf_range *one = a, *other = b;

	return (one->low > other->low) - (one->low < other->low);
}

static void sort_ranges(struct code_ranges *ranges)
{
	if (ranges->list.count)
		qsort(ranges->list.items, ranges->list.count, sizeof(*ranges->list.items),
		      compare_ranges);
}

/* Number of ranges that begin at or before the address. */
static size_t count_up_to(const struct code_ranges *ranges, Dwarf_Addr address)
{
	size_t low = 0, high = ranges->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->list.items[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static const struct dwarf_range *find_range(const struct code_ranges *ranges, Dwarf_Addr address)
{
	size_t end = count_up_to(ranges, address);

	for (size_t i = end; i > 0 && end - i < OVERLAPS_MAX; i--)
		if (address < ranges->list.items[i - 1].high)
			return &ranges->list.items[i - 1];
	return NULL;
}

/* Steps to the first child of `parent` or, if that is NULL, from `die` to its sibling. */
static bool walk_step(struct die_walk *walk, Dwarf_Die *parent, Dwarf_Die *die)
{
	Dwarf_Off offset;

	if (parent ? dwarf_child(parent, die) : dwarf_siblingof(die, die))
		return false;
	offset = dwarf_dieoffset(die);
	if (offset <= walk->last)
		return false;
	walk->last = offset;
	return true;
}

static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static int collect_functions(struct die_walk *walk, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	int code = 0;

	if (depth >= NESTING_MAX || !walk_step(walk, parent, &die))
		return 0;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			code = add_ranges(walk->ranges, &die, 0);
		else if (holds_functions(tag))
			code = collect_functions(walk, &die, depth + 1);
	} while (!code && walk_step(walk, NULL, &die));
	return code;
}

static int collect_units(struct dwarf_index *index)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (!dwarf_get_units(index->dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		uint32_t number = (uint32_t)index->units.count;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (vec_push(&index->units, (struct dwarf_unit){.die = dwarf_dieoffset(&die)}) ||
		    add_ranges(&index->unit_ranges, &die, number))
			return -ENOMEM;
	}
	sort_ranges(&index->unit_ranges);
	return 0;
}

int dwarf_index_new(Dwarf *dwarf, struct dwarf_index **ret_index)
{
	struct dwarf_index *index = calloc(1, sizeof(*index));

	if (!index)
		return -ENOMEM;
	index->dwarf = dwarf;
	if (collect_units(index)) {
		dwarf_index_free(index);
		return -ENOMEM;
	}
	*ret_index = index;
	return 0;
}

void dwarf_index_free(struct dwarf_index *index)
{
	struct dwarf_unit *unit;

	if (!index)
		return;
	vec_each (unit, &index->units)
		vec_free(&unit->functions.list);
	vec_free(&index->units);
	vec_free(&index->unit_ranges.list);
	free(index);
}

static const struct code_ranges *unit_functions(struct dwarf_unit *unit, Dwarf_Die *die)
{
	struct die_walk walk = {.ranges = &unit->functions};

	if (!unit->is_read) {
		unit->is_read = true;
		collect_functions(&walk, die, 0);
		sort_ranges(&unit->functions);
	}
	return &unit->functions;
}

/* Finds the inlined call or lexical block of `parent` that contains the address. */
static bool find_inner(struct die_walk *walk, Dwarf_Die *parent, Dwarf_Addr address,
		       Dwarf_Die *ret_inner)
{
	if (!walk_step(walk, parent, ret_inner))
		return false;
	do {
		int tag = dwarf_tag(ret_inner);

		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(ret_inner, address) == 1)
			return true;
	} while (walk_step(walk, NULL, ret_inner));
	return false;
}

static void descend(struct dwarf_place *place, Dwarf_Addr address)
{
	struct die_walk walk = {0};
	Dwarf_Die scope = place->scopes[0];
	Dwarf_Die inner;

	for (int i = 0; i < BLOCK_NESTING && find_inner(&walk, &scope, address, &inner); i++) {
		scope = inner;
		if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine)
			continue;
		if (place->scope_count == INLINE_DEPTH_MAX)
			return;
		place->scopes[place->scope_count++] = scope;
	}
}

bool dwarf_index_find(struct dwarf_index *index, Dwarf_Addr address, struct dwarf_place *ret_place)
{
	const struct dwarf_range *range = find_range(&index->unit_ranges, address);
	struct dwarf_unit *unit;

	ret_place->scope_count = 0;
	if (!range)
		return false;
	unit = &index->units.items[range->unit];
	if (!dwarf_offdie(index->dwarf, unit->die, &ret_place->unit))
		return false;
	range = find_range(unit_functions(unit, &ret_place->unit), address);
	if (range && dwarf_offdie(index->dwarf, range->die, &ret_place->scopes[0])) {
		ret_place->scope_count = 1;
		descend(ret_place, address);
	}
	return true;
}
