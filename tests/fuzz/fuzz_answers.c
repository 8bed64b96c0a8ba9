// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as an answer of a parser that a hostile file has taken over. The answer must be
 * refused, or keep what the tracer relies on. The first byte selects the kind of answer.
 *
 * 	clang -fsanitize=fuzzer,address,undefined …	a libFuzzer program
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parser/wire/protocol.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth, const char *what)
{
	if (truth)
		return;
	fprintf(stderr, "fuzz_answers: %s\n", what);
	abort();
}

static void try_module(struct wire_view view)
{
	struct module module = {0};

	if (module_take(&view, &module))
		return;
	require(strlen(module.build_id) < sizeof(module.build_id), "a build id has an end");
	free(module.segments);
}

static void try_plan(struct wire_view view)
{
	struct module_segment segment = {.size = 1 << 20, .executable = true};
	const struct module module = {.segments = &segment, .segment_count = 1};
	struct probe_plan *plan;

	if (plan_take(&view, &module, &plan))
		return;
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct probe_site *site = &plan->sites[i];

		require(site->offset < segment.size, "a site is code");
		require(site->api > API_NONE && site->api < API_COUNT, "an api is one");
		require(i == 0 || site->offset >= site[-1].offset, "sites are in order");
	}
	probe_plan_free(plan);
}

static void try_table(struct wire_view view)
{
	struct cfi_table table;

	if (table_take(&view, &table))
		return;
	require(table.rows.count > 0, "a table has a row");
	for (size_t i = 1; i < table.rows.count; i++)
		require(table.rows.items[i].offset > table.rows.items[i - 1].offset,
			"rows are in order");
	cfi_table_free(&table);
}

static void try_names(struct wire_view view)
{
	struct symbol_name names[PROTOCOL_INLINE_MAX];
	size_t count, length = 0;

	while (view.at < view.end && !names_take(&view, names, &count)) {
		require(count <= PROTOCOL_INLINE_MAX, "names fit");
		for (size_t i = 0; i < count; i++)
			length += names[i].function ? strlen(names[i].function) : 0;
	}
	require(length < SIZE_MAX, "names have an end");
}

static void try_dynamic(struct wire_view view)
{
	struct elf_dynamic dynamic;

	if (!dynamic_take(&view, &dynamic))
		elf_dynamic_free(&dynamic);
}

static void try_prefetched(struct wire_view view)
{
	struct wire parts[PREFETCH_KINDS];
	size_t size = (size_t)(view.end - view.at);

	if (prefetch_take(&view, parts))
		return;
	for (int kind = 0; kind < PREFETCH_KINDS; kind++) {
		require(parts[kind].count <= size, "parts are parts");
		wire_free(&parts[kind]);
	}
}

static void try_want(struct wire_view view)
{
	struct debug_want want;

	if (!want_take(&view, &want))
		require(want.build_id_size <= DEBUG_BUILD_ID_MAX, "a build id fits");
}

static void try_failure(struct wire_view view)
{
	struct error err;

	if (!failure_take(&view, &err))
		require(err.code < 0, "a failure is one");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const tries[])(struct wire_view view) = {
		try_module,  try_plan, try_table,   try_names,
		try_dynamic, try_want, try_failure, try_prefetched,
	};
	struct wire_view view = {.at = data + 1, .end = data + size};

	if (size)
		tries[data[0] % (sizeof(tries) / sizeof(tries[0]))](view);
	return 0;
}
