// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two arrays only grow: rows, those of one file behind those of another, and pages, of which each
 * says between which two rows to search for an offset in it. What was published is never moved or
 * changed, since a program may be searching it. The file's key is published last; then the count
 * of published tables is raised, which makes the programs forget what they knew of mappings.
 */
#include "source/unwind_tables.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map64.h"
#include "base/vec.h"
#include "mtrace.skel.h"
#include "symbol/cfi.h"

/* A map in our memory. */
struct area {
	void *items;
	size_t bytes;
	uint32_t count;
	uint32_t capacity;
};

struct published {
	struct unwind_file_key key;
	uint32_t module;
};

struct unwind_tables {
	const struct program *program;
	struct area rows;
	struct area pages;
	struct map64 of_module;        /* module id → index into files */
	VEC(struct unwind_file) files; /* of pages 0: the module has no table */
	struct map64 of_key;           /* key_hash() → index into published */
	VEC(struct published) published;
};

/*
 * The maps.
 */

static int area_map(struct area *area, const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	area->capacity = bpf_map__max_entries(map);
	area->bytes = ((size_t)area->capacity * bpf_map__value_size(map) + page - 1) & ~(page - 1);
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

int unwind_tables_new(const struct program *program, struct unwind_tables **ret_tables)
{
	struct unwind_tables *tables = calloc(1, sizeof(*tables));
	int err;

	if (!tables)
		return -ENOMEM;
	tables->program = program;
	tables->pages.count = 1; /* page 0 means none */
	err = area_map(&tables->rows, program->skeleton->maps.unwind_rows);
	if (!err)
		err = area_map(&tables->pages, program->skeleton->maps.unwind_pages);
	if (err) {
		unwind_tables_free(tables);
		return err;
	}
	*ret_tables = tables;
	return 0;
}

void unwind_tables_free(struct unwind_tables *tables)
{
	if (!tables)
		return;
	area_unmap(&tables->rows);
	area_unmap(&tables->pages);
	map64_free(&tables->of_module);
	map64_free(&tables->of_key);
	vec_free(&tables->files);
	vec_free(&tables->published);
	free(tables);
}

/*
 * Tables.
 */

/* For each page the row that holds at its first byte, and the last that starts in it. Before the
 * first row nothing holds: there the first page's search finds that row, and sees that it lies
 * behind. */
static void fill_pages(struct unwind_tables *tables, const struct cfi_table *table,
		       const struct unwind_file *file)
{
	struct unwind_page *page = (struct unwind_page *)tables->pages.items + file->pages;
	uint32_t row = 0, first = tables->rows.count;

	for (uint32_t i = 0; i < file->page_count; i++, page++) {
		uint64_t start = (uint64_t)(file->first_page + i) << UNWIND_PAGE_SHIFT;

		while (row + 1 < table->rows.count && table->rows.items[row + 1].offset <= start)
			row++;
		page->first = first + row;
		while (row + 1 < table->rows.count &&
		       table->rows.items[row + 1].offset < start + UNWIND_PAGE_SIZE)
			row++;
		page->last = first + row;
	}
}

static void lay_out(struct unwind_tables *tables, const struct cfi_table *table,
		    struct unwind_file *ret_file)
{
	const struct unwind_row *rows = table->rows.items;
	struct unwind_file file = {
		.pages = tables->pages.count,
		.first_page = rows[0].offset >> UNWIND_PAGE_SHIFT,
	};
	uint32_t last_page = rows[table->rows.count - 1].offset >> UNWIND_PAGE_SHIFT;

	file.page_count = last_page - file.first_page + 1;
	if (table->rows.count > tables->rows.capacity - tables->rows.count ||
	    file.page_count > tables->pages.capacity - tables->pages.count)
		return;
	memcpy((struct unwind_row *)tables->rows.items + tables->rows.count, rows,
	       table->rows.count * sizeof(*rows));
	fill_pages(tables, table, &file);
	tables->rows.count += (uint32_t)table->rows.count;
	tables->pages.count += file.page_count;
	*ret_file = file;
}

/* Compile. What has no table gets a file without pages. */
static int compile(struct unwind_tables *tables, const struct module *module,
		   struct unwind_file *ret_file)
{
	struct cfi_table table = {0};
	struct error err = {0};
	int code;

	*ret_file = (struct unwind_file){0};
	if (module->machine != EM_X86_64 || !module->elf64)
		return 0;
	code = cfi_table_build(module->fd, false, &table, &err);
	if (code) {
		log_info("%s: %s", module->path, err.text);
		return code == -ENOMEM ? code : 0;
	}
	if (table.rows.count)
		lay_out(tables, &table, ret_file);
	if (ret_file->pages)
		log_debug("%s: %zu unwind rows", module->path, table.rows.count);
	else
		log_warn("%s: no room for its unwind table: stacks end there", module->path);
	cfi_table_free(&table);
	return 0;
}

/* The module's table, laid out once. */
static int file_of_module(struct unwind_tables *tables, const struct module *module,
			  struct unwind_file *ret_file)
{
	uint32_t index = map64_get(&tables->of_module, module->id);
	int err;

	if (index != MAP64_NONE) {
		*ret_file = tables->files.items[index];
		return 0;
	}
	err = compile(tables, module, ret_file);
	if (!err)
		err = map64_set(&tables->of_module, module->id, (uint32_t)tables->files.count);
	return err ? err : vec_push(&tables->files, *ret_file);
}

/*
 * Names.
 */

struct unwind_file_key unwind_file_key(uint32_t major, uint32_t minor, uint64_t inode)
{
	return (struct unwind_file_key){.inode = inode, .device = major << 20 | minor};
}

static uint64_t key_hash(struct unwind_file_key key)
{
	return hash_u64(key.device) ^ key.inode;
}

/* NULL if nothing is published for that file. */
static struct published *find_published(const struct unwind_tables *tables,
					struct unwind_file_key key)
{
	uint32_t index = map64_get(&tables->of_key, key_hash(key));
	struct published *published = index == MAP64_NONE ? NULL : &tables->published.items[index];

	if (published && published->key.inode == key.inode && published->key.device == key.device)
		return published;
	return NULL;
}

bool unwind_tables_has(const struct unwind_tables *tables, struct unwind_file_key key)
{
	return find_published(tables, key) != NULL;
}

static int remember(struct unwind_tables *tables, struct unwind_file_key key, uint32_t module)
{
	struct published *known = find_published(tables, key);
	int err;

	if (known) {
		known->module = module;
		return 0;
	}
	err = map64_set(&tables->of_key, key_hash(key), (uint32_t)tables->published.count);
	return err ? err
		   : vec_push(&tables->published, (struct published){.key = key, .module = module});
}

static void publish(const struct unwind_tables *tables, const struct module *module,
		    struct unwind_file_key key, struct unwind_file file)
{
	struct mtrace_bpf *skeleton = tables->program->skeleton;

	if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.unwind_files), &key, &file, BPF_ANY))
		log_warn("%s: cannot publish its unwind table: %s", module->path, strerror(errno));
	__atomic_add_fetch(&skeleton->bss->unwind_published, 1, __ATOMIC_RELEASE);
}

