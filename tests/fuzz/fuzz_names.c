// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An ELF file with debug information as input of the symbolizer, asked for many places in its code.
 */
#include "fuzz.h"

#include <string.h>

#include "symbol/elf/module.h"
#include "symbol/elf/module_table.h"
#include "symbol/names/symbolizer.h"

#define NAMES  16
#define PLACES 64 /* per segment */

static void ask(struct symbolizer *symbolizer, const struct module *module, uint64_t offset)
{
	struct symbol_name names[NAMES];
	size_t count = symbolizer_names(symbolizer, module, offset, names, NAMES);

	require(count <= NAMES, "no more names than asked for");
	for (size_t i = 0; i < count; i++) {
		require(!names[i].function || strlen(names[i].function) > 0, "a name is not empty");
		require(!names[i].file || strlen(names[i].file) < SIZE_MAX, "a file's name ends");
	}
	require(!count || count == NAMES || !names[count - 1].inlined, "the last frame is called");
}

static void ask_all(struct symbolizer *symbolizer, const struct module *module)
{
	for (size_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segments[i];
		uint64_t step = segment->size < 4 * PLACES ? 4 : segment->size / PLACES;

		for (uint64_t k = 0; segment->executable && k < PLACES; k++)
			ask(symbolizer, module, segment->offset + k * step);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbolizer_config config = {0};
	struct symbolizer *symbolizer = NULL;
	struct module_table *table;
	struct module *module;
	int fd = fuzz_file(data, size);

	require(!module_table_new(&table) && !symbolizer_new(&symbolizer, &config),
		"there is memory");
	if (module_intern(table, fd, "fuzz", &module, NULL))
		close(fd);
	else
		ask_all(symbolizer, module);
	symbolizer_free(symbolizer);
	module_table_free(table);
	return 0;
}
