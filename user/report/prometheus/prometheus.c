/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All series of a metric must be adjacent, so the processes are traversed once per metric. The rest
 * is tables of metrics.
 */
#include "report/prometheus/prometheus.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "report/common/out.h"
#include "report/prometheus/rows.h"

#define PREFIX        "mtrace_bpf_"
#define NS_PER_SECOND 1000000000u
#define PER_MILLION   1000000u
#define COUNT(array)  (sizeof(array) / sizeof((array)[0]))

enum unit { UNIT_ONE, UNIT_NS, UNIT_PPM };

struct metric {
	const char *name; /* without the prefix and without _total */
	bool counter;
	const char *help;
	enum unit unit;
	size_t offset; /* of a uint64_t */
};

struct metrics_writer {
	struct out out;
	const struct snapshot *snapshot;
	const struct prometheus_options *options;
	const char *headed; /* the metric whose header was written last */
	struct rows rows;
};

/* The header of a metric. */

static void put_head(struct metrics_writer *writer, const struct metric *metric, const char *type)
{
	bool total = metric->counter && !writer->options->openmetrics;
	char text[512];

	if (writer->headed == metric->name)
		return;
	writer->headed = metric->name;
	snprintf(text, sizeof(text), "# HELP %s%s%s %s\n# TYPE %s%s%s %s\n", PREFIX, metric->name,
		 total ? "_total" : "", metric->help, PREFIX, metric->name, total ? "_total" : "",
		 type);
	out_text(&writer->out, text);
}

static void put_value(struct metrics_writer *writer, enum unit unit, uint64_t value)
{
	char text[48];

	if (unit == UNIT_NS)
		snprintf(text, sizeof(text), " %" PRIu64 ".%09" PRIu64 "\n", value / NS_PER_SECOND,
			 value % NS_PER_SECOND);
	else if (unit == UNIT_PPM)
		snprintf(text, sizeof(text), " %" PRIu64 ".%06" PRIu64 "\n", value / PER_MILLION,
			 value % PER_MILLION);
	else
		snprintf(text, sizeof(text), " %" PRIu64 "\n", value);
	out_text(&writer->out, text);
}

/* `labels`, then one more label name="value"; either may be NULL. */
static void put_sample(struct metrics_writer *writer, const struct metric *metric,
		       const char *suffix, const char *labels, const char *name, const char *value,
		       uint64_t number)
{
	struct out *out = &writer->out;

	out_text(out, PREFIX);
	out_text(out, metric->name);
	out_text(out, suffix);
	if (labels || name) {
		out_text(out, "{");
		out_text(out, labels ? labels : "");
		out_text(out, labels && name ? "," : "");
		if (name) {
			out_text(out, name);
			out_text(out, "=\"");
			out_text(out, value);
			out_text(out, "\"");
		}
		out_text(out, "}");
	}
	put_value(writer, metric->unit, number);
}

static void put(struct metrics_writer *writer, const struct metric *metric, const char *labels,
		const char *name, const char *value, uint64_t number)
{
	put_head(writer, metric, metric->counter ? "counter" : "gauge");
	put_sample(writer, metric, metric->counter ? "_total" : "", labels, name, value, number);
}

static uint64_t number_at(const void *base, size_t offset)
{
	return *(const uint64_t *)(const void *)((const char *)base + offset);
}

/* The metrics of processes. */

#define OF(field) offsetof(struct snapshot_process, field)

static const struct metric process_metrics[] = {
	{"live_bytes", false, "Bytes in live heap blocks.", UNIT_ONE, OF(live.bytes)},
	{"live_blocks", false, "Live heap blocks.", UNIT_ONE, OF(live.blocks)},
	{"peak_live_bytes", false, "Peak of live bytes.", UNIT_ONE, OF(totals.peak_live_bytes)},
	{"mapped_bytes", false, "Bytes in mapped regions.", UNIT_ONE, OF(mappings.bytes)},
	{"mapped_regions", false, "Mapped regions.", UNIT_ONE, OF(mappings.maps)},
	{"allocations", true, "Heap blocks allocated.", UNIT_ONE, OF(totals.allocations)},
	{"frees", true, "Heap blocks freed.", UNIT_ONE, OF(totals.frees)},
	{"allocated_bytes", true, "Bytes allocated in heap blocks.", UNIT_ONE,
	 OF(totals.bytes_allocated)},
	{"freed_bytes", true, "Bytes freed in heap blocks.", UNIT_ONE, OF(totals.bytes_freed)},
	{"failed_allocations", true, "Failed allocations.", UNIT_ONE,
	 OF(totals.failed_allocations)},
	{"lost_events", true, "Events dropped because a buffer was full.", UNIT_ONE,
	 OF(losses.events)},
	{"gap_seconds", true, "Time in which the process was not traced.", UNIT_NS,
	 OF(losses.gap_ns)},
};