int unwind_tables_add(struct unwind_tables *tables, const struct module *module,
		      struct unwind_file_key key)
{
	const struct published *known = find_published(tables, key);
	struct unwind_file file;
	int err;

	if (known && known->module == module->id)
		return 0;
	err = file_of_module(tables, module, &file);
	if (!err)
		err = remember(tables, key, module->id);
	if (!err && (file.pages || known))
		publish(tables, module, key, file);
	return err;
}

struct unwind_file_key unwind_mapping_key(const struct proc_mapping *mapping)
{
	return unwind_file_key(mapping->dev_major, mapping->dev_minor, mapping->inode);
}

/*
 * Mappings.
 */

uint32_t unwind_tables_generation(const struct unwind_tables *tables, pid_t pid)
{
	const uint32_t *generations = tables->program->skeleton->bss->code_generations;

	return __atomic_load_n(&generations[(uint32_t)pid % CODE_GENERATIONS], __ATOMIC_ACQUIRE);
}

static struct unwind_file file_of_key(const struct unwind_tables *tables,
				      struct unwind_file_key key)
{
	const struct published *published = find_published(tables, key);
	uint32_t index = published ? map64_get(&tables->of_module, published->module) : MAP64_NONE;
	struct unwind_file none = {0};

	return index == MAP64_NONE ? none : tables->files.items[index];
}

void unwind_tables_tell(const struct unwind_tables *tables, pid_t pid, uint32_t generation,
			const struct proc_mapping *mapping)
{
	const struct mtrace_bpf *skeleton = tables->program->skeleton;
	struct code_mapping code = {
		.start = mapping->start,
		.size = mapping->end - mapping->start,
		.to_offset = mapping->offset - mapping->start,
		.file = file_of_key(tables, unwind_mapping_key(mapping)),
		.generation = generation,
		.published = skeleton->bss->unwind_published,
	};
	struct code_region key = {
		.region = mapping->start >> CODE_REGION_SHIFT,
		.pid = (uint32_t)pid,
		.generation = generation,
	};

	for (int i = 0; i < CODE_REGION_FILL; i++, key.region++)
		if (key.region << CODE_REGION_SHIFT < mapping->end)
			bpf_map_update_elem(bpf_map__fd(skeleton->maps.code_mappings), &key, &code,
					    BPF_ANY);
}
