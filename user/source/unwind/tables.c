// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows and pages are written (layout.h) to maps that are mapped into our memory. The file's key is
 * published last; then the count of published tables is incremented, which invalidates the
 * programs' cached mappings.
 */
#include "source/unwind/tables.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "base/map64.h"
#include "base/vec.h"
#include "source/unwind/layout.h"
#include "symbol/cfi/machine.h"
#include "symbol/elf/vdso.h"

struct published {
	struct unwind_file_key key;
	uint32_t module;
};

/* The rows of all instructions of a module. */
struct full_table {
	uint32_t module; /* id */
	uint64_t used;   /* turn of the last use */
	struct cfi_table table;
};

#define FULL_TABLES_MAX 8 /* of a few MB each */

struct unwind_tables {
	const struct unwind_publisher *publisher; /* NULL: nobody to publish to */
	struct parser *parser;
	struct unwind_layout layout;
	struct map64 of_key; /* key_hash() → index into published */
	VEC(struct published) published;
	struct full_table full[FULL_TABLES_MAX];
	uint64_t turn;
};

int unwind_tables_new_at(struct unwind_row *rows, uint32_t row_capacity, struct unwind_page *pages,
			 uint32_t page_capacity, struct parser *parser,
			 const struct unwind_publisher *publisher,
			 struct unwind_tables **ret_tables)
{
	struct unwind_tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return -ENOMEM;
	tables->publisher = publisher;
	tables->parser = parser;
	unwind_layout_init(&tables->layout, rows, row_capacity, pages, page_capacity);
	*ret_tables = tables;
	return 0;
}

struct unwind_file unwind_tables_file(const struct unwind_tables *tables,
				      const struct module *module)
{
	struct unwind_file file = {.known = 1};

	unwind_layout_find(&tables->layout, module->id, &file);
	return file;
}

void unwind_tables_free(struct unwind_tables *tables)
{
	if (!tables)
		return;
	if (tables->publisher)
		tables->publisher->close(tables->publisher->ctx);
	unwind_layout_free(&tables->layout);
	map64_free(&tables->of_key);
	vec_free(&tables->published);
	for (size_t i = 0; i < FULL_TABLES_MAX; i++)
		cfi_table_free(&tables->full[i].table);
	free(tables);
}

/*
 * Tables.
 */

static void log_layout(const struct module *module, const struct cfi_table *table,
		       const struct unwind_file *file)
{
	if (file->pages)
		log_debug("%s: %zu unwind rows", module->path, table->rows.count);
	else if (table->rows.count)
		log_warn("%s: no room for its unwind table; stacks end in this file", module->path);
}

/* False for x32 and the like, whose pointers are half as wide as the registers. */
static bool is_walked(const struct module *module)
{
	const struct unwind_abi *abi = cfi_abi(module->machine);

	return abi && (abi->word == 8) == module->elf64;
}

/* Compiles and stores the table. Modules without a table get a file without pages. */
static int compile(struct unwind_tables *tables, const struct module *module,
		   struct unwind_file *ret_file)
{
	struct cfi_table table = {0};
	struct error err = {0};
	int code = 0;

	if (is_walked(module))
		code = parser_table(tables->parser, module, false, &table, &err);
	if (code)
		log_info("%s: %s", module->path, err.text);
	if (code == -ENOMEM)
		return code;
	code = unwind_layout_add(&tables->layout, module->id, &table, ret_file);
	if (!code)
		log_layout(module, &table, ret_file);
	cfi_table_free(&table);
	return code;
}

/* The module's table, compiled on first use. */
static int file_of_module(struct unwind_tables *tables, const struct module *module,
			  struct unwind_file *ret_file)
{
	if (unwind_layout_find(&tables->layout, module->id, ret_file))
		return 0;
	return compile(tables, module, ret_file);
}

/*
 * Keys.
 */

struct unwind_file_key unwind_file_key(uint32_t major, uint32_t minor, uint64_t inode)
{
	return (struct unwind_file_key){.inode = inode, .device = major << 20 | minor};
}

