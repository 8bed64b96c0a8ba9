/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares two reports, of the same processes or of different runs of a program.
 *
 * Two sites are the same if the program, the function called and the stack are. Frames in a file
 * with the same build id in both reports are compared by their offsets in it. If the builds differ,
 * frames are compared by function name, because lines move. Sites of several processes of a program
 * are summed up. Sites are identified by a 64-bit hash; collisions are not checked.
 */
#include "app/report/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/cli/usage.h"
#include "app/terminal/output.h"
#include "app/report/report_file.h"
#include "app/terminal/terminal.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map64.h"
#include "base/vec.h"
#include "model/snapshot/suspect.h"
#include "report/common/name.h"
#include "report/common/frame.h"
#include "report/common/page.h"
#include "report/common/process.h"
#include "report/format.h"
#include "report/site/change.h"
#include "report/site/suspects.h"

#define NS_PER_MS 1000000ULL

/* A site, summed up over the processes of one or both reports. */
struct diff_entry {
	const struct snapshot_process *process; /* one with this site, preferably newer */
	struct snapshot_site site;              /* sums in the newer report */
	struct snapshot_sum before;
};

struct report_diff {
	struct snapshot *old, *new;
	bool several;        /* several programs */
	struct map64 builds; /* hashes of the build ids that both reports have */
	struct map64 index;  /* entries by hash */
	VEC(struct diff_entry) entries;
	VEC(struct site_row) rows;
};

/* ---- builds ---- */

static uint64_t hash_text(const char *text)
{
	return text ? hash_bytes(text, strlen(text)) : 0;
}

/* Notes the snapshot's build ids that are also in `among`, or all of them if that is NULL. */
static int note_builds(const struct snapshot *snapshot, const struct map64 *among,
		       struct map64 *builds)
{
	int err = 0;

	for (size_t i = 0; i < snapshot->process_count; i++) {
		const struct snapshot_process *process = &snapshot->processes[i];

		for (size_t j = 0; j < process->stack_count; j++) {
			const struct snapshot_stack *stack = &process->stacks[j];

			for (uint32_t k = 0; k < stack->frame_count && !err; k++) {
				uint64_t build = hash_text(stack->frames[k].build_id);

				if (build && (!among || map64_get(among, build) != MAP64_NONE))
					err = map64_set(builds, build, 1);
			}
		}
	}
	return err;
}

static int find_builds(struct report_diff *diff)
{
	struct map64 old = {0};
	int err = note_builds(diff->old, NULL, &old);

	if (!err)
		err = note_builds(diff->new, &old, &diff->builds);
	map64_free(&old);
	return err;
}

/* ---- sites ---- */

static uint64_t hash_frame(const struct report_diff *diff, const struct snapshot_frame *frame)
{
	uint64_t build = hash_text(frame->build_id);
	bool same = build && map64_get(&diff->builds, build) != MAP64_NONE;
	const char *name = frame->function ? frame->function : frame->module;
	const uint64_t parts[] = {same ? build : 0, same ? frame->offset : 0,
				  hash_text(name ? name_base(name) : NULL)};

	return hash_bytes(parts, sizeof(parts));
}

static uint64_t hash_program(const struct snapshot_process *process)
{
	return hash_text(process->exe ? name_base(process->exe) : process->comm);
}

static uint64_t hash_site(const struct report_diff *diff, const struct snapshot_process *process,
			  const struct snapshot_site *site)
{
	const struct snapshot_stack *stack = site_stack(process, site);
	uint64_t parts[] = {hash_program(process), (uint64_t)site->api, site->other, 0};

	for (uint32_t i = 0; stack && i < stack->frame_count; i++) {
		parts[3] = hash_frame(diff, &stack->frames[i]);
		parts[0] = hash_bytes(parts, sizeof(parts));
	}
	return hash_bytes(parts, sizeof(parts));
}

