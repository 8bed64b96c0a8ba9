/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process is identified by pid and comm. If several sections have the same pair (a program that
 * executes itself, a reused pid), it belongs to the running one, or else to the latest. The others
 * count as exited.
 */
#include "report/prometheus/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/common/frame.h"
#include "report/common/name.h"
#include "report/prometheus/label.h"

/* Which processes and sites have their own series. */

bool process_is_running(const struct snapshot_process *process)
{
	return !process->exited && !process->replaced && !process->left;
}

/* Running processes first, then the more important ones, then the latest. */
static int compare_processes(const void *a, const void *b)
{
	const struct snapshot_process *left = *(const struct snapshot_process *const *)a;
	const struct snapshot_process *right = *(const struct snapshot_process *const *)b;
	int by_weight;

	if (process_is_running(left) != process_is_running(right))
		return process_is_running(left) ? -1 : 1;
	by_weight = snapshot_compare(left, right);
	if (by_weight)
		return by_weight > 0 ? -1 : 1;
	if (left->traced_until_ns != right->traced_until_ns)
		return left->traced_until_ns > right->traced_until_ns ? -1 : 1;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

static const char *comm_of(const struct snapshot_process *process)
{
	return process->comm ? process->comm : "";
}

static bool has_namesake(const struct rows *rows, const struct snapshot_process *process)
{
	const struct process_line *row;

	vec_each (row, &rows->list)
		if (row->process->pid == process->pid &&
		    !strcmp(comm_of(row->process), comm_of(process)))
			return true;
	return false;
}

/* Returns NULL if out of memory. */
static char *process_labels(const char *pid, const char *comm)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	prometheus_label(out, "", "pid", pid);
	prometheus_label(out, ",", "comm", comm);
	if (!fclose(out))
		return text;
	free(text);
	return NULL;
}

static int row_add(struct rows *rows, const struct snapshot_process *process, const char *pid,
		   const char *comm)
{
	struct process_line row = {.process = process,
				   .labels = process_labels(pid, comm),
				   .running = process_is_running(process),
				   .scanned = process->scan.done};

	if (row.labels && !vec_push(&rows->list, row))
		return 0;
	free(row.labels);
	return -ENOMEM;
}

static int row_place(struct rows *rows, const struct snapshot_process *process, uint32_t limit)
{
	char pid[16];

	if (rows->list.count >= limit || has_namesake(rows, process)) {
		snapshot_others_add(process_is_running(process) ? &rows->other : &rows->ended,
				    process);
		return 0;
	}
	snprintf(pid, sizeof(pid), "%" PRIu32, process->pid);
	return row_add(rows, process, pid, comm_of(process));
}

static int sums_place(struct rows *rows, struct snapshot_others *others, const char *name,
		      bool running)
{
	int err = others->sections ? row_add(rows, &others->sums, name, name) : 0;

	if (err || !others->sections)
		return err;
	rows->list.items[rows->list.count - 1].running = running;
	rows->list.items[rows->list.count - 1].scanned = others->scanned > 0;
	return 0;
}

static int processes_make(struct rows *rows, const struct snapshot *snapshot,
			  const struct prometheus_options *options)
{
	const struct snapshot_process **order = calloc(snapshot->process_count + 1, sizeof(*order));
	int err = order ? 0 : -ENOMEM;

	for (size_t i = 0; order && i < snapshot->process_count; i++)
		order[i] = &snapshot->processes[i];
	if (order && snapshot->process_count)
		qsort(order, snapshot->process_count, sizeof(const struct snapshot_process *),
		      compare_processes);
	rows->ended = snapshot->others;
	for (size_t i = 0; !err && i < snapshot->process_count; i++)
		err = row_place(rows, order[i], options->processes);
	free(order);
	if (!err)
		err = sums_place(rows, &rows->other, "other", true);
	return err ? err : sums_place(rows, &rows->ended, "ended", false);
}

/* Sites. */

