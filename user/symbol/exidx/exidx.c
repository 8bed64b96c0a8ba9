// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/exidx/exidx.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/row/stop.h"
#include "symbol/exidx/code.h"
#include "symbol/exidx/flow.h"
#include "symbol/exidx/instruction.h"
#include "symbol/cfi/reader.h"
#include "symbol/row/row.h"
#include "symbol/exidx/program.h"

#define ENTRY_SIZE  8
#define CANT_UNWIND 1
#define OUTERMOST   2           /* our own value: never in a file */
#define START_SIZE  64          /* limit for the size of a program's start code, in bytes */
#define INLINE      0x80000000u /* inline or compact; otherwise an address */
#define SYMBOL_MAX  (1 << 20)

/* The code that an index entry covers, and its program. */
struct index_entry {
	uint32_t start, end; /* file offsets */
	uint32_t word;       /* the second word of the entry */
	uint64_t place;      /* virtual address of that word */
};

struct index_reading {
	const struct cfi_object *object;
	struct cfi_counts *counts;
	bool full;
	VEC(struct index_entry) entries;
	struct exidx exidx;
	VEC(struct exidx_start) starts; /* functions that have symbols, sorted by file offset */
	bool is_thumb;                  /* most of them are Thumb */
};

static const struct unwind_row gap_row = {.kinds = UNWIND_CFA_GAP};
static const struct unwind_row end_row = {.kinds = UNWIND_CFA_END};

static uint32_t word_at(const struct cfi_object *object, const uint8_t *at)
{
	struct cfi_reader reader = {.at = at, .end = at + 4, .big_endian = object->big_endian};

	return (uint32_t)cfi_read_fixed(&reader, 4);
}

/* Decodes a 31-bit place-relative address. */
static uint64_t relative(uint64_t place, uint32_t word)
{
	int32_t distance = (int32_t)(word << 1) >> 1;

	return (uint32_t)(place + (uint64_t)(int64_t)distance);
}

/*
 * Entries.
 */

static int add_entry(struct index_reading *reading, uint64_t place, const uint8_t *at)
{
	uint64_t address = relative(place, word_at(reading->object, at));
	const struct cfi_segment *segment = cfi_object_segment(reading->object, address);
	struct index_entry entry = {.word = word_at(reading->object, at + 4), .place = place + 4};
	uint64_t start, end;

	if (!segment || word_at(reading->object, at) & INLINE) {
		reading->counts->outside++;
		return 0;
	}
	start = segment->offset + (address - segment->vaddr);
	end = segment->offset + segment->size;
	if (end > UINT32_MAX)
		return 0;
	entry.start = (uint32_t)start;
	entry.end = (uint32_t)end;
	return vec_push(&reading->entries, entry);
}

static int compare_entries(const void *a, const void *b)
{
	const struct index_entry *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->place < right->place ? -1 : left->place > right->place;
}

static void cut_entries(struct index_reading *reading)
{
	if (reading->entries.count)
		qsort(reading->entries.items, reading->entries.count,
		      sizeof(*reading->entries.items), compare_entries);
	for (size_t i = 0; i + 1 < reading->entries.count; i++) {
		struct index_entry *entry = &reading->entries.items[i];

		if (entry[1].start < entry->end)
			entry->end = entry[1].start;
	}
}

/*
 * The entry point of a program calls the function that runs the program and, should that return,
 * one that ends it. Its index entry, if any, says the same as that of code without unwind
 * information.
 */
static bool find_start(const struct cfi_object *object, struct index_entry *entry)
{
	bool is_thumb = object->entry & 1;
	uint64_t left, at = 0;
	const uint8_t *code = cfi_object_bytes(object, object->entry & ~1ULL, &left);
	int calls = 0;

	if (left > START_SIZE)
		left = START_SIZE;
	while (calls < 2 && left - at >= 4) {
		struct exidx_instruction instruction = exidx_decode(code + at, left - at, is_thumb);

		at += instruction.size;
		calls += instruction.effect == EXIDX_CALL;
	}
	entry->start = (uint32_t)(code - object->bytes);
	entry->end = entry->start + (uint32_t)at;
	entry->word = OUTERMOST;
	return calls == 2;
}

static int add_start(struct index_reading *reading)
{
	struct index_entry start = {.place = UINT64_MAX}; /* sorts after an equal start */
	const struct index_entry *entry;

	if (!cfi_object_segment(reading->object, reading->object->entry & ~1ULL) ||
	    !find_start(reading->object, &start))
		return 0;
	vec_each (entry, &reading->entries)
		if (entry->start <= start.start && start.start < entry->end &&
		    entry->word != CANT_UNWIND)
			return 0;
	return vec_push(&reading->entries, start);
}

static int read_entries(struct index_reading *reading)
{
	uint64_t vaddr, size;
	const uint8_t *bytes = cfi_object_exidx(reading->object, &vaddr, &size);
	int code = 0;

	if (size > (uint64_t)EXIDX_ENTRY_MAX * ENTRY_SIZE)
		size = (uint64_t)EXIDX_ENTRY_MAX * ENTRY_SIZE;
	for (uint64_t at = 0; !code && at + ENTRY_SIZE <= size; at += ENTRY_SIZE)
		code = add_entry(reading, vaddr + at, bytes + at);
	cut_entries(reading);
	if (!code)
		code = add_start(reading);
	cut_entries(reading);
	return code;
}

