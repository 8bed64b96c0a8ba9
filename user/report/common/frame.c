/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/common/frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/common/name.h"
#include "report/common/stop_words.h"

#define BRIEF_COLUMNS      48
#define COLUMN_GAP         2
#define CULPRIT_MARK_WIDTH 2
#define INLINED_MARK       " (inlined)"

const struct snapshot_stack *site_stack(const struct snapshot_process *process,
					const struct snapshot_site *site)
{
	if (site->stack >= process->stack_count)
		return NULL;
	return &process->stacks[site->stack];
}

static bool known(const char *text)
{
	return text && *text;
}

bool frame_named(const struct snapshot_frame *frame)
{
	return known(frame->function) || known(frame->module);
}

/* Code that runs before main, or before the first function of a thread. */
static bool frame_in_runtime(const struct snapshot_frame *frame)
{
	static const char *const starts[] = {"_start",
					     "start_thread",
					     "clone",
					     "clone3",
					     "__clone",
					     "__clone3",
					     "__libc_start_call_main",
					     "__libc_start_main",
					     "__libc_start_main_impl"};

	for (size_t i = 0; known(frame->function) && i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strcmp(frame->function, starts[i]))
			return true;
	return false;
}

/* Headers of libstdc++ and libc++: the culprit is the code that uses an inlined container. */
static bool file_in_cxx_library(const char *file)
{
	return strstr(file, "/include/c++/") || strstr(file, "/c++/v1/");
}

enum merit { MERIT_WRAPPER, MERIT_CODE, MERIT_FUNCTION, MERIT_LIBRARY_LINE, MERIT_LINE };

static enum merit frame_merit(const struct snapshot_frame *frame)
{
	if (frame->wrapper)
		return MERIT_WRAPPER;
	if (frame_in_runtime(frame))
		return MERIT_CODE;
	if (known(frame->file))
		return file_in_cxx_library(frame->file) ? MERIT_LIBRARY_LINE : MERIT_LINE;
	return known(frame->function) ? MERIT_FUNCTION : MERIT_CODE;
}

const struct snapshot_frame *stack_culprit(const struct snapshot_stack *stack)
{
	const struct snapshot_frame *best = NULL;

	for (uint32_t i = 0; stack && i < stack->frame_count; i++)
		if (!best || frame_merit(&stack->frames[i]) > frame_merit(best))
			best = &stack->frames[i];
	return best;
}

const char *frame_label(const struct snapshot_frame *frame, char label[FRAME_LABEL_SIZE])
{
	if (known(frame->function))
		return frame->function;
	if (known(frame->module))
		snprintf(label, FRAME_LABEL_SIZE, "%s+0x%" PRIx64, name_base(frame->module),
			 frame->offset);
	else
		snprintf(label, FRAME_LABEL_SIZE, "0x%" PRIx64, frame->address);
	return label;
}

const char *frame_source(const struct snapshot_frame *frame, char label[FRAME_LABEL_SIZE])
{
	if (!known(frame->file))
		return "";
	if (!frame->line)
		return name_base(frame->file);
	snprintf(label, FRAME_LABEL_SIZE, "%s:%" PRIu32, name_base(frame->file), frame->line);
	return label;
}

static const char *frame_module(const struct snapshot_frame *frame)
{
	return known(frame->module) && known(frame->function) ? name_base(frame->module) : "";
}

void frame_brief(struct page *page, const struct snapshot_frame *frame)
{
	char label[FRAME_LABEL_SIZE];

	page_name(page, STYLE_PLAIN, frame_label(frame, label), BRIEF_COLUMNS);
	if (!known(frame->file))
		return;
	page_text(page, STYLE_PLAIN, " (");
	page_name(page, STYLE_PLAIN, frame_source(frame, label), BRIEF_COLUMNS);
	page_text(page, STYLE_PLAIN, ")");
}

/* Widths of the columns of a stack: first what each part needs, then what it gets. */
struct columns {
	size_t indent;
	size_t function;
	size_t place; /* including INLINED_MARK */
	size_t module;
};

static size_t mark_columns(const struct snapshot_frame *frame)
{
	return frame->inlined ? strlen(INLINED_MARK) : 0;
}

