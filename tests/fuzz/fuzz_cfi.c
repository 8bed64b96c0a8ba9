// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An ELF file as input of the CFI compiler: from memory, and as a file that is its own debug file,
 * whose compressed sections are read as well.
 */
#include "fuzz.h"

#include <elf.h>
#include <endian.h>
#include <string.h>

#include "symbol/cfi/machine.h"
#include "symbol/cfi_table.h"

static void check_rows(const struct cfi_table *table)
{
	require(table->rows.count > 0, "a table has a row");
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct unwind_row *row = &table->rows.items[i];

		require(i == 0 || row->offset > row[-1].offset, "rows are in order");
		require(unwind_row_cfa(row) <=
				(table->abi->link ? UNWIND_CFA_LAST : UNWIND_CFA_GAP),
			"the CFA's kind is one");
		require(table->abi->link || unwind_row_bp(row) <= UNWIND_BP_LOST,
			"the frame pointer's kind is one");
		require(cfi_table_find(table, row->offset) == row, "a row is found");
	}
	require(unwind_row_cfa(&table->rows.items[table->rows.count - 1]) == UNWIND_CFA_GAP,
		"a gap ends the last function");
}

static bool is_same(const struct unwind_row *one, const struct unwind_row *other)
{
	return one->kinds == other->kinds && one->cfa_offset == other->cfa_offset &&
	       one->bp_offset == other->bp_offset;
}

/*
 * Each row that was kept equals that of the full table. On Arm they may differ (say less, or cover
 * instructions that are not calls), so this is not checked there.
 */
static void check_pruned(const struct cfi_table *pruned, const struct cfi_table *full)
{
	const struct unwind_row *row;

	if (pruned->abi->link == UNWIND_LINK_PUSHED)
		return;
	vec_each (row, &pruned->rows) {
		const struct unwind_row *other = cfi_table_find(full, row->offset);

		require(is_same(row, other), "pruning changes no row");
	}
}

static unsigned int machine_of(const uint8_t *data)
{
	uint16_t number;

	memcpy(&number, data + offsetof(Elf32_Ehdr, e_machine), sizeof(number));
	return data[EI_DATA] == ELFDATA2MSB ? be16toh(number) : le16toh(number);
}

/* After each call, the pruned table equals the full one. */
static void check_calls(const struct cfi_table *pruned, const struct cfi_table *full,
			const uint8_t *data, size_t size)
{
	unsigned int machine = machine_of(data);
	size_t step = pruned->abi->link ? 4 : 1;

	if (pruned->abi->link == UNWIND_LINK_PUSHED)
		return;
	for (size_t at = CFI_CALL_MAX; at <= size; at += step)
		require(!cfi_can_return_behind(machine, data + at - CFI_CALL_MAX) ||
				is_same(cfi_table_find(pruned, at - 1),
					cfi_table_find(full, at - 1)),
			"calls have their rows");
}

static void check_full(const struct cfi_table *full, const uint8_t *data, size_t size)
{
	struct cfi_table pruned;

	check_rows(full);
	if (cfi_table_build_image(data, size, false, &pruned, NULL))
		return;
	check_rows(&pruned);
	check_pruned(&pruned, full);
	check_calls(&pruned, full, data, size);
	cfi_table_free(&pruned);
}

/* The file describes at least as much as its bytes. */
static void check_file(const struct cfi_table *full, const uint8_t *data, size_t size)
{
	int fd = fuzz_file(data, size);
	struct cfi_table table;

	if (!cfi_table_build_split(fd, fd, true, &table, NULL)) {
		check_rows(&table);
		require(table.counts.functions >= full->counts.functions,
			"a debug file takes nothing away");
		cfi_table_free(&table);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_table full;

	if (cfi_table_build_image(data, size, true, &full, NULL))
		return 0;
	check_full(&full, data, size);
	check_file(&full, data, size);
	cfi_table_free(&full);
	return 0;
}