static void sums_add(struct site_sums *sums, const struct snapshot_site *site)
{
	sums->live_bytes += site->live_bytes;
	sums->live_blocks += site->live_blocks;
	sums->allocations += site->allocations;
	sums->frees += site->frees;
	sums->bytes_allocated += site->bytes_allocated;
	for (int i = 0; i < LEAK_CLASS_COUNT; i++) {
		sums->classes[i].blocks += site->leaks.classes[i].blocks;
		sums->classes[i].bytes += site->leaks.classes[i].bytes;
	}
}

static void put_site_labels(FILE *out, const struct process_line *row,
			    const struct snapshot_site *site)
{
	const struct snapshot_frame *frame = stack_culprit(site_stack(row->process, site));
	char text[FRAME_LABEL_SIZE];

	fputs(row->labels, out);
	snprintf(text, sizeof(text), "%" PRIu32, site->id);
	prometheus_label(out, ",", "site", text);
	prometheus_label(out, ",", "api", api_name(site->api));
	prometheus_label(out, ",", "function", frame ? frame_label(frame, text) : "");
	prometheus_label(out, ",", "module",
			 frame && frame->module ? name_base(frame->module) : "");
	prometheus_label(out, ",", "source", frame ? frame_source(frame, text) : "");
}

/* `site` is NULL for the sum of the other sites. */
static int site_add(struct process_line *row, const struct snapshot_site *site,
		    enum api_family family, const struct site_sums *sums)
{
	struct site_line line = {.family = family, .sums = *sums};
	size_t size;
	FILE *out = open_memstream(&line.labels, &size);

	if (!out)
		return -ENOMEM;
	if (site)
		put_site_labels(out, row, site);
	else
		fprintf(out, "%s,site=\"other\"", row->labels);
	if (!fclose(out) && !vec_push(&row->sites, line))
		return 0;
	free(line.labels);
	return -ENOMEM;
}

/* Memory that libc maps for its own heap is not a region of the program. */
static bool site_counts(const struct snapshot_site *site)
{
	return site->api != API_MMAP_LIBC;
}

/* The sums of several processes have no sites, so everything counts as "other". */
static void sums_of_many(const struct process_line *row, struct site_sums others[FAMILY_COUNT])
{
	const struct snapshot_process *sums = row->process;

	others[FAMILY_HEAP] = (struct site_sums){
		.live_bytes = sums->live.bytes,
		.live_blocks = sums->live.blocks,
		.allocations = sums->totals.allocations,
		.frees = sums->totals.frees,
		.bytes_allocated = sums->totals.bytes_allocated,
	};
	memcpy(others[FAMILY_HEAP].classes, sums->scan.classes, sizeof(sums->scan.classes));
	others[FAMILY_MAP] = (struct site_sums){.live_bytes = sums->mappings.bytes};
}

static int sites_make(const struct rows *rows, struct process_line *row, uint32_t limit)
{
	bool many = row->process == &rows->other.sums || row->process == &rows->ended.sums;
	struct site_sums others[FAMILY_COUNT] = {0};
	uint64_t ranks[FAMILY_COUNT] = {0};
	int err = 0;

	if (many)
		sums_of_many(row, others);
	for (size_t i = 0; !err && i < row->process->site_count; i++) {
		const struct snapshot_site *site = &row->process->sites[i];
		enum api_family family = api_row(site->api)->family;
		struct site_sums sums = {0};

		if (!site_counts(site))
			continue;
		sums_add(&sums, site);
		if (site->other || ranks[family] >= limit)
			sums_add(&others[family], site);
		else
			err = site_add(row, site, family, &sums);
		ranks[family] += !site->other;
	}
	for (int family = 0; !err && family < FAMILY_COUNT; family++)
		err = site_add(row, NULL, (enum api_family)family, &others[family]);
	return err;
}

int rows_make(struct rows *rows, const struct snapshot *snapshot,
	      const struct prometheus_options *options)
{
	struct process_line *row;
	int err = processes_make(rows, snapshot, options);

	vec_each (row, &rows->list)
		if (!err)
			err = sites_make(rows, row, options->sites);
	return err;
}

void rows_free(struct rows *rows)
{
	struct site_line *line;
	struct process_line *row;

	vec_each (row, &rows->list) {
		vec_each (line, &row->sites)
			free(line->labels);
		vec_free(&row->sites);
		free(row->labels);
	}
	vec_free(&rows->list);
}