static void put_processes(struct metrics_writer *writer)
{
	const struct process_line *row;

	for (size_t i = 0; i < COUNT(process_metrics); i++)
		vec_each (row, &writer->rows.list)
			put(writer, &process_metrics[i], row->labels, NULL, NULL,
			    number_at(row->process, process_metrics[i].offset));
}

static void put_running(struct metrics_writer *writer)
{
	static const struct metric metric = {
		"process_running", false, "1 if the process is running and traced.", UNIT_ONE, 0};
	const struct process_line *row;

	vec_each (row, &writer->rows.list)
		put(writer, &metric, row->labels, NULL, NULL, row->running);
}

static const struct {
	const char *kind;
	size_t offset;
} losses[] = {
	{"events", OF(losses.events)},
	{"stacks", OF(losses.stacks)},
	{"truncated_stacks", OF(losses.truncated_stacks)},
	{"unmatched_frees", OF(losses.unmatched_frees)},
	{"missed_returns", OF(losses.missed_returns)},
	{"unprobed_sites", OF(losses.unprobed_sites)},
	{"no_allocator", OF(losses.no_allocator)},
	{"children", OF(losses.children)},
	{"collisions", OF(losses.collisions)},
};

static void put_losses(struct metrics_writer *writer)
{
	static const struct metric metric = {
		"losses", true, "What the trace missed, by kind, as in the JSON report.", UNIT_ONE,
		0};
	const struct process_line *row;

	vec_each (row, &writer->rows.list)
		for (size_t i = 0; i < COUNT(losses); i++)
			put(writer, &metric, row->labels, "kind", losses[i].kind,
			    number_at(row->process, losses[i].offset));
}

static uint64_t errors_of(const struct snapshot_process *process, enum sanity_kind kind)
{
	uint64_t count = 0;

	for (size_t i = 0; i < process->error_count; i++)
		count += process->errors[i].kind == kind ? process->errors[i].count : 0;
	return count;
}

/* With --sanity. "other" counts errors that did not fit into the list. */
static void put_errors(struct metrics_writer *writer)
{
	static const struct metric metric = {"release_errors", true,
					     "Erroneous frees found by --sanity.", UNIT_ONE, 0};
	const struct process_line *row;

	vec_each (row, &writer->rows.list) {
		uint64_t rest = row->process->sanity.errors;

		if (!row->process->sanity.done && !rest)
			continue;
		for (int kind = 0; kind < SANITY_KIND_COUNT; kind++) {
			uint64_t count = errors_of(row->process, (enum sanity_kind)kind);

			put(writer, &metric, row->labels, "kind",
			    sanity_kind_name((enum sanity_kind)kind), count);
			rest -= count < rest ? count : rest;
		}
		put(writer, &metric, row->labels, "kind", "other", rest);
	}
}

/* The histogram: every second size class, from 16 bytes to 1 GiB. */

#define FIRST_CLASS 4
#define LAST_CLASS  30
#define CLASS_STEP  2

static void put_histogram(struct metrics_writer *writer, const struct metric *metric,
			  const struct process_line *row)
{
	const struct snapshot_process *process = row->process;
	uint64_t count = 0;
	char edge[32];

	put_head(writer, metric, "histogram");
	for (unsigned int i = 0; i < SIZE_CLASSES; i++) {
		count += process->sizes[i];
		if (i < FIRST_CLASS || i > LAST_CLASS || (i - FIRST_CLASS) % CLASS_STEP)
			continue;
		snprintf(edge, sizeof(edge), "%" PRIu64 ".0", (uint64_t)1 << i);
		put_sample(writer, metric, "_bucket", row->labels, "le", edge, count);
	}
	put_sample(writer, metric, "_bucket", row->labels, "le", "+Inf", count);
	put_sample(writer, metric, "_sum", row->labels, NULL, NULL,
		   process->totals.bytes_allocated);
	put_sample(writer, metric, "_count", row->labels, NULL, NULL, count);
}

static void put_histograms(struct metrics_writer *writer)
{
	static const struct metric metric = {"allocation_size_bytes", false,
					     "Sizes of allocated heap blocks.", UNIT_ONE, 0};
	const struct process_line *row;

	vec_each (row, &writer->rows.list)
		put_histogram(writer, &metric, row);
}

/* Leak scans. */

static const struct metric leaked_bytes = {"leaked_bytes", false,
					   "Bytes in blocks of each leak class in the last scan.",
					   UNIT_ONE, offsetof(struct snapshot_sum, bytes)};
static const struct metric leaked_blocks = {"leaked_blocks", false,
					    "Blocks of each leak class in the last scan.", UNIT_ONE,
					    offsetof(struct snapshot_sum, blocks)};

