/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One line per site, the input format of flame graphs: the process, its frames from the outermost
 * to the innermost, the allocator function, and the live bytes. The lines of a process sum up to
 * its live bytes, including mappings. Inlined calls end in _[i], which flamegraph.pl colours.
 */

#include <inttypes.h>
#include <string.h>

#include "report/common/frame.h"
#include "report/common/glyph.h"
#include "report/common/name.h"
#include "report/common/out.h"
#include "report/format.h"

/* Semicolons separate frames, and the last blank separates the number. The output is UTF-8 in every
 * locale: programs read it. */
static void put_word(struct out *out, const char *word)
{
	struct glyph glyph;
	size_t taken;

	for (; (taken = glyph_next(word, true, &glyph)); word += taken)
		out_text(out, *word == ';' ? ":" : glyph.text);
}

static void put_hex(struct out *out, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, number);
	out_text(out, text);
}

static void put_frame(struct out *out, const struct snapshot_frame *frame)
{
	out_text(out, ";");
	if (frame->function) {
		put_word(out, frame->function);
		out_text(out, frame->inlined ? "_[i]" : "");
	} else if (frame->module) {
		out_text(out, "[");
		put_word(out, name_base(frame->module));
		out_text(out, "+");
		put_hex(out, frame->vaddr);
		out_text(out, "]");
	} else {
		put_hex(out, frame->address);
	}
}

static void put_process(struct out *out, const struct snapshot_process *process, bool alone)
{
	char pid[16];

	put_word(out, process->comm ? process->comm : "?");
	if (alone)
		return;
	snprintf(pid, sizeof(pid), "-%" PRIu32, process->pid);
	out_text(out, pid);
}

static void put_bytes(struct out *out, uint64_t bytes)
{
	char text[32];

	snprintf(text, sizeof(text), " %" PRIu64 "\n", bytes);
	out_text(out, text);
}

static void put_site(struct out *out, const struct snapshot_process *process,
		     const struct snapshot_site *site)
{
	const struct snapshot_stack *stack = site->other ? NULL : site_stack(process, site);

	if (site->other)
		out_text(out, ";[others]");
	else if (!stack || !stack->frame_count)
		out_text(out, ";[unknown]");
	else if (stack->truncated)
		out_text(out, ";[truncated]");
	for (uint32_t i = stack ? stack->frame_count : 0; i--;)
		put_frame(out, &stack->frames[i]);
	out_text(out, ";");
	put_word(out, api_name(site->api));
	put_bytes(out, site->live_bytes);
}

static void put_others(struct out *out, const struct snapshot_others *others)
{
	uint64_t bytes = others->sums.live.bytes + others->sums.mappings.bytes;

	if (!bytes)
		return;
	out_text(out, "[others]");
	put_bytes(out, bytes);
}

/* Shows the first `top` sites and sums up the others. */
static void put_sites(struct out *out, const struct snapshot_process *process, uint32_t top,
		      bool alone)
{
	uint64_t rest = 0;

	for (size_t i = 0; i < process->site_count && !out->err; i++) {
		const struct snapshot_site *site = &process->sites[i];

		if (top && i >= top) {
			rest += site->live_bytes;
		} else if (site->live_bytes) {
			put_process(out, process, alone);
			put_site(out, process, site);
		}
	}
	if (!rest)
		return;
	put_process(out, process, alone);
	out_text(out, ";[others]");
	put_bytes(out, rest);
}

static int folded_write(const struct snapshot *snapshot, const struct format_options *options,
			FILE *file)
{
	bool alone = snapshot->process_count + snapshot->others.sections <= 1;
	struct out out = {.file = file};

	for (size_t i = 0; i < snapshot->process_count; i++)
		put_sites(&out, &snapshot->processes[i], options->top, alone);
	put_others(&out, &snapshot->others);
	return out_finish(&out);
}

const struct report_format format_folded = {.name = "folded", .write = folded_write};