static void columns_want(struct columns *columns, const struct page *page,
			 const struct snapshot_frame *frame, bool long_frames)
{
	char label[FRAME_LABEL_SIZE];
	size_t function = page_columns(page, frame_label(frame, label));
	size_t place = page_columns(page, frame_source(frame, label)) + mark_columns(frame);
	size_t module = long_frames ? page_columns(page, frame_module(frame)) : 0;

	if (columns->function < function)
		columns->function = function;
	if (columns->place < place)
		columns->place = place;
	if (columns->module < module)
		columns->module = module;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The module column gets at most a quarter of the line and the source column at most two fifths,
 * unless the function names are short. The function column gets the rest.
 */
static void columns_share(struct columns *columns, size_t width)
{
	size_t gaps = (columns->place ? COLUMN_GAP : 0) + (columns->module ? COLUMN_GAP : 0);
	size_t room = width - columns->indent - CULPRIT_MARK_WIDTH - gaps;
	size_t function = columns->function;

	columns->module = least(columns->module, room / 4);
	columns->function =
		least(function, room - columns->module - least(columns->place, room * 2 / 5));
	columns->place = least(columns->place, room - columns->module - columns->function);
}

/* Shortened names may need less than their column: give the rest to the source column. */
static void columns_tighten(struct columns *columns, struct page *page,
			    const struct snapshot_stack *stack, size_t place)
{
	size_t needed = 0;

	for (uint32_t i = 0; i < stack->frame_count; i++) {
		char label[FRAME_LABEL_SIZE];
		char *name = name_fit(frame_label(&stack->frames[i], label), columns->function,
				      page->utf8);
		size_t used = name ? page_columns(page, name) : columns->function;

		needed = used > needed ? used : needed;
		free(name);
	}
	columns->place = least(place, columns->place + columns->function - needed);
	columns->function = needed;
}

static struct columns columns_of(struct page *page, const struct snapshot_stack *stack,
				 size_t indent, bool long_frames)
{
	struct columns columns = {.indent = indent};
	size_t place;

	for (uint32_t i = 0; i < stack->frame_count; i++)
		columns_want(&columns, page, &stack->frames[i], long_frames);
	place = columns.place;
	columns_share(&columns, page->width);
	columns_tighten(&columns, page, stack, place);
	return columns;
}

static enum style frame_style(const struct snapshot_frame *frame, bool culprit)
{
	if (culprit)
		return STYLE_CULPRIT;
	return frame->wrapper ? STYLE_QUIET : STYLE_PLAIN;
}

static void frame_write_place(struct page *page, const struct snapshot_frame *frame,
			      const struct columns *columns, enum style style)
{
	char label[FRAME_LABEL_SIZE];
	const char *place = frame_source(frame, label);

	if (*place)
		page_name(page, style, place, columns->place - mark_columns(frame));
	if (frame->inlined)
		page_text(page, STYLE_QUIET, *place ? INLINED_MARK : INLINED_MARK + 1);
}

static void frame_write(struct page *page, const struct snapshot_frame *frame,
			const struct columns *columns, bool culprit)
{
	char label[FRAME_LABEL_SIZE];
	enum style style = frame_style(frame, culprit);
	size_t function_at = columns->indent + CULPRIT_MARK_WIDTH;
	size_t place_at = function_at + columns->function + COLUMN_GAP;
	size_t module_at = place_at + (columns->place ? columns->place + COLUMN_GAP : 0);

	page_to(page, columns->indent);
	if (culprit)
		page_text(page, style, page_symbol(page, SYMBOL_ARROW));
	page_to(page, function_at);
	page_name(page, style, frame_label(frame, label), columns->function);
	if (known(frame->file) || frame->inlined) {
		page_to(page, place_at);
		frame_write_place(page, frame, columns, style);
	}
	if (columns->module && *frame_module(frame)) {
		page_to(page, module_at);
		page_name(page, STYLE_QUIET, frame_module(frame), columns->module);
	}
	page_end(page);
}

static void stack_write_end(struct page *page, size_t indent, const struct snapshot_stack *stack)
{
	page_to(page, indent + CULPRIT_MARK_WIDTH);
	if (stack)
		page_format(page, STYLE_QUIET, "(cut short: %s)",
			    stop_words_of(stack->stop)->brief);
	else
		page_text(page, STYLE_QUIET, "(no stack)");
	page_end(page);
}

void stack_write(struct page *page, const struct snapshot_stack *stack, size_t indent,
		 bool long_frames)
{
	const struct snapshot_frame *culprit = stack_culprit(stack);
	struct columns columns;

	if (!stack || !stack->frame_count) {
		stack_write_end(page, indent, NULL);
		return;
	}
	columns = columns_of(page, stack, indent, long_frames);
	for (uint32_t i = 0; i < stack->frame_count; i++)
		frame_write(page, &stack->frames[i], &columns, &stack->frames[i] == culprit);
	if (stack->truncated)
		stack_write_end(page, indent, stack);
}
