// SPDX-License-Identifier: GPL-2.0-or-later
#include "source/unwind/layout.h"

#include <string.h>

void unwind_layout_init(struct unwind_layout *layout, struct unwind_row *rows,
			uint32_t row_capacity, struct unwind_page *pages, uint32_t page_capacity)
{
	*layout = (struct unwind_layout){
		.rows = rows,
		.row_capacity = row_capacity,
		.pages = pages,
		.page_count = 1,
		.page_capacity = page_capacity,
	};
}

void unwind_layout_free(struct unwind_layout *layout)
{
	map64_free(&layout->of_module);
	vec_free(&layout->files);
}

/* Stores, for each page, the row that covers its first byte and the last row that starts in it. For
 * offsets before the first row, the search finds that row, and sees that it starts later. */
static void fill_pages(struct unwind_layout *layout, const struct cfi_table *table,
		       const struct unwind_file *file)
{
	struct unwind_page *page = layout->pages + file->pages;
	uint32_t row = 0, first = layout->row_count;

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

static struct unwind_file next_file(const struct unwind_layout *layout,
				    const struct cfi_table *table)
{
	const struct unwind_row *rows = table->rows.items;
	uint32_t first_page = rows[0].offset >> UNWIND_PAGE_SHIFT;
	uint32_t last_page = rows[table->rows.count - 1].offset >> UNWIND_PAGE_SHIFT;

	return (struct unwind_file){
		.known = 1,
		.pages = layout->page_count,
		.first_page = first_page,
		.page_count = last_page - first_page + 1,
	};
}

static bool has_room(const struct unwind_layout *layout, const struct cfi_table *table,
		     const struct unwind_file *file)
{
	return table->rows.count <= layout->row_capacity - layout->row_count &&
	       layout->page_count < layout->page_capacity &&
	       file->page_count <= layout->page_capacity - layout->page_count;
}

static struct unwind_file lay_out(struct unwind_layout *layout, const struct cfi_table *table)
{
	struct unwind_file file = next_file(layout, table);

	if (!has_room(layout, table, &file))
		return (struct unwind_file){.known = 1};
	memcpy(layout->rows + layout->row_count, table->rows.items,
	       table->rows.count * sizeof(*layout->rows));
	fill_pages(layout, table, &file);
	layout->row_count += (uint32_t)table->rows.count;
	layout->page_count += file.page_count;
	return file;
}

bool unwind_layout_find(const struct unwind_layout *layout, uint32_t module,
			struct unwind_file *ret_file)
{
	uint32_t index = map64_get(&layout->of_module, module);

	if (index == MAP64_NONE)
		return false;
	*ret_file = layout->files.items[index];
	return true;
}

int unwind_layout_add(struct unwind_layout *layout, uint32_t module, const struct cfi_table *table,
		      struct unwind_file *ret_file)
{
	uint32_t index = (uint32_t)layout->files.count;
	struct unwind_file file = {.known = 1};
	int err = vec_reserve(&layout->files, layout->files.count + 1);

	if (!err)
		err = map64_set(&layout->of_module, module, index);
	if (err)
		return err;
	if (table->rows.count)
		file = lay_out(layout, table);
	*ret_file = file;
	return vec_push(&layout->files, file);
}

bool unwind_layout_row(const struct unwind_layout *layout, uint32_t module, uint64_t offset,
		       struct unwind_row *ret_row)
{
	const struct unwind_page *page;
	const struct unwind_row *row;
	struct unwind_file file;
	uint64_t number;

	if (!unwind_layout_find(layout, module, &file) || !file.pages)
		return false;
	number = (offset >> UNWIND_PAGE_SHIFT) - file.first_page;
	if (number >= file.page_count)
		return false;
	page = &layout->pages[file.pages + number];
	row = unwind_find(layout->rows + page->first, page->last - page->first + 1,
			  (uint32_t)offset);
	if (!row)
		return false;
	*ret_row = *row;
	return true;
}
