// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/exidx/code.h"

#include <errno.h>

#include "symbol/cfi/expression.h"
#include "symbol/exidx/instruction.h"
#include "symbol/row/row.h"

enum knowledge {
	KNOW_PROLOGUE, /* the frame is what the prologue has made so far */
	KNOW_BODY,     /* the frame is the one at calls */
	KNOW_NOTHING,
};

struct code_scan {
	const uint8_t *file;
	uint32_t at, end; /* file offsets */
	bool is_thumb;
	const struct cfi_rules *target;
	const struct unwind_row *body;
	enum knowledge knowledge;
	struct cfi_rules rules; /* of the prologue */
	uint32_t depth;         /* bytes from sp up to the CFA, in the prologue */
	bool is_changed;        /* the prologue has changed the frame */
	bool has_arrived;       /* some prologue has reached the target */
	uint32_t block;         /* start of this block, and the number of rows at that time */
	size_t block_rows;
	uint32_t prologue; /* the same for the prologue */
	size_t prologue_rows;
	struct exidx_rows rows;
	int err;
};

static const struct unwind_row stop_row = {.kinds = UNWIND_CFA_STOP};

static bool is_equal(const struct unwind_row *a, const struct unwind_row *b)
{
	return a->kinds == b->kinds && a->cfa_offset == b->cfa_offset &&
	       a->bp_offset == b->bp_offset;
}

static void put(struct code_scan *scan, struct unwind_row row, uint32_t offset)
{
	size_t count = scan->rows.list.count;
	struct unwind_row *last = count ? &scan->rows.list.items[count - 1] : NULL;

	if (offset >= scan->end)
		return;
	row.offset = offset;
	if (last && last->offset == offset)
		*last = row;
	else if (!last || !is_equal(last, &row))
		scan->err = vec_push(&scan->rows.list, row);
}

/* Discards the rows from an offset on: nothing is known there after all. */
static void take_back(struct code_scan *scan, uint32_t offset, size_t rows)
{
	scan->rows.list.count = rows;
	put(scan, stop_row, offset);
}

static bool by_sp(const struct code_scan *scan)
{
	return scan->target->cfa.dwarf_register == EXIDX_SP;
}

/*
 * The prologue.
 */

static void start_prologue(struct code_scan *scan)
{
	scan->knowledge = KNOW_PROLOGUE;
	scan->prologue = scan->at;
	scan->prologue_rows = scan->rows.list.count;
	scan->rules = (struct cfi_rules){
		.cfa = {.form = CFI_FORM_PLAIN, .dwarf_register = EXIDX_SP},
	};
	scan->depth = 0;
	scan->is_changed = false;
	put(scan, (struct unwind_row){0}, scan->at);
}

static void save(struct code_scan *scan, enum cfi_register which, int64_t offset)
{
	struct cfi_rule *rule = &scan->rules.registers[which];

	if (rule->kind == CFI_RULE_NONE) /* otherwise pushed as an argument or for alignment */
		*rule = (struct cfi_rule){.kind = CFI_RULE_AT_CFA, .place.offset = offset};
}

static void push(struct code_scan *scan, const struct exidx_instruction *instruction)
{
	int64_t offset = -(int64_t)scan->depth - (int64_t)instruction->bytes;

	for (unsigned int i = 0; i <= EXIDX_LR; i++) {
		if (!(instruction->registers & 1U << i))
			continue;
		if (i == EXIDX_LR)
			save(scan, CFI_IP, offset);
		else if (i == EXIDX_FP)
			save(scan, CFI_BP, offset);
		else if (i == EXIDX_R7)
			save(scan, CFI_SECOND, offset);
		offset += 4;
	}
	scan->depth += instruction->bytes;
}

static bool is_same_rule(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->kind == b->kind && a->place.offset == b->place.offset;
}

static bool is_target(const struct code_scan *scan)
{
	for (int i = 0; i < CFI_REGISTER_COUNT; i++)
		if (!is_same_rule(&scan->rules.registers[i], &scan->target->registers[i]))
			return false;
	return scan->rules.cfa.dwarf_register == scan->target->cfa.dwarf_register &&
	       scan->rules.cfa.offset == scan->target->cfa.offset;
}

/* Writes the row after an instruction of the prologue. */
static void put_prologue(struct code_scan *scan, uint32_t offset)
{
	struct unwind_row row;

	cfi_row_encode(&unwind_abi_arm, &scan->rules, false, &row);
	put(scan, row, offset);
	if (is_target(scan)) {
		scan->knowledge = KNOW_BODY;
		scan->has_arrived = true;
	}
}

static void fail_prologue(struct code_scan *scan)
{
	take_back(scan, scan->prologue, scan->prologue_rows);
	scan->knowledge = KNOW_NOTHING;
}

