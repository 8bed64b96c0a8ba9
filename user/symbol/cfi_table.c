// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The main part of the compiler: read the entries, sort them by file offset, run the program of
 * each one and write rows.
 *
 * Spans of code arrive in file order and do not overlap, and gap rows fill the space between them.
 * So a row is final when it is appended, nothing is sorted twice, and each byte of code is searched
 * for calls once. For a pruned table, programs run from call to call; the spans in between are not
 * encoded, and a program is abandoned after its function's last call. Where two FDEs overlap, the
 * one that starts later wins from its start on, as in the C++ runtime's search of .eh_frame_hdr. Of
 * two FDEs with the same start, the first one is used. An FDE of .debug_frame that starts in code
 * covered by .eh_frame is dropped.
 */
#include "symbol/cfi_table.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/cfi/calls.h"
#include "symbol/cfi/extent.h"
#include "symbol/cfi/machine.h"
#include "symbol/cfi/object.h"
#include "symbol/cfi/program.h"
#include "symbol/row/row.h"
#include "symbol/cfi/section.h"
#include "symbol/row/stop.h"
#include "symbol/exidx/exidx.h"

#define TRAMPOLINE_MAX 16 /* per file; each search may scan a whole gap */

struct initial_rules {
	struct cfi_rules rules;
	bool is_known;
};

struct compiler {
	struct cfi_object object;
	struct cfi_object debug; /* the separate debug file, if it has an Elf */
	struct cfi_entries entries;
	struct exidx exidx;                /* Arm's own unwind tables */
	uint32_t debug_fdes;               /* index of the first FDE from .debug_frame */
	VEC(struct initial_rules) initial; /* by CIE */
	VEC(struct cfi_extent) extents;
	struct cfi_program program;
	struct cfi_table table;
	bool full;
	cfi_call_search *call_end; /* NULL: all rows are kept */
	uint32_t position;         /* file offset up to which rows are written */
	uint32_t code_end;         /* past the last byte of code */
	size_t wanted;             /* cached result of next_wanted() */
	uint32_t trampoline_count;
};

/* Rows. */

/* The end of the next byte, from the current position on, whose row can be looked up. The result
 * stays valid until the position reaches it, so each byte of code is searched once. */
static size_t next_wanted(struct compiler *compiler)
{
	uint32_t position = compiler->position;

	if (compiler->wanted <= position)
		compiler->wanted = compiler->call_end
					   ? compiler->call_end(compiler->object.bytes, position,
								compiler->code_end)
					   : (size_t)position + 1;
	return compiler->wanted;
}

/* Returns true if the row from the current position to `end` can ever be looked up. */
static bool is_kept(struct compiler *compiler, const struct unwind_row *row, uint32_t end)
{
	enum unwind_cfa kind = unwind_row_cfa(row);

	return kind == UNWIND_CFA_END || kind == UNWIND_CFA_SIGNAL ||
	       kind == UNWIND_CFA_SIGNAL_AT || next_wanted(compiler) <= end;
}

static bool is_equal(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->cfa_offset == b->cfa_offset && a->kinds == b->kinds &&
	       a->bp_offset == b->bp_offset;
}

/* Returns true if the row repeats the last one. */
static bool repeats_last_row(const struct cfi_table *table, const struct unwind_row *row)
{
	return table->rows.count && is_equal(&table->rows.items[table->rows.count - 1], row);
}

static int append(struct compiler *compiler, struct unwind_row row)
{
	struct cfi_table *table = &compiler->table;

	if (repeats_last_row(table, &row))
		return 0;
	if (table->rows.count == CFI_ROW_MAX)
		return -E2BIG;
	return vec_push(&table->rows, row);
}

/* Writes the row for the code from the current position to `end`. */
static int put(struct compiler *compiler, struct unwind_row row, uint32_t end)
{
	bool kept;

	if (end <= compiler->position)
		return 0;
	kept = is_kept(compiler, &row, end);
	row.offset = compiler->position;
	compiler->position = end;
	return kept ? append(compiler, row) : 0;
}

/*
 * Gaps: filled from .ARM.exidx, then searched for signal trampolines.
 */