static void put_classes(struct metrics_writer *writer, const struct metric *metric)
{
	const struct process_line *row;

	vec_each (row, &writer->rows.list) {
		const struct snapshot_scan *scan = &row->process->scan;

		if (!row->scanned)
			continue;
		for (int i = 0; i < LEAK_CLASS_COUNT; i++)
			put(writer, metric, row->labels, "class",
			    leak_class_name((enum leak_class)i),
			    number_at(&scan->classes[i], metric->offset));
		put(writer, metric, row->labels, "class", "suppressed",
		    number_at(&scan->suppressed, metric->offset));
	}
}

static const struct metric scan_metrics[] = {
	{"scan_duration_seconds", false, "Duration of the last leak scan.", UNIT_NS,
	 OF(scan.duration_ns)},
	{"scan_pause_seconds", false, "Time for which the last leak scan paused the process.",
	 UNIT_NS, OF(scan.pause_ns)},
	{"scan_unreadable_bytes", false, "Memory that the last leak scan could not read.", UNIT_ONE,
	 OF(scan.bytes_unreadable)},
};

/* Time of the scan by the wall clock. */
static uint64_t scan_time_ns(const struct snapshot *snapshot, const struct snapshot_scan *scan)
{
	uint64_t taken = (uint64_t)snapshot->taken_at * NS_PER_SECOND +
			 (uint64_t)snapshot->taken_at_ms * 1000000u;
	uint64_t age =
		snapshot->taken_ns > scan->taken_ns ? snapshot->taken_ns - scan->taken_ns : 0;

	return taken > age ? taken - age : 0;
}

static void put_scans(struct metrics_writer *writer)
{
	static const struct metric when = {"scan_last_timestamp_seconds", false,
					   "Time of the last leak scan.", UNIT_NS, 0};
	const struct process_line *row;

	put_classes(writer, &leaked_bytes);
	put_classes(writer, &leaked_blocks);
	for (size_t i = 0; i < COUNT(scan_metrics); i++)
		vec_each (row, &writer->rows.list)
			if (row->process->scan.done)
				put(writer, &scan_metrics[i], row->labels, NULL, NULL,
				    number_at(row->process, scan_metrics[i].offset));
	vec_each (row, &writer->rows.list)
		if (row->process->scan.done)
			put(writer, &when, row->labels, NULL, NULL,
			    scan_time_ns(writer->snapshot, &row->process->scan));
}

/* The metrics of sites. */

#define OF_SITE(field) offsetof(struct site_sums, field)

static const struct metric site_metrics[] = {
	{"site_live_bytes", false, "Bytes in live heap blocks of a call site.", UNIT_ONE,
	 OF_SITE(live_bytes)},
	{"site_live_blocks", false, "Live heap blocks of a call site.", UNIT_ONE,
	 OF_SITE(live_blocks)},
	{"site_allocations", true, "Heap blocks allocated by a call site.", UNIT_ONE,
	 OF_SITE(allocations)},
	{"site_frees", true, "Heap blocks of a call site that were freed.", UNIT_ONE,
	 OF_SITE(frees)},
	{"site_allocated_bytes", true, "Bytes allocated by a call site.", UNIT_ONE,
	 OF_SITE(bytes_allocated)},
};
static const struct metric site_mapped = {"site_mapped_bytes", false,
					  "Bytes in regions mapped by a call site.", UNIT_ONE,
					  OF_SITE(live_bytes)};

static void put_site_metric(struct metrics_writer *writer, const struct metric *metric,
			    enum api_family family)
{
	const struct site_line *line;
	const struct process_line *row;

	vec_each (row, &writer->rows.list)
		vec_each (line, &row->sites)
			if (line->family == family)
				put(writer, metric, line->labels, NULL, NULL,
				    number_at(&line->sums, metric->offset));
}

static void put_site_leaks(struct metrics_writer *writer)
{
	static const struct metric metric = {
		"site_leaked_bytes", false,
		"Bytes of a call site in each leak class in the last scan.", UNIT_ONE, 0};
	static const enum leak_class classes[] = {LEAK_DEFINITE, LEAK_INDIRECT, LEAK_POSSIBLE,
						  LEAK_STACK};
	const struct site_line *line;
	const struct process_line *row;

	vec_each (row, &writer->rows.list)
		vec_each (line, &row->sites)
			for (size_t i = 0; i < COUNT(classes); i++)
				if (row->scanned && line->family == FAMILY_HEAP)
					put(writer, &metric, line->labels, "class",
					    leak_class_name(classes[i]),
					    line->sums.classes[classes[i]].bytes);
}

