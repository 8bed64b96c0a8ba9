/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/unwind.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "mtrace.skel.h"

/* A map that is mapped into our memory. */
struct area {
	void *items;
	size_t bytes;
};

struct maps {
	struct unwind_publisher publisher;
	struct mtrace_bpf *skeleton;
	struct area rows;
	struct area pages;
};

static int area_map(struct area *area, const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	area->bytes = (size_t)bpf_map__max_entries(map) * bpf_map__value_size(map);
	area->bytes = (area->bytes + page - 1) & ~(page - 1);
	area->items =
		mmap(NULL, area->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (area->items != MAP_FAILED)
		return 0;
	area->items = NULL;
	return -errno;
}

static void area_unmap(struct area *area)
{
	if (area->items)
		munmap(area->items, area->bytes);
}

static void maps_close(void *ctx)
{
	struct maps *maps = ctx;

	area_unmap(&maps->rows);
	area_unmap(&maps->pages);
	free(maps);
}

static void maps_file(void *ctx, struct unwind_file_key key, struct unwind_file file)
{
	struct mtrace_bpf *skeleton = ((const struct maps *)ctx)->skeleton;

	if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.unwind_files), &key, &file, BPF_ANY))
		log_warn("cannot publish an unwind table: %s", strerror(errno));
	__atomic_add_fetch(&skeleton->bss->unwind_published, 1, __ATOMIC_RELEASE);
}

static void maps_exact(void *ctx, const struct unwind_exact_key *key, const struct unwind_row *row)
{
	const struct mtrace_bpf *skeleton = ((const struct maps *)ctx)->skeleton;

	bpf_map_update_elem(bpf_map__fd(skeleton->maps.unwind_exact), key, row, BPF_ANY);
}

static uint32_t maps_generation(void *ctx, pid_t pid)
{
	const uint32_t *generations = ((const struct maps *)ctx)->skeleton->bss->code_generations;

	return __atomic_load_n(&generations[(uint32_t)pid % CODE_GENERATIONS], __ATOMIC_ACQUIRE);
}

static void maps_code(void *ctx, pid_t pid, const struct code_mapping *code)
{
	const struct mtrace_bpf *skeleton = ((const struct maps *)ctx)->skeleton;
	struct code_mapping published = *code;
	struct code_region key = {
		.region = code->start >> CODE_REGION_SHIFT,
		.pid = (uint32_t)pid,
		.generation = code->generation,
	};

	published.published = skeleton->bss->unwind_published;
	for (int i = 0; i < CODE_REGION_FILL; i++, key.region++)
		if (key.region << CODE_REGION_SHIFT < code->start + code->size)
			bpf_map_update_elem(bpf_map__fd(skeleton->maps.code_mappings), &key,
					    &published, BPF_ANY);
}

static int maps_open(struct maps *maps, const struct loaded_programs *program,
		     struct parser *parser, struct unwind_tables **ret_tables)
{
	const struct bpf_map *rows = program->skeleton->maps.unwind_rows;
	const struct bpf_map *pages = program->skeleton->maps.unwind_pages;
	int err = area_map(&maps->rows, rows);

	if (!err)
		err = area_map(&maps->pages, pages);
	if (err)
		return err;
	maps->skeleton = program->skeleton;
	maps->publisher = (struct unwind_publisher){.file = maps_file,
						    .exact = maps_exact,
						    .code = maps_code,
						    .generation = maps_generation,
						    .close = maps_close,
						    .ctx = maps};
	return unwind_tables_new_at(maps->rows.items, bpf_map__max_entries(rows), maps->pages.items,
				    bpf_map__max_entries(pages), parser, &maps->publisher,
				    ret_tables);
}

int unwind_tables_new(const struct loaded_programs *program, struct parser *parser,
		      struct unwind_tables **ret_tables)
{
	struct maps *maps = calloc(1, sizeof(*maps));
	int err = maps ? maps_open(maps, program, parser, ret_tables) : -ENOMEM;

	if (err && maps)
		maps_close(maps);
	return err;
}