static const struct unwind_row gap_row = {.kinds = UNWIND_CFA_GAP};

/*
 * Like memmem(), but without its per-search setup: nearly all gaps are the few bytes of padding
 * before the next function, and a library has thousands of them. Returns NULL if the bytes are not
 * found.
 */
static const uint8_t *find_bytes(const uint8_t *at, size_t size,
				 const struct cfi_trampoline *trampoline)
{
	const uint8_t *end = at + size;

	while ((size_t)(end - at) >= trampoline->size) {
		at = memchr(at, trampoline->bytes[0], (size_t)(end - at) - trampoline->size + 1);
		if (!at || !memcmp(at, trampoline->bytes, trampoline->size))
			return at;
		at++;
	}
	return NULL;
}

/* The first trampoline in the gap before `end`, or NULL. */
static const struct cfi_trampoline *find_trampoline(const struct compiler *compiler, uint32_t end,
						    uint32_t *ret_offset)
{
	const struct cfi_object *object = &compiler->object;
	const struct cfi_trampoline *first = NULL;
	uint32_t start = compiler->position;

	if (start < object->code_start)
		start = object->code_start < end ? (uint32_t)object->code_start : end;
	if (end > object->code_end)
		end = object->code_end > start ? (uint32_t)object->code_end : start;
	for (size_t i = 0; i < object->machine->trampoline_count; i++) {
		const struct cfi_trampoline *trampoline = &object->machine->trampolines[i];
		const uint8_t *found = find_bytes(object->bytes + start, end - start, trampoline);

		if (!found)
			continue;
		end = (uint32_t)(found - object->bytes);
		*ret_offset = end;
		first = trampoline;
	}
	return first;
}

/* The handler returns to the trampoline's first byte, so the lookup is one byte before it. */
static int put_trampoline(struct compiler *compiler, const struct cfi_trampoline *trampoline,
			  uint32_t offset)
{
	struct unwind_row row = {.kinds = trampoline->kind, .cfa_offset = trampoline->cfa_offset};
	int code = put(compiler, gap_row, offset > compiler->position ? offset - 1 : offset);

	compiler->trampoline_count++;
	return code ? code : put(compiler, row, offset + (uint32_t)trampoline->size);
}

static int put_undescribed(struct compiler *compiler, uint32_t end)
{
	const struct cfi_trampoline *trampoline;
	uint32_t offset;
	int code = 0;

	while (!code && compiler->position < end && compiler->trampoline_count < TRAMPOLINE_MAX &&
	       (trampoline = find_trampoline(compiler, end, &offset)))
		code = put_trampoline(compiler, trampoline, offset);
	return code ? code : put(compiler, gap_row, end);
}

static int put_gap(struct compiler *compiler, uint32_t end)
{
	int code = 0;

	while (!code && compiler->position < end) {
		uint32_t row_end;
		struct unwind_row row =
			exidx_row(&compiler->exidx, compiler->position, end, &row_end);

		code = unwind_row_cfa(&row) == UNWIND_CFA_GAP ? put_undescribed(compiler, row_end)
							      : put(compiler, row, row_end);
	}
	return code;
}

/*
 * Writes the gap before a function. Return addresses are looked up one byte early. For a function
 * that is only returned to, that byte lies before its start: end the stack there.
 */
static int put_gap_before(struct compiler *compiler, const struct cfi_extent *extent)
{
	static const struct unwind_row end_row = {.kinds = UNWIND_CFA_END};
	uint32_t start = extent->start;
	int code;

	if (start <= compiler->position ||
	    !cfi_object_is_outermost(&compiler->object, start, extent->end - start))
		return put_gap(compiler, start);
	code = put_gap(compiler, start - 1);
	return code ? code : put(compiler, end_row, start);
}

/* Functions. */

/* The function being compiled. */
struct function {
	uint32_t start; /* file offsets */
	uint32_t end;
	const struct cfi_fde *fde;
	const struct cfi_cie *cie;
	const struct initial_rules *initial;
};