/*
 * Symbols.
 */

static int add_symbol(struct index_reading *reading, const GElf_Sym *symbol)
{
	uint64_t address = symbol->st_value & ~1ULL;
	const struct cfi_segment *segment;
	struct exidx_start start = {.size = (uint32_t)symbol->st_size,
				    .is_thumb = symbol->st_value & 1};

	if (GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF)
		return 0;
	segment = cfi_object_segment(reading->object, address);
	if (!segment || segment->offset + segment->size > UINT32_MAX)
		return 0;
	start.at = (uint32_t)(segment->offset + (address - segment->vaddr));
	return vec_push(&reading->starts, start);
}

static int read_table(struct index_reading *reading, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	uint64_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Sym symbol;
	int code = 0;

	for (uint64_t i = 0; data && !code && i < count && i < SYMBOL_MAX; i++)
		if (gelf_getsym(data, (int)i, &symbol))
			code = add_symbol(reading, &symbol);
	return code;
}

static int compare_starts(const void *a, const void *b)
{
	const struct exidx_start *left = a, *right = b;

	return left->at < right->at ? -1 : left->at > right->at;
}

static int read_symbols(struct index_reading *reading)
{
	const struct exidx_start *start;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t thumb = 0;
	int code = 0;

	while (!code && reading->object->elf &&
	       (section = elf_nextscn(reading->object->elf, section)))
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
			code = read_table(reading, section, &header);
	if (reading->starts.count)
		qsort(reading->starts.items, reading->starts.count, sizeof(*reading->starts.items),
		      compare_starts);
	vec_each (start, &reading->starts)
		thumb += start->is_thumb;
	reading->is_thumb = thumb * 2 >= reading->starts.count;
	return code;
}

/* Programs. */

/* The bytes are stored in words, the first byte in the highest bits. */
static size_t take_bytes(uint32_t word, unsigned int count, uint8_t *bytes)
{
	for (unsigned int i = 0; i < count; i++)
		bytes[i] = (uint8_t)(word >> 8 * (count - 1 - i));
	return count;
}

/*
 * Reads an entry of .ARM.extab. It is compact, with three bytes (model 0) or a word count and two
 * bytes (models 1 and 2); or generic, where GNU's personality routines store a word count and three
 * bytes after the routine's address. The counted words follow.
 */
static bool read_extab(const struct cfi_object *object, uint64_t address, uint8_t *program,
		       size_t *ret_size)
{
	uint64_t left;
	const uint8_t *at = cfi_object_bytes(object, address, &left);
	unsigned int words = 0;
	uint32_t word;

	if (left < 8)
		return false;
	word = word_at(object, at);
	if (!(word & INLINE)) {
		at += 4;
		left -= 4;
		word = word_at(object, at);
		words = word >> 24;
		*ret_size = take_bytes(word, 3, program);
	} else if ((word >> 24 & 0xf) == 0) {
		*ret_size = take_bytes(word, 3, program);
	} else {
		words = word >> 16 & 0xff;
		*ret_size = take_bytes(word, 2, program);
		if ((word >> 24 & 0xf) > 2)
			return false;
	}
	if (left < 4 * ((uint64_t)words + 1))
		return false;
	while (words--)
		*ret_size += take_bytes(word_at(object, at += 4), 4, program + *ret_size);
	return true;
}

static bool read_program(const struct cfi_object *object, const struct index_entry *entry,
			 uint8_t *program, size_t *ret_size)
{
	if (!(entry->word & INLINE))
		return read_extab(object, relative(entry->place, entry->word), program, ret_size);
	*ret_size = take_bytes(entry->word, 3, program);
	return (entry->word >> 24 & 0x7f) == 0;
}

/* Rows. */

/* Replaces an earlier row at the same offset. */
static int push_row(struct index_reading *reading, struct unwind_row row, uint32_t start)
{
	size_t count = reading->exidx.rows.count;

	row.offset = start;
	if (count && reading->exidx.rows.items[count - 1].offset == start) {
		reading->exidx.rows.items[count - 1] = row;
		return 0;
	}
	return vec_push(&reading->exidx.rows, row);
}

/* Returns true if the row applies everywhere: the function has no frame. */
static bool is_constant(const struct unwind_row *row)
{
	return row->kinds == 0 && row->cfa_offset == 0 && row->bp_offset == 0;
}

static int put_code(struct index_reading *reading, const struct index_entry *entry,
		    const struct cfi_rules *rules, const struct unwind_row *row)
{
	struct exidx_rows rows = {0};
	int code;

	if (!reading->full || is_constant(row) || unwind_row_cfa(row) == UNWIND_CFA_STOP ||
	    unwind_row_cfa(row) == UNWIND_CFA_SIGNAL)
		return push_row(reading, *row, entry->start);
	code = exidx_code_rows(reading->object->bytes, entry->start, entry->end, rules, row, &rows);
	if (!code)
		code = vec_append(&reading->exidx.rows, rows.list.items, rows.list.count);
	vec_free(&rows.list);
	return code;
}