static void step_prologue(struct code_scan *scan, const struct exidx_instruction *instruction)
{
	bool from_sp = scan->rules.cfa.dwarf_register == EXIDX_SP;

	if (scan->depth > INT32_MAX / 2 || instruction->bytes > INT32_MAX / 2) {
		fail_prologue(scan);
		return;
	}
	if (instruction->effect == EXIDX_FRAME) {
		if (instruction->frame_register != scan->target->cfa.dwarf_register)
			return;
		scan->rules.cfa.dwarf_register = instruction->frame_register;
		scan->rules.cfa.offset = (int64_t)scan->depth - instruction->bytes;
	} else if (instruction->effect == EXIDX_PUSH) {
		push(scan, instruction);
	} else {
		scan->depth += instruction->bytes;
	}
	if (from_sp && scan->rules.cfa.dwarf_register == EXIDX_SP)
		scan->rules.cfa.offset = scan->depth;
	scan->is_changed = true;
	put_prologue(scan, scan->at + instruction->size);
}

/*
 * Blocks.
 */

static void start_block(struct code_scan *scan, uint32_t offset)
{
	scan->block = offset;
	scan->block_rows = scan->rows.list.count;
	scan->knowledge = scan->has_arrived ? KNOW_BODY : KNOW_NOTHING;
	if (offset < scan->end)
		put(scan, scan->has_arrived ? *scan->body : stop_row, offset);
}

static void contradict(struct code_scan *scan)
{
	take_back(scan, scan->block, scan->block_rows);
	scan->knowledge = KNOW_NOTHING;
}

/* Returns true if the instruction starts a new frame in code that should already have one. */
static bool is_first_of_frame(const struct code_scan *scan,
			      const struct exidx_instruction *instruction)
{
	unsigned int base = (unsigned int)scan->target->cfa.dwarf_register;

	if (instruction->effect == EXIDX_PUSH)
		return by_sp(scan) || instruction->registers & (1U << EXIDX_LR | 1U << base);
	return instruction->effect == EXIDX_FALL && by_sp(scan);
}

static void in_prologue(struct code_scan *scan, const struct exidx_instruction *instruction)
{
	switch (instruction->effect) {
	case EXIDX_PUSH:
	case EXIDX_FALL:
	case EXIDX_FRAME:
		step_prologue(scan, instruction);
		break;
	case EXIDX_MOVE_SP:
	case EXIDX_UNDO:
		fail_prologue(scan);
		break;
	case EXIDX_END:
	case EXIDX_LINK_RETURN: /* an early return, before the frame is made */
		if (scan->is_changed)
			fail_prologue(scan);
		break;
	default:
		break;
	}
}

static void in_body(struct code_scan *scan, const struct exidx_instruction *instruction)
{
	if (is_first_of_frame(scan, instruction)) {
		if (scan->at > scan->block)
			contradict(scan);
		start_prologue(scan);
		step_prologue(scan, instruction);
	} else if (instruction->effect == EXIDX_UNDO ||
		   (instruction->effect == EXIDX_MOVE_SP && by_sp(scan))) {
		put(scan, stop_row, scan->at + instruction->size);
		scan->knowledge = KNOW_NOTHING;
	} else if (instruction->effect == EXIDX_LINK_RETURN ||
		   instruction->effect == EXIDX_MAYBE_RETURN) {
		contradict(scan);
	}
}

/* In unknown code, only the start of another function provides new information. */
static void in_unknown(struct code_scan *scan, const struct exidx_instruction *instruction)
{
	if (instruction->effect != EXIDX_PUSH || !is_first_of_frame(scan, instruction))
		return;
	start_prologue(scan);
	step_prologue(scan, instruction);
}

static void scan_code(struct code_scan *scan)
{
	start_prologue(scan);
	scan->block = scan->at;
	while (!scan->err && scan->end - scan->at >= 2) {
		struct exidx_instruction instruction =
			exidx_decode(scan->file + scan->at, scan->end - scan->at, scan->is_thumb);

		if (scan->knowledge == KNOW_PROLOGUE)
			in_prologue(scan, &instruction);
		else if (scan->knowledge == KNOW_BODY)
			in_body(scan, &instruction);
		else
			in_unknown(scan, &instruction);
		scan->at += instruction.size;
		if (instruction.effect == EXIDX_END || instruction.effect == EXIDX_LINK_RETURN)
			start_block(scan, scan->at);
	}
	if (scan->knowledge == KNOW_PROLOGUE && scan->is_changed)
		fail_prologue(scan);
}

/* The whole code cannot be unwound: one STOP row. */
static int stop_all(uint32_t start, struct exidx_rows *rows)
{
	struct unwind_row row = stop_row;

	row.offset = start;
	rows->list.count = 0;
	return vec_push(&rows->list, row);
}

int exidx_code_rows(const uint8_t *file, uint32_t start, uint32_t end,
		    const struct cfi_rules *rules, const struct unwind_row *row,
		    struct exidx_rows *ret_rows)
{
	struct code_scan scans[2];
	bool is_sure;
	int err = 0;

	for (int i = 0; i < 2; i++) {
		scans[i] = (struct code_scan){
			.file = file,
			.at = start,
			.end = end,
			.is_thumb = i,
			.target = rules,
			.body = row,
		};
		scan_code(&scans[i]);
		err = scans[i].err ? scans[i].err : err;
	}
	is_sure = scans[0].has_arrived != scans[1].has_arrived;
	*ret_rows = scans[is_sure && scans[1].has_arrived].rows;
	vec_free(&scans[!(is_sure && scans[1].has_arrived)].rows.list);
	if (!err && !is_sure)
		err = stop_all(start, ret_rows);
	return err;
}