static void count_span(struct compiler *compiler, enum cfi_stop stop, const struct unwind_row *row)
{
	struct cfi_counts *counts = &compiler->table.counts;

	if (stop)
		counts->stops[stop]++;
	if (cfi_row_has_lost_bp(compiler->object.machine->abi, row))
		counts->lost_bp++;
}

static int put_span(struct compiler *compiler, const struct function *function,
		    const struct cfi_span *span)
{
	uint64_t end = span->end - function->fde->vaddr + function->start;
	uint32_t row_end = end < function->end ? (uint32_t)end : function->end;
	struct unwind_row row;
	enum cfi_stop stop = cfi_row_encode(compiler->object.machine->abi, span->rules,
					    function->cie->signal, &row);

	compiler->position = (uint32_t)(span->start - function->fde->vaddr) + function->start;
	if (is_kept(compiler, &row, row_end))
		count_span(compiler, stop, &row);
	return put(compiler, row, row_end);
}

/* Returns true if the stack may end in this function. May be a false positive: the byte may be an
 * operand of another instruction. */
static bool may_end(const struct function *function)
{
	const struct cfi_reader *program = &function->fde->program;

	return function->initial->rules.registers[CFI_IP].kind == CFI_RULE_UNDEFINED ||
	       memchr(program->at, DW_CFA_undefined, (size_t)(program->end - program->at));
}

/* Finds the next byte of the function whose row may be kept. */
static bool find_wanted(struct compiler *compiler, const struct function *function,
			uint32_t *ret_offset)
{
	size_t wanted;

	*ret_offset = compiler->position;
	if (compiler->position >= function->end || function->cie->signal)
		return compiler->position < function->end;
	wanted = next_wanted(compiler);
	*ret_offset = (wanted <= function->end ? (uint32_t)wanted : function->end) - 1;
	return wanted <= function->end || may_end(function);
}

static int put_function(struct compiler *compiler, const struct cfi_extent *extent, uint32_t end)
{
	const struct cfi_fde *fde = &compiler->entries.fdes.items[extent->fde];
	struct function function = {
		.start = extent->start,
		.end = end,
		.fde = fde,
		.cie = &compiler->entries.cies.items[fde->cie],
		.initial = &compiler->initial.items[fde->cie],
	};
	struct cfi_program *program = &compiler->program;
	struct cfi_span span;
	uint32_t wanted;
	int code = 0;

	cfi_program_start(program, function.cie, &function.initial->rules,
			  compiler->object.machine->abi, fde);
	if (!function.initial->is_known)
		cfi_program_fail(program);
	while (!code && find_wanted(compiler, &function, &wanted) &&
	       cfi_program_seek(program, wanted - function.start + fde->vaddr, &span))
		code = put_span(compiler, &function, &span);
	compiler->position = end;
	return code;
}

static int put_functions(struct compiler *compiler)
{
	for (size_t i = 0; i < compiler->extents.count; i++) {
		const struct cfi_extent *extent = &compiler->extents.items[i];
		bool is_last = i + 1 == compiler->extents.count;
		uint32_t end = extent->end;
		int code = put_gap_before(compiler, extent);

		if (!is_last && extent[1].start < end)
			end = extent[1].start;
		if (!code)
			code = put_function(compiler, extent, end);
		if (code)
			return code;
	}
	return 0;
}

/* The file offsets between which rows can describe code. */
static void code_bounds(const struct cfi_object *object, uint32_t *ret_start, uint32_t *ret_end)
{
	*ret_start = UINT32_MAX;
	*ret_end = 0;
	for (size_t i = 0; i < object->segment_count; i++) {
		uint64_t start = object->segments[i].offset;
		uint64_t end = start + object->segments[i].size;

		if (end > UINT32_MAX || start == end)
			continue;
		*ret_start = start < *ret_start ? (uint32_t)start : *ret_start;
		*ret_end = end > *ret_end ? (uint32_t)end : *ret_end;
	}
	if (*ret_end == 0)
		*ret_start = 0;
}