struct unwind_file_key unwind_vdso_key(bool is_64bit)
{
	return (struct unwind_file_key){.inode = VDSO_INODE, .device = is_64bit ? 8 : 4};
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

static void publish(const struct unwind_tables *tables, struct unwind_file_key key,
		    struct unwind_file file)
{
	if (tables->publisher)
		tables->publisher->file(tables->publisher->ctx, key, file);
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
	if (!err)
		publish(tables, key, file);
	return err;
}

void unwind_tables_none(const struct unwind_tables *tables, struct unwind_file_key key)
{
	publish(tables, key, (struct unwind_file){.known = 1});
}

struct unwind_file_key unwind_mapping_key(const struct proc_mapping *mapping)
{
	if (!strcmp(mapping->path, VDSO_NAME))
		return unwind_vdso_key(vdso_is_64bit(mapping->start));
	return unwind_file_key(mapping->dev_major, mapping->dev_minor, mapping->inode);
}

struct unwind_file_key unwind_module_key(const struct module *module)
{
	return unwind_file_key(major(module->device), minor(module->device), module->inode);
}

/*
 * Mappings.
 */

uint32_t unwind_tables_generation(const struct unwind_tables *tables, pid_t pid)
{
	return tables->publisher ? tables->publisher->generation(tables->publisher->ctx, pid) : 0;
}

static struct unwind_file file_of_key(const struct unwind_tables *tables,
				      struct unwind_file_key key)
{
	const struct published *published = find_published(tables, key);
	struct unwind_file file = {.known = !key.inode};

	if (published)
		unwind_layout_find(&tables->layout, published->module, &file);
	return file;
}

void unwind_tables_set_mapping(const struct unwind_tables *tables, pid_t pid, uint32_t generation,
			       const struct proc_mapping *mapping)
{
	const struct code_mapping code = {
		.start = mapping->start,
		.size = mapping->end - mapping->start,
		.to_offset = mapping->offset - mapping->start,
		.file = file_of_key(tables, unwind_mapping_key(mapping)),
		.generation = generation,
	};

	if (tables->publisher)
		tables->publisher->code(tables->publisher->ctx, pid, &code);
}

/*
 * Rows, for user space.
 */

bool unwind_tables_row(const struct unwind_tables *tables, const struct module *module,
		       uint64_t offset, struct unwind_row *ret_row)
{
	return unwind_layout_row(&tables->layout, module->id, offset, ret_row);
}

/* The module's slot, or the least recently used one for reuse. */
static struct full_table *full_slot(struct unwind_tables *tables, uint32_t module)
{
	struct full_table *oldest = tables->full;

	for (size_t i = 0; i < FULL_TABLES_MAX; i++) {
		struct full_table *full = &tables->full[i];

		if (full->used && full->module == module)
			return full;
		if (full->used < oldest->used)
			oldest = full;
	}
	return oldest;
}

static const struct cfi_table *full_table(struct unwind_tables *tables, const struct module *module)
{
	struct full_table *full = full_slot(tables, module->id);
	struct error err;

	if (!full->used || full->module != module->id) {
		cfi_table_free(&full->table);
		*full = (struct full_table){.module = module->id};
		if (parser_table(tables->parser, module, true, &full->table, &err))
			log_info("%s: %s", module->path, err.text);
	}
	full->used = ++tables->turn;
	return &full->table;
}

/* Passes the row to the BPF programs. A failure only costs another stack dump. */
static void publish_exact(const struct unwind_tables *tables, const struct module *module,
			  uint64_t offset, const struct unwind_row *row)
{
	struct unwind_exact_key key = {.offset = (uint32_t)offset};
	struct unwind_file file;

	if (!tables->publisher || !unwind_layout_find(&tables->layout, module->id, &file) ||
	    !file.pages)
		return;
	key.pages = file.pages;
	tables->publisher->exact(tables->publisher->ctx, &key, row);
}

bool unwind_tables_exact(struct unwind_tables *tables, const struct module *module, uint64_t offset,
			 struct unwind_row *ret_row)
{
	const struct cfi_table *table = full_table(tables, module);
	const struct unwind_row *row;

	if (!table->rows.count)
		return false;
	row = cfi_table_find(table, offset);
	publish_exact(tables, module, offset, row);
	*ret_row = *row;
	return true;
}