static struct diff_entry *entry_of(struct report_diff *diff, const struct snapshot_process *process,
				   const struct snapshot_site *site)
{
	uint64_t hash = hash_site(diff, process, site);
	uint32_t found = map64_get(&diff->index, hash);
	struct diff_entry entry = {.process = process,
				   .site = {.api = site->api, .other = site->other}};

	if (found != MAP64_NONE)
		return &diff->entries.items[found];
	entry.site.stack = site->stack;
	entry.site.id = (uint32_t)diff->entries.count;
	if (vec_push(&diff->entries, entry) ||
	    map64_set(&diff->index, hash, (uint32_t)diff->entries.count - 1))
		return NULL;
	return &diff->entries.items[diff->entries.count - 1];
}

static void add_new(struct diff_entry *entry, const struct snapshot_site *site)
{
	entry->site.live_blocks += site->live_blocks;
	entry->site.live_bytes += site->live_bytes;
	entry->site.allocations += site->allocations;
}

static void add_old(struct diff_entry *entry, const struct snapshot_site *site)
{
	entry->before.blocks += site->live_blocks;
	entry->before.bytes += site->live_bytes;
}

static int add_all(struct report_diff *diff, const struct snapshot *snapshot,
		   void (*add)(struct diff_entry *entry, const struct snapshot_site *site))
{
	for (size_t i = 0; i < snapshot->process_count; i++) {
		const struct snapshot_process *process = &snapshot->processes[i];

		for (size_t j = 0; j < process->site_count; j++) {
			struct diff_entry *entry = entry_of(diff, process, &process->sites[j]);

			if (!entry)
				return -ENOMEM;
			add(entry, &process->sites[j]);
		}
	}
	return 0;
}

static int make_rows(struct report_diff *diff)
{
	const struct diff_entry *entry;

	vec_each (entry, &diff->entries) {
		const struct site_row row = {
			.process = entry->process,
			.site = &entry->site,
			.bytes = (int64_t)(entry->site.live_bytes - entry->before.bytes),
			.blocks = (int64_t)(entry->site.live_blocks - entry->before.blocks),
		};

		if (vec_push(&diff->rows, row))
			return -ENOMEM;
		diff->several |= hash_program(entry->process) !=
				 hash_program(diff->entries.items[0].process);
	}
	if (diff->rows.count)
		qsort(diff->rows.items, diff->rows.count, sizeof(*diff->rows.items),
		      site_change_compare);
	return 0;
}

/* Reads the newer report first, so that its processes represent sites that both have. */
static int compare(struct report_diff *diff)
{
	int err = find_builds(diff);

	if (!err)
		err = add_all(diff, diff->new, add_new);
	if (!err)
		err = add_all(diff, diff->old, add_old);
	return err ? err : make_rows(diff);
}

/* ---- output ---- */

static uint64_t live_of(const struct snapshot *snapshot)
{
	uint64_t live = 0;

	for (size_t i = 0; i < snapshot->process_count; i++)
		live += snapshot->processes[i].live.bytes;
	return live;
}

static uint64_t date_ms(const struct snapshot *snapshot)
{
	return (uint64_t)snapshot->taken_at * 1000 + snapshot->taken_at_ms;
}

static int write_change(const struct report_diff *diff, const struct site_change *change,
			struct page *page, uint32_t top)
{
	const struct site_table_options look = {
		.changes = true, .programs = true, .several = diff->several};
	VEC(struct site_row) rows = {0};
	const struct site_row *row;
	int err = 0;

	vec_each (row, &diff->rows)
		if (!err && change->has(row))
			err = vec_push(&rows, *row);
	if (!err && rows.count) {
		size_t shown = top && top < rows.count ? top : rows.count;

		site_change_heading(page, change, rows.count);
		site_table_write(page, rows.items, shown, &look);
		if (shown < rows.count) {
			page_to(page, 2);
			page_format(page, STYLE_QUIET, "%zu more: --top 0 shows all",
				    rows.count - shown);
			page_end(page);
		}
	}
	vec_free(&rows);
	return err;
}

static void write_incomplete(struct page *page, const char *name, const struct snapshot *snapshot)
{
	if (!snapshot->incomplete)
		return;
	page_format(page, STYLE_WARNING, "! %s is incomplete: %s", name, snapshot->incomplete);
	page_end(page);
}