static int put_rows(struct compiler *compiler)
{
	struct unwind_row last = gap_row;
	int code;

	code_bounds(&compiler->object, &compiler->position, &compiler->code_end);
	code = put_functions(compiler);
	if (!code)
		code = put_gap(compiler, compiler->code_end);
	last.offset = compiler->position;
	return code ? code : append(compiler, last);
}

/* Preparation. */

/* Finds the file offset of an FDE's code. Clips fde->size to the segment. */
static bool find_code(const struct compiler *compiler, struct cfi_fde *fde, uint32_t *ret_start)
{
	const struct cfi_segment *segment = cfi_object_segment(&compiler->object, fde->vaddr);
	uint64_t skip;

	if (!segment || !fde->size || segment->offset + segment->size > UINT32_MAX)
		return false;
	skip = fde->vaddr - segment->vaddr;
	if (fde->size > segment->size - skip)
		fde->size = segment->size - skip;
	*ret_start = (uint32_t)(segment->offset + skip);
	return *ret_start; /* offset 0 is the ELF header: the section was discarded */
}

/* Returns true for glibc's signal trampolines on Arm. Only .ARM.exidx marks them as such. */
static bool is_exidx_signal(const struct compiler *compiler, uint32_t offset)
{
	uint32_t end;
	struct unwind_row row = exidx_row(&compiler->exidx, offset, offset + 1, &end);

	return unwind_row_cfa(&row) == UNWIND_CFA_SIGNAL;
}

/* The caller has reserved room for the extent. */
static void add_extent(struct compiler *compiler, struct cfi_fde *fde)
{
	struct cfi_extent extent = {.fde = fde->index};

	if (!find_code(compiler, fde, &extent.start)) {
		compiler->table.counts.outside++;
		return;
	}
	if (is_exidx_signal(compiler, extent.start)) {
		compiler->table.counts.doubled++;
		return;
	}
	extent.end = extent.start + (uint32_t)fde->size;
	compiler->extents.items[compiler->extents.count++] = extent;
}

/* Of several FDEs with the same start, keeps the first. Drops FDEs of .debug_frame whose start is
 * covered by .eh_frame. */
static void drop_doubled(struct compiler *compiler)
{
	struct cfi_extent *items = compiler->extents.items;
	uint32_t described = 0; /* file offset up to which .eh_frame describes the code */
	size_t kept = 0;

	for (size_t i = 0; i < compiler->extents.count; i++) {
		bool is_debug = items[i].fde >= compiler->debug_fdes;

		if ((kept && items[kept - 1].start == items[i].start) ||
		    (is_debug && items[i].start < described)) {
			compiler->table.counts.doubled++;
			continue;
		}
		if (!is_debug)
			described = items[i].end;
		items[kept++] = items[i];
	}
	compiler->extents.count = kept;
}

static int make_extents(struct compiler *compiler)
{
	struct cfi_fde *fde;

	if (vec_reserve(&compiler->extents, compiler->entries.fdes.count))
		return -ENOMEM;
	vec_each (fde, &compiler->entries.fdes)
		add_extent(compiler, fde);
	if (cfi_extents_sort(compiler->extents.items, compiler->extents.count))
		return -ENOMEM;
	drop_doubled(compiler);
	compiler->table.counts.functions += (uint32_t)compiler->extents.count;
	return 0;
}

static bool is_return_column(const struct unwind_abi *abi, const struct cfi_cie *cie)
{
	return cie->return_column == abi->dwarf_ip ||
	       (cie->signal && abi->dwarf_signal_ip && cie->return_column == abi->dwarf_signal_ip);
}

static int run_initial_programs(struct compiler *compiler)
{
	const struct unwind_abi *abi = compiler->object.machine->abi;

	for (size_t i = 0; i < compiler->entries.cies.count; i++) {
		const struct cfi_cie *cie = &compiler->entries.cies.items[i];
		struct initial_rules initial;

		initial.is_known =
			cfi_program_initial(cie, abi, &initial.rules) && is_return_column(abi, cie);
		if (vec_push(&compiler->initial, initial))
			return -ENOMEM;
	}
	return 0;
}