static void put_sites(struct metrics_writer *writer)
{
	for (size_t i = 0; i < COUNT(site_metrics); i++)
		put_site_metric(writer, &site_metrics[i], FAMILY_HEAP);
	put_site_leaks(writer);
	put_site_metric(writer, &site_mapped, FAMILY_MAP);
}

/* The tracer itself. */

static uint64_t count_running(const struct snapshot *snapshot)
{
	uint64_t count = 0;

	for (size_t i = 0; i < snapshot->process_count; i++)
		count += process_is_running(&snapshot->processes[i]);
	return count;
}

static void put_plain(struct metrics_writer *writer, const char *name, bool counter,
		      const char *help, enum unit unit, uint64_t number)
{
	const struct metric metric = {name, counter, help, unit, 0};

	put(writer, &metric, NULL, NULL, NULL, number);
}

static void put_self(struct metrics_writer *writer, const struct prometheus_self *self)
{
	static const struct metric build = {"build_info", false, "Version of mtrace-bpf.", UNIT_ONE,
					    0};
	const struct snapshot *snapshot = writer->snapshot;

	put(writer, &build, NULL, "version", snapshot->version ? snapshot->version : "", 1);
	put_plain(writer, "traced_processes", false, "Processes that are running and traced.",
		  UNIT_ONE, count_running(snapshot));
	put_plain(writer, "snapshot_timestamp_seconds", false, "Time of the snapshot.", UNIT_NS,
		  (uint64_t)snapshot->taken_at * NS_PER_SECOND +
			  (uint64_t)snapshot->taken_at_ms * 1000000u);
	put_plain(writer, "incomplete", false, "1 if part of the trace is missing.", UNIT_ONE,
		  snapshot->incomplete != NULL);
	put_plain(writer, "dropped_records", true, "Invalid records dropped.", UNIT_ONE,
		  snapshot->dropped);
	if (self->has_ring)
		put_plain(writer, "ringbuf_used_ratio", false,
			  "Peak fill level of the ring buffer since the last export.", UNIT_PPM,
			  self->ring_used_ppm);
	put_plain(writer, "resident_memory_bytes", false, "Resident memory of mtrace-bpf.",
		  UNIT_ONE, self->resident_bytes);
	put_plain(writer, "cpu_seconds", true, "CPU time used by mtrace-bpf.", UNIT_NS,
		  self->cpu_ns);
}

static void put_limit(struct metrics_writer *writer)
{
	const struct snapshot *snapshot = writer->snapshot;

	put_plain(writer, "model_memory_bytes", false, "Memory used by blocks, sites and stacks.",
		  UNIT_ONE, snapshot->tool.model_bytes);
	put_plain(writer, "memory_limit_mean_bytes", false,
		  "Mean bytes per sampled new block if memory is short (--max-memory); 0 if all "
		  "are kept.",
		  UNIT_ONE, snapshot->tool.limit.mean);
}

static void put_overhead(struct metrics_writer *writer)
{
	const struct snapshot_overhead *overhead = &writer->snapshot->overhead;

	if (overhead->measured) {
		put_plain(writer, "overhead_ratio", false,
			  "Share of the traced processes' CPU time that tracing took, last "
			  "measurement.",
			  UNIT_PPM, overhead->cost_ppm);
		put_plain(writer, "overhead_floor_ratio", false,
			  "Part of overhead_ratio that sampling cannot reduce.", UNIT_PPM,
			  overhead->floor_ppm);
	}
	if (!overhead->budget_ppm)
		return;
	put_plain(writer, "overhead_budget_ratio", false,
		  "Limit for overhead_ratio (--max-overhead).", UNIT_PPM, overhead->budget_ppm);
	put_plain(writer, "sampling_mean_bytes", false,
		  "Mean bytes per sampled allocation; 0 if all are traced.", UNIT_ONE,
		  overhead->mean);
	put_plain(writer, "sampling_changes", true, "Changes of sampling_mean_bytes.", UNIT_ONE,
		  overhead->changes);
}

int prometheus_write(const struct snapshot *snapshot, const struct prometheus_options *options,
		     const struct prometheus_self *self, FILE *file)
{
	struct metrics_writer writer = {
		.out = {.file = file}, .snapshot = snapshot, .options = options};
	int err = rows_make(&writer.rows, snapshot, options);

	if (err) {
		rows_free(&writer.rows);
		return err;
	}
	put_self(&writer, self);
	put_overhead(&writer);
	put_limit(&writer);
	put_running(&writer);
	put_processes(&writer);
	put_losses(&writer);
	put_errors(&writer);
	put_histograms(&writer);
	put_scans(&writer);
	put_sites(&writer);
	if (options->openmetrics)
		out_text(&writer.out, "# EOF\n");
	rows_free(&writer.rows);
	return out_finish(&writer.out);
}
