/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log of the live blocks as glibc's mtrace() would have written it: one allocation per block, and
 * one release per release of something that is not live. glibc's mtrace script reads it.
 *
 * A log covers one process. With several processes, the most important one is written, and lines
 * that the script ignores say so.
 */

#include <inttypes.h>
#include <stdarg.h>

#include "report/common/glyph.h"
#include "report/common/out.h"
#include "report/format.h"

static void put_format(struct out *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static void put_format(struct out *out, const char *format, ...)
{
	char text[128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	out_text(out, text);
}

/* The script splits words at blanks. What could start a line or confuse a terminal is escaped, in
 * UTF-8 in every locale: programs read the log. */
static void put_path(struct out *out, const char *path)
{
	struct glyph glyph;
	size_t taken;

	for (; (taken = glyph_next(path, true, &glyph)); path += taken)
		out_text(out, *path == ' ' ? "?" : glyph.text);
}

/* The innermost frame that is not a wrapper: operator new and the like belong to the allocator. */
static const struct snapshot_frame *caller_of(const struct snapshot_stack *stack)
{
	for (uint32_t i = 0; i < stack->frame_count; i++)
		if (!stack->frames[i].wrapper)
			return &stack->frames[i];
	return NULL;
}

static void put_caller(struct out *out, const struct snapshot_process *process, uint32_t stack)
{
	const struct snapshot_frame *frame =
		stack < process->stack_count ? caller_of(&process->stacks[stack]) : NULL;

	if (!frame)
		return;
	out_text(out, "@ ");
	if (frame->module) {
		put_path(out, frame->module);
		put_format(out, ":[0x%" PRIx64 "] ", frame->vaddr);
	} else {
		put_format(out, "[0x%" PRIx64 "] ", frame->address);
	}
}

static void put_blocks(struct out *out, const struct snapshot_process *process)
{
	for (size_t i = 0; i < process->block_count && !out->err; i++) {
		const struct snapshot_block *block = &process->blocks[i];

		put_caller(out, process, block->stack);
		put_format(out, "+ 0x%" PRIx64 " 0x%" PRIx64 "\n", block->address, block->size);
	}
}

static void put_errors(struct out *out, const struct snapshot_process *process)
{
	for (size_t i = 0; i < process->error_count && !out->err; i++) {
		const struct snapshot_error *error = &process->errors[i];
		bool again = error->kind == SANITY_DOUBLE_FREE;

		if (!again && error->kind != SANITY_INVALID_FREE)
			continue;
		put_caller(out, process, again ? error->freed_again_at : error->freed_at);
		put_format(out, "- 0x%" PRIx64 "\n", error->address);
	}
}

static const struct snapshot_process *most_of(const struct snapshot *snapshot)
{
	const struct snapshot_process *most = NULL;

	for (size_t i = 0; i < snapshot->process_count; i++)
		if (!most || snapshot_compare(&snapshot->processes[i], most) > 0)
			most = &snapshot->processes[i];
	return most;
}

static int mtrace_write(const struct snapshot *snapshot, const struct format_options *options,
			FILE *file)
{
	const struct snapshot_process *process = most_of(snapshot);
	struct out out = {.file = file};

	(void)options;
	out_text(&out, "= Start\n");
	if (process && snapshot->process_count + snapshot->others.sections > 1)
		put_format(&out, "# only process %" PRIu32 "; others are omitted\n", process->pid);
	if (snapshot->incomplete)
		out_text(&out, "# incomplete\n");
	if (process) {
		put_blocks(&out, process);
		put_errors(&out, process);
	}
	out_text(&out, "= End\n");
	return out_finish(&out);
}

const struct report_format format_mtrace = {
	.name = "mtrace", .wants_blocks = true, .write = mtrace_write};