/* Copies the symbols in [start, end), with offsets relative to `start`. */
static int starts_within(const struct index_reading *reading, uint32_t start, uint32_t end,
			 struct exidx_flow_code *code, struct exidx_start **ret_copy)
{
	const struct exidx_start *items = reading->starts.items;
	size_t low = 0, high = reading->starts.count, count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (items[middle].at < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (count = 0; low + count < reading->starts.count && items[low + count].at < end;)
		count++;
	*ret_copy = malloc((count + 1) * sizeof(**ret_copy));
	if (!*ret_copy)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		(*ret_copy)[i] = items[low + i];
		(*ret_copy)[i].at -= start;
	}
	code->starts = *ret_copy;
	code->start_count = count;
	return 0;
}

/* Derives rows for code without unwind information from its instructions. */
static int put_flow(struct index_reading *reading, uint32_t start, uint32_t end)
{
	const uint8_t *bytes = reading->object->bytes + start;
	struct exidx_flow_code flow_code = {
		.bytes = bytes,
		.size = end - start,
		.is_thumb = reading->starts.count ? reading->is_thumb
						  : exidx_flow_is_thumb(bytes, end - start),
	};
	struct exidx_start *starts = NULL;
	struct exidx_flow flow = {0};
	const struct unwind_row *row;
	int code = starts_within(reading, start, end, &flow_code, &starts);

	if (!code)
		code = exidx_flow_follow(&flow_code, &flow);
	vec_each (row, &flow.rows)
		if (!code)
			code = push_row(reading, *row, start + row->offset);
	free(starts);
	exidx_flow_free(&flow);
	return code;
}

/* Works piece by piece, and only on segments: there is no code between them. */
static int put_gap(struct index_reading *reading, uint32_t start, uint32_t end)
{
	int code = push_row(reading, gap_row, start);
	uint64_t position = start;

	for (size_t i = 0; i < reading->object->segment_count; i++) {
		const struct cfi_segment *segment = &reading->object->segments[i];
		uint64_t at = segment->offset > position ? segment->offset : position;
		uint64_t limit = segment->offset + segment->size;

		limit = limit < end ? limit : end;
		while (!code && at < limit && limit <= UINT32_MAX) {
			uint64_t piece = limit - at < EXIDX_FLOW_MAX ? limit - at : EXIDX_FLOW_MAX;

			code = put_flow(reading, (uint32_t)at, (uint32_t)(at + piece));
			at += piece;
			position = at;
		}
	}
	return code;
}

static int put_entry(struct index_reading *reading, const struct index_entry *entry)
{
	uint8_t program[EXIDX_PROGRAM_MAX];
	struct cfi_rules rules;
	struct unwind_row row;
	enum cfi_stop stop = CFI_STOP_PROGRAM;
	size_t size;

	if (entry->start == entry->end)
		return 0;
	if (entry->word == CANT_UNWIND)
		return put_gap(reading, entry->start, entry->end);
	if (entry->word == OUTERMOST)
		return push_row(reading, end_row, entry->start);
	reading->counts->functions++;
	rules = (struct cfi_rules){0};
	row = (struct unwind_row){.kinds = UNWIND_CFA_STOP};
	if (read_program(reading->object, entry, program, &size))
		stop = exidx_program_row(program, size, &rules, &row);
	if (stop)
		reading->counts->stops[stop]++;
	return put_code(reading, entry, &rules, &row);
}

static int put_entries(struct index_reading *reading)
{
	const struct index_entry *entry;
	uint32_t position = 0;
	int code = read_symbols(reading);

	vec_each (entry, &reading->entries) {
		if (!code && position < entry->start)
			code = put_gap(reading, position, entry->start);
		if (!code)
			code = put_entry(reading, entry);
		if (entry->start < entry->end)
			position = entry->end;
	}
	return code ? code : put_gap(reading, position, UINT32_MAX);
}

int exidx_compile(const struct cfi_object *object, bool full, struct cfi_counts *counts,
		  struct exidx *ret_exidx)
{
	struct index_reading reading = {.object = object, .counts = counts, .full = full};
	int code = 0;

	if (object->machine->abi->link == UNWIND_LINK_PUSHED)
		code = read_entries(&reading);
	if (!code && object->machine->abi->link == UNWIND_LINK_PUSHED)
		code = put_entries(&reading);
	vec_free(&reading.starts);
	vec_free(&reading.entries);
	*ret_exidx = reading.exidx;
	return code;
}

void exidx_free(struct exidx *exidx)
{
	vec_free(&exidx->rows);
}

struct unwind_row exidx_row(const struct exidx *exidx, uint32_t offset, uint32_t end,
			    uint32_t *ret_end)
{
	const struct unwind_row *rows = exidx->rows.items;
	const struct unwind_row *row = unwind_find(rows, exidx->rows.count, offset);

	*ret_end = end;
	if (!row)
		return gap_row;
	if (row + 1 < rows + exidx->rows.count && row[1].offset < end)
		*ret_end = row[1].offset;
	return *row;
}
