// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes, as an ELF file to the CFI compiler: a table or an error, and no table that breaks what
 * the unwinder relies on.
 *
 *	clang -fsanitize=fuzzer,address,undefined …	a libFuzzer program
 *	any compiler, -DFUZZ_MAIN			runs each file of its command line once
 *
 * The seeds in corpus/cfi are small ELF files.
 */
#include <stdio.h>
#include <stdlib.h>

#include "symbol/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth, const char *what)
{
	if (truth)
		return;
	fprintf(stderr, "fuzz_cfi: %s\n", what);
	abort();
}

static void check_rows(const struct cfi_table *table)
{
	require(table->rows.count > 0, "a table has a row");
	for (size_t i = 0; i < table->rows.count; i++) {
		const struct unwind_row *row = &table->rows.items[i];

		require(i == 0 || row->offset > row[-1].offset, "rows are in order");
		require(unwind_row_cfa(row) <= UNWIND_CFA_GAP, "the CFA's kind is one");
		require(unwind_row_bp(row) <= UNWIND_BP_LOST, "the frame pointer's kind is one");
		require(cfi_table_find(table, row->offset) == row, "a row is found");
	}
	require(unwind_row_cfa(&table->rows.items[table->rows.count - 1]) == UNWIND_CFA_GAP,
		"a gap ends the last function");
}

/* Every row that is kept says what the full table says there. */
static void check_pruned(const struct cfi_table *pruned, const struct cfi_table *full)
{
	const struct unwind_row *row;

	vec_each (row, &pruned->rows) {
		const struct unwind_row *other = cfi_table_find(full, row->offset);

		require(row->kinds == other->kinds && row->cfa_offset == other->cfa_offset &&
				row->bp_offset == other->bp_offset,
			"pruning changes no row");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_table full, pruned;

	if (cfi_table_build_image(data, size, true, &full, NULL))
		return 0;
	check_rows(&full);
	if (!cfi_table_build_image(data, size, false, &pruned, NULL)) {
		check_rows(&pruned);
		check_pruned(&pruned, &full);
		cfi_table_free(&pruned);
	}
	cfi_table_free(&full);
	return 0;
}

#ifdef FUZZ_MAIN

static void run_file(const char *path)
{
	FILE *file = fopen(path, "re");
	size_t capacity = 1 << 24, size;
	uint8_t *data = malloc(capacity);

	require(file && data, "a file can be read");
	size = fread(data, 1, capacity, file);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_file(argv[i]);
	return 0;
}

#endif