static bool has_changed(const struct report_diff *diff)
{
	const struct site_row *row;

	vec_each (row, &diff->rows)
		if (row->bytes || row->blocks)
			return true;
	return false;
}

/* The newer report knows how long sites have been growing. */
static void write_suspects(const struct report_diff *diff, struct page *page)
{
	const struct snapshot_site *worst;

	for (size_t i = 0; i < diff->new->process_count; i++) {
		const struct snapshot_process *process = &diff->new->processes[i];

		if (!suspects_find(process, &worst, 1))
			continue;
		page_end(page);
		if (diff->new->process_count > 1) {
			page_name(page, STYLE_STRONG, process_name(process), NAME_COLUMNS);
			page_format(page, STYLE_STRONG, " (%u)", process->pid);
			page_end(page);
		}
		suspects_write(page, process, false, false);
	}
}

static int write_page(const struct report_diff *diff, const struct options *options, FILE *out,
		      int fd)
{
	struct page page = {.out = {.file = out},
			    .width = terminal_width(fd),
			    .limit = terminal_width(fd),
			    .color = terminal_color(options->color, fd),
			    .utf8 = terminal_utf8()};
	uint64_t from = date_ms(diff->old), to = date_ms(diff->new);
	int err = 0;

	site_change_title(&page, name_base(options->program[0]),
			  to > from ? (to - from) * NS_PER_MS : 0,
			  (int64_t)(live_of(diff->new) - live_of(diff->old)));
	write_incomplete(&page, options->program[0], diff->old);
	write_incomplete(&page, options->program[1], diff->new);
	write_suspects(diff, &page);
	if (!has_changed(diff))
		page_sentence(&page, STYLE_PLAIN, 0,
			      "No site has more or less live memory than before.");
	for (size_t i = 0; i < SITE_CHANGES && !err; i++)
		err = write_change(diff, &site_changes[i], &page, options->top);
	return err ? err : page_finish(&page);
}

static int write_diff(const struct report_diff *diff, const struct options *options,
		      struct error *err)
{
	const char *path = options->output;
	struct output output;
	int code = path && strcmp(path, "-") ? output_open(&output, path, options->output_mode, err)
					     : output_open_fd(&output, STDOUT_FILENO, err);

	if (code)
		return code;
	code = write_page(diff, options, output.stream, fileno(output.stream));
	if (!code)
		return output_commit(&output, err);
	output_abandon(&output);
	return error_set_errno(err, code, "cannot write the difference");
}

/* ---- the command ---- */

static int run(const struct options *options, struct error *err)
{
	struct report_diff diff = {0};
	int code = report_file_read(&diff.old, options->program[0], err);

	if (!code)
		code = report_file_read(&diff.new, options->program[1], err);
	if (!code) {
		code = compare(&diff);
		if (code)
			error_set_errno(err, code, "cannot compare the reports");
	}
	if (!code)
		code = write_diff(&diff, options, err);
	vec_free(&diff.entries);
	vec_free(&diff.rows);
	map64_free(&diff.index);
	map64_free(&diff.builds);
	snapshot_free(diff.old);
	snapshot_free(diff.new);
	return code;
}

/* Returns what is wrong with the command line, or NULL. */
static const char *misuse(const struct options *options)
{
	if (!options->program || !options->program[1])
		return "needs two JSON reports, the older one first";
	if (options->program[2])
		return "takes two reports";
	if (options->record || options->interactive)
		return "takes neither --record nor --interactive";
	return options->formats.count > 1 || options->formats.items[0].format != &format_text
		       ? "writes only text"
		       : NULL;
}

int command_diff(const struct options *options)
{
	const char *wrong = misuse(options);
	struct error err;

	if (wrong) {
		log_error("diff %s; see mtrace-bpf --help", wrong);
		return EXIT_USAGE;
	}
	if (options_of_live(options)) {
		log_error("--%s is not valid with diff; see mtrace-bpf --help",
			  options_of_live(options));
		return EXIT_USAGE;
	}
	if (command_takes_no_net(options))
		return EXIT_USAGE;
	if (!run(options, &err))
		return EXIT_DONE;
	log_error("%s", err.text);
	return EXIT_CANNOT;
}