static int read_debug_frame(struct compiler *compiler, struct cfi_object *object)
{
	struct cfi_section section;

	if (object->machine != compiler->object.machine || !object->elf ||
	    !cfi_object_debug_frame(object, &section))
		return 0;
	return cfi_section_read(&section, &compiler->entries);
}

static int read_entries(struct compiler *compiler)
{
	struct cfi_section section;
	int code = 0;

	if (cfi_object_eh_frame(&compiler->object, &section))
		code = cfi_section_read(&section, &compiler->entries);
	compiler->debug_fdes = (uint32_t)compiler->entries.fdes.count;
	if (!code)
		code = read_debug_frame(compiler, &compiler->object);
	if (!code)
		code = read_debug_frame(compiler, &compiler->debug);
	return code;
}

static int compile(struct compiler *compiler)
{
	int code = read_entries(compiler);

	compiler->table.counts.broken = compiler->entries.broken;
	if (!code)
		code = run_initial_programs(compiler);
	if (!code)
		code = exidx_compile(&compiler->object, compiler->full, &compiler->table.counts,
				     &compiler->exidx);
	if (!code)
		code = make_extents(compiler);
	if (!code)
		code = put_rows(compiler);
	return code;
}

static void compiler_free(struct compiler *compiler)
{
	cfi_object_close(&compiler->object);
	cfi_object_close(&compiler->debug);
	cfi_entries_free(&compiler->entries);
	vec_free(&compiler->initial);
	vec_free(&compiler->extents);
	exidx_free(&compiler->exidx);
	cfi_table_free(&compiler->table);
	free(compiler);
}

/* What to compile. */
struct input {
	Elf *elf;
	Elf *debug; /* or NULL */
	bool is_image;
	bool full;
};

static int open_input(struct compiler *compiler, const struct input *input, struct error *err)
{
	int code;

	compiler->full = input->full;
	if (input->debug)
		cfi_object_open(&compiler->debug, input->debug, true, NULL);
	code = cfi_object_open(&compiler->object, input->elf, !input->is_image, err);
	if (code)
		return code;
	compiler->table.abi = compiler->object.machine->abi;
	compiler->call_end = input->full ? NULL : compiler->object.machine->call_end;
	return 0;
}

/* Takes ownership of both Elf handles. */
static int build(const struct input *input, struct cfi_table *ret_table, struct error *err)
{
	struct compiler *compiler = calloc(1, sizeof(*compiler));
	int code;

	if (!compiler) {
		elf_end(input->elf);
		elf_end(input->debug);
		return error_set_errno(err, -ENOMEM, "cannot read call frame information");
	}
	code = open_input(compiler, input, err);
	if (!code) {
		code = compile(compiler);
		if (code)
			error_set_errno(err, code, "cannot read call frame information");
	}
	if (!code) {
		*ret_table = compiler->table;
		compiler->table = (struct cfi_table){0};
	}
	compiler_free(compiler);
	return code;
}

int cfi_table_build_split(int fd, int debug_fd, bool full, struct cfi_table *ret_table,
			  struct error *err)
{
	struct input input = {.full = full};

	elf_version(EV_CURRENT);
	input.elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	input.debug = debug_fd >= 0 ? elf_begin(debug_fd, ELF_C_READ_MMAP, NULL) : NULL;
	return build(&input, ret_table, err);
}

int cfi_table_build(int fd, bool full, struct cfi_table *ret_table, struct error *err)
{
	return cfi_table_build_split(fd, -1, full, ret_table, err);
}

int cfi_table_build_image(const void *image, size_t size, bool full, struct cfi_table *ret_table,
			  struct error *err)
{
	struct input input = {.is_image = true, .full = full};

	elf_version(EV_CURRENT);
	input.elf = elf_memory((char *)image, size);
	return build(&input, ret_table, err);
}

void cfi_table_free(struct cfi_table *table)
{
	if (table)
		vec_free(&table->rows);
}

const struct unwind_row *cfi_table_find(const struct cfi_table *table, uint64_t file_offset)
{
	const struct unwind_row *row = NULL;

	if (file_offset <= UINT32_MAX)
		row = unwind_find(table->rows.items, table->rows.count, (uint32_t)file_offset);
	return row ? row : &gap_row;
}
