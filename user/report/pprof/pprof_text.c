/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heap profile as gperftools writes it, for tools that read only this format: google-pprof
 * (Debian's google-perftools). `go tool pprof` reads it too. It has addresses and file mappings but
 * no names, which readers look up in the files. It says "heapprofile" and not "heap_v2/1", because
 * readers scale up small blocks in the latter as if they were samples.
 *
 * The format has one address space, that of the most important process. Sites without a stack or
 * beyond --top are at address 0. Readers subtract one from each address except the first, because
 * these are return addresses. All of ours are return addresses, except exact ones.
 */

#include <errno.h>
#include <inttypes.h>

#include "base/vec.h"
#include "report/common/frame.h"
#include "report/common/out.h"
#include "report/format.h"

#define PAGE      4096
#define LINE_SIZE 160

/* The mapped part of a file that was seen, with one difference between addresses and offsets. */
struct mapped {
	uint64_t bias, first, last;
	const char *path;
};

struct pprof_text_writer {
	struct out out;
	const struct snapshot_process *process;
	VEC(struct mapped) mapped;
};

struct amounts {
	uint64_t live_blocks, live_bytes, allocations, bytes_allocated;
};

static void add(struct amounts *sum, const struct snapshot_site *site)
{
	sum->live_blocks += site->live_blocks;
	sum->live_bytes += site->live_bytes;
	sum->allocations += site->allocations;
	sum->bytes_allocated += site->bytes_allocated;
}

static void put_amounts(struct out *out, const char *head, const struct amounts *amounts)
{
	char line[LINE_SIZE];

	snprintf(line, sizeof(line), "%s%6" PRIu64 ": %8" PRIu64 " [%6" PRIu64 ": %8" PRIu64 "] @",
		 head, amounts->live_blocks, amounts->live_bytes, amounts->allocations,
		 amounts->bytes_allocated);
	out_text(out, line);
}

static void put_address(struct out *out, uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), " 0x%016" PRIx64, address);
	out_text(out, text);
}

static void note_mapped(struct pprof_text_writer *writer, const struct snapshot_frame *frame)
{
	uint64_t bias = frame->address - frame->offset;
	struct mapped *mapped;

	if (!frame->module)
		return;
	vec_each (mapped, &writer->mapped) {
		if (mapped->path != frame->module || mapped->bias != bias)
			continue;
		mapped->first = frame->address < mapped->first ? frame->address : mapped->first;
		mapped->last = frame->address > mapped->last ? frame->address : mapped->last;
		return;
	}
	if (vec_push(&writer->mapped,
		     ((struct mapped){bias, frame->address, frame->address, frame->module})))
		out_fail(&writer->out, -ENOMEM);
}

/* Inlined calls have the same address as their caller, which is the next frame. */
static void put_stack(struct pprof_text_writer *writer, const struct snapshot_stack *stack)
{
	uint32_t put = 0;

	for (uint32_t i = 0; stack && i < stack->frame_count; i++) {
		const struct snapshot_frame *frame = &stack->frames[i];
		uint64_t call = frame->address - !frame->exact;

		if (frame->inlined)
			continue;
		note_mapped(writer, frame);
		put_address(&writer->out, put++ ? call + 1 : call);
	}
	if (!put)
		put_address(&writer->out, 0);
	out_text(&writer->out, "\n");
}

static void put_sites(struct pprof_text_writer *writer, uint32_t top)
{
	const struct snapshot_process *process = writer->process;
	struct amounts rest = {0};

	for (size_t i = 0; i < process->site_count && !writer->out.err; i++) {
		const struct snapshot_site *site = &process->sites[i];
		struct amounts amounts = {0};

		add(top && i >= top ? &rest : &amounts, site);
		if (top && i >= top)
			continue;
		put_amounts(&writer->out, "", &amounts);
		put_stack(writer, site->other ? NULL : site_stack(process, site));
	}
	if (!rest.allocations && !rest.live_blocks)
		return;
	put_amounts(&writer->out, "", &rest);
	put_stack(writer, NULL);
}

static void put_head(struct pprof_text_writer *writer, const struct snapshot *snapshot)
{
	const struct snapshot_process *process = writer->process;
	struct amounts all = {0};
	char line[LINE_SIZE];

	for (size_t i = 0; process && i < process->site_count; i++)
		add(&all, &process->sites[i]);
	put_amounts(&writer->out, "heap profile: ", &all);
	out_text(&writer->out, " heapprofile\n");
	if (snapshot->process_count + snapshot->others.sections <= 1)
		return;
	snprintf(line, sizeof(line), "# only process %" PRIu32 "; others are omitted\n",
		 process ? process->pid : 0);
	out_text(&writer->out, line);
}

/* The traced program chooses its names, which must not end the line. */
static void put_path(struct out *out, const char *path)
{
	for (; *path; path++)
		out_bytes(out, (unsigned char)*path < ' ' || *path == 0x7f ? "?" : path, 1);
}

/* The format of /proc/PID/maps. Device and inode are not known, and readers do not need them. */
static void put_mapped(struct pprof_text_writer *writer)
{
	const struct mapped *mapped;
	char line[LINE_SIZE];

	out_text(&writer->out, "\nMAPPED_LIBRARIES:\n");
	vec_each (mapped, &writer->mapped) {
		uint64_t start = mapped->first / PAGE * PAGE, end = mapped->last / PAGE * PAGE;

		snprintf(line, sizeof(line),
			 "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64 " 00:00 0          ", start,
			 end + PAGE, start - mapped->bias);
		out_text(&writer->out, line);
		put_path(&writer->out, mapped->path);
		out_text(&writer->out, "\n");
	}
}

static const struct snapshot_process *worst_of(const struct snapshot *snapshot)
{
	const struct snapshot_process *worst = NULL;

	for (size_t i = 0; i < snapshot->process_count; i++)
		if (!worst || snapshot_compare(&snapshot->processes[i], worst) > 0)
			worst = &snapshot->processes[i];
	return worst;
}

static int pprof_text_write(const struct snapshot *snapshot, const struct format_options *options,
			    FILE *file)
{
	struct pprof_text_writer writer = {.out = {.file = file}, .process = worst_of(snapshot)};

	put_head(&writer, snapshot);
	if (writer.process)
		put_sites(&writer, options->top);
	put_mapped(&writer);
	vec_free(&writer.mapped);
	return out_finish(&writer.out);
}

const struct report_format format_pprof_text = {.name = "pprof-text", .write = pprof_text_write};
