// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An ELF file as input of everything that decides about probes: its module data, its allocation
 * functions, the probe plan, and its requirements of the dynamic linker.
 */
#include "fuzz.h"

#include <string.h>

#include "os/library/elf_dynamic.h"
#include "symbol/elf/module.h"
#include "symbol/elf/module_table.h"
#include "symbol/probe_site/plan.h"

static bool is_text(const char *text, size_t size)
{
	return memchr(text, 0, size);
}

static void check_segments(const struct module *module)
{
	require(strlen(module->build_id) <= 40 && strlen(module->build_id) % 2 == 0,
		"a build id is bytes");
	for (size_t i = 0; i < module->segment_count; i++) {
		uint64_t vaddr;
		int err = module_offset_to_vaddr(module, module->segments[i].offset, &vaddr);

		require(!err || !module->segments[i].size, "a segment's first byte has an address");
	}
}

static void check_site(const struct probe_site *site, size_t file_size)
{
	require(site->api > API_NONE && site->api < API_COUNT, "a site's api is one");
	require(site->offset >= site->entry, "a site is not before its function");
	require(site->offset < file_size, "a site is in the file");
	require(is_text(site->symbol, sizeof(site->symbol)) &&
			is_text(site->instruction, sizeof(site->instruction)) &&
			is_text(site->reason, sizeof(site->reason)),
		"a site's texts end");
}

static void check_plan(const struct probe_plan *plan, size_t file_size)
{
	for (size_t i = 0; i < plan->site_count; i++) {
		check_site(&plan->sites[i], file_size);
		require(!i || plan->sites[i].offset > plan->sites[i - 1].offset,
			"sites are in order, one per address");
	}
	for (size_t i = 0; i < plan->exit_count; i++)
		require(plan->exits[i].offset < file_size && plan->exits[i].kind < EXIT_COUNT &&
				(!i || plan->exits[i].offset > plan->exits[i - 1].offset),
			"exits are in the file, in order, one per address");
	for (size_t i = 0; i < plan->refusal_count; i++)
		require(is_text(plan->refusals[i].reason, sizeof(plan->refusals[i].reason)),
			"a reason ends");
}

/* The original byte is the one that the breakpoint will replace. */
static void check_originals(const struct probe_plan *plan, const uint8_t *data)
{
	for (size_t i = 0; i < plan->site_count; i++)
		require(plan->sites[i].original == data[plan->sites[i].offset],
			"the original byte is the file's");
}

static void plan_probes(struct module_table *table, int fd, const uint8_t *data, size_t size)
{
	const struct probe_plan *plan;
	struct module *module;
	struct error err;

	if (module_intern(table, fd, "fuzz", &module, &err)) {
		require(err.text[0], "an error has words");
		close(fd);
		return;
	}
	check_segments(module);
	if (probe_plan_make(module, &plan, &err))
		return;
	check_plan(plan, size);
	check_originals(plan, data);
}

static void read_dynamic(int fd)
{
	struct elf_dynamic dynamic;

	if (elf_dynamic_read(fd, &dynamic))
		return;
	for (size_t i = 0; i < dynamic.needed.count; i++)
		require(dynamic.needed.items[i][0], "a library that is needed has a name");
	elf_dynamic_free(&dynamic);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct module_table *table;
	int fd = fuzz_file(data, size);

	require(!module_table_new(&table), "there is memory");
	read_dynamic(fd);
	plan_probes(table, fd, data, size);
	module_table_free(table);
	return 0;
}
