/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report for programs, described by docs/report.schema.json. Scripts depend on it, so keys are
 * only ever added. It is written as it is produced, one site and one stack at a time.
 *
 * Strings may contain any bytes; each byte that is not valid UTF-8 becomes U+FFFD.
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "report/common/amount.h"
#include "report/format.h"
#include "report/json/errors.h"
#include "report/json/frames.h"
#include "report/json/growth.h"
#include "report/json/leaks.h"

#define REPORT_SCHEMA "mtrace-bpf.report/1"

/* A counter in a snapshot struct. */
struct json_field {
	const char *key;
	size_t offset;
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define OF_PROCESS(member) offsetof(struct snapshot_process, member)
#define OF_SITE(member)    offsetof(struct snapshot_site, member)

static const struct json_field totals_fields[] = {
	{"allocations", OF_PROCESS(totals.allocations)},
	{"frees", OF_PROCESS(totals.frees)},
	{"bytes_allocated", OF_PROCESS(totals.bytes_allocated)},
	{"bytes_freed", OF_PROCESS(totals.bytes_freed)},
	{"peak_live_bytes", OF_PROCESS(totals.peak_live_bytes)},
	{"failed_allocations", OF_PROCESS(totals.failed_allocations)},
};
static const struct json_field inherited_fields[] = {
	{"blocks", OF_PROCESS(inherited.blocks)},
	{"bytes", OF_PROCESS(inherited.bytes)},
};
static const struct json_field live_fields[] = {
	{"blocks", OF_PROCESS(live.blocks)},
	{"bytes", OF_PROCESS(live.bytes)},
};
static const struct json_field mappings_fields[] = {
	{"maps", OF_PROCESS(mappings.maps)},
	{"bytes", OF_PROCESS(mappings.bytes)},
};
static const struct json_field losses_fields[] = {
	{"events", OF_PROCESS(losses.events)},
	{"stacks", OF_PROCESS(losses.stacks)},
	{"truncated_stacks", OF_PROCESS(losses.truncated_stacks)},
	{"unmatched_frees", OF_PROCESS(losses.unmatched_frees)},
	{"missed_returns", OF_PROCESS(losses.missed_returns)},
	{"unprobed_sites", OF_PROCESS(losses.unprobed_sites)},
	{"gap_ns", OF_PROCESS(losses.gap_ns)},
	{"children", OF_PROCESS(losses.children)},
	{"collisions", OF_PROCESS(losses.collisions)},
	{"no_allocator", OF_PROCESS(losses.no_allocator)},
};
static const struct json_field quality_fields[] = {
	{"stacks", offsetof(struct stack_quality, stacks)},
	{"complete", offsetof(struct stack_quality, complete)},
	{"truncated", offsetof(struct stack_quality, truncated)},
	{"guessed", offsetof(struct stack_quality, guessed)},
	{"calls", offsetof(struct stack_quality, calls)},
	{"complete_calls", offsetof(struct stack_quality, complete_calls)},
};
static const struct json_field internal_fields[] = {
	{"frees", OF_PROCESS(internal.frees)},
	{"munmaps", OF_PROCESS(internal.munmaps)},
};

static const struct json_field peak_fields[] = {
	{"bytes", OF_PROCESS(peak.bytes)},
	{"ns", OF_PROCESS(peak.ns)},
};

struct json_group {
	const char *key;
	const struct json_field *fields;
	size_t count;
};

static const struct json_group process_groups[] = {
	{"totals", totals_fields, COUNT(totals_fields)},
	{"inherited", inherited_fields, COUNT(inherited_fields)},
	{"live", live_fields, COUNT(live_fields)},
	{"mappings", mappings_fields, COUNT(mappings_fields)},
	{"losses", losses_fields, COUNT(losses_fields)},
	{"internal", internal_fields, COUNT(internal_fields)},
};

static const struct json_field site_fields[] = {
	{"allocations", OF_SITE(allocations)},
	{"frees", OF_SITE(frees)},
	{"bytes_allocated", OF_SITE(bytes_allocated)},
	{"inherited_blocks", OF_SITE(inherited_blocks)},
	{"inherited_bytes", OF_SITE(inherited_bytes)},
	{"live_blocks", OF_SITE(live_blocks)},
	{"live_bytes", OF_SITE(live_bytes)},
	{"peak_live_bytes", OF_SITE(peak_live_bytes)},
	{"failed_allocations", OF_SITE(failed_allocations)},
	{"mismatched", OF_SITE(mismatched)},
	{"bad_frees", OF_SITE(bad_frees)},
	{"first_seen_ns", OF_SITE(first_seen_ns)},
	{"oldest_ns", OF_SITE(oldest_ns)},
	{"youngest_ns", OF_SITE(youngest_ns)},
	{"mean_ns", OF_SITE(mean_ns)},
	{"at_peak_bytes", OF_SITE(at_peak_bytes)},
};

static void write_fields(struct json_writer *writer, const struct json_field *fields, size_t count,
			 const void *base)
{
	for (size_t i = 0; i < count; i++) {
		const struct json_field *field = &fields[i];

		json_put_number(writer, field->key,
				*(const uint64_t *)((const char *)base + field->offset));
	}
}

static void write_groups(struct json_writer *writer, const struct snapshot_process *process)
{
	for (size_t i = 0; i < COUNT(process_groups); i++) {
		json_open_object(writer, process_groups[i].key, JSON_INLINE);
		write_fields(writer, process_groups[i].fields, process_groups[i].count, process);
		json_close(writer);
	}
}

/* Counts all stacks, even those that --top hides. */
static void write_quality(struct json_writer *writer, const struct snapshot_process *process)
{
	struct stack_quality quality;

	snapshot_quality(process, &quality);
	json_open_object(writer, "stack_quality", JSON_INLINE);
	write_fields(writer, quality_fields, COUNT(quality_fields), &quality);
	json_open_object(writer, "by_reason", JSON_INLINE);
	for (unsigned int stop = STOP_END + 1; stop < STOP_REASONS; stop++)
		if (quality.by_reason[stop])
			json_put_number(writer, stop_name(stop), quality.by_reason[stop]);
	json_close(writer);
	json_close(writer);
}

static void write_command(struct json_writer *writer, const char *const *command)
{
	json_open_array(writer, "command", JSON_INLINE);
	for (; command && *command; command++)
		json_put_string(writer, NULL, *command);
	json_close(writer);
}

static void write_number_or_null(struct json_writer *writer, const char *key, bool known,
				 uint64_t value)
{
	if (known)
		json_put_number(writer, key, value);
	else
		json_put_literal(writer, key, "null");
}

static const char *const origin_names[ORIGIN_COUNT] = {
	[ORIGIN_ATTACHED] = "attached",
	[ORIGIN_LAUNCHED] = "launched",
	[ORIGIN_FORKED] = "forked",
	[ORIGIN_EXEC] = "exec",
};

/* exit_code is what a shell would report: 128 + signal for a process that was killed. */
static void write_fate(struct json_writer *writer, const struct snapshot_process *process)
{
	int status = (int)process->exit_code;
	bool killed = process->exited && WIFSIGNALED(status);
	int code = killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status);

	json_put_bool(writer, "exited", process->exited);
	write_number_or_null(writer, "exit_code", process->exited, (uint64_t)code);
	write_number_or_null(writer, "exit_signal", killed,
			     killed ? (uint64_t)WTERMSIG(status) : 0);
	json_put_bool(writer, "replaced", process->replaced);
	json_put_bool(writer, "left", process->left);
	json_put_string(writer, "origin", origin_names[process->origin]);
	json_put_bool(writer, "from_start", process->from_start);
}

static void write_identity(struct json_writer *writer, const struct snapshot_process *process)
{
	json_put_number(writer, "pid", process->pid);
	json_put_number(writer, "start_time_ns", process->start_time_ns);
	json_put_number(writer, "image", process->image);
	json_put_number(writer, "ppid", process->ppid);
	json_put_string(writer, "comm", process->comm);
	json_put_string(writer, "exe", process->exe);
	write_command(writer, (const char *const *)process->command);
	json_put_string(writer, "backend", process->backend);
	json_put_string(writer, "arch", process->arch);
	write_number_or_null(writer, "inner_pid", process->inner_pid, process->inner_pid);
	json_put_string(writer, "cgroup", process->cgroup);
	json_put_string(writer, "container", process->container);
	write_fate(writer, process);
	json_put_number(writer, "traced_ns",
			amount_between(process->traced_since_ns, process->traced_until_ns));
}

static void write_site(struct json_writer *writer, const struct snapshot_process *process,
		       const struct snapshot_site *site)
{
	json_open_object(writer, NULL, JSON_INLINE);
	json_put_number(writer, "id", site->id);
	json_put_string(writer, "api", api_name(site->api));
	write_fields(writer, site_fields, COUNT(site_fields), site);
	json_put_growth(writer, process, site);
	if (site->samples)
		json_put_number(writer, "samples", site->samples);
	json_put_leaks(writer, &site->leaks);
	json_put_bool(writer, "other", site->other);
	json_put_number(writer, "stack", site->stack);
	json_close(writer);
}

static void write_stack(struct json_writer *writer, struct json_frames *frames,
			const struct snapshot_stack *stack)
{
	json_open_object(writer, NULL, JSON_INLINE);
	json_put_number(writer, "id", stack->id);
	json_open_array(writer, "frames", JSON_LINES);
	for (uint32_t i = 0; i < stack->frame_count; i++)
		json_frames_put(frames, writer, &stack->frames[i]);
	json_close(writer);
	json_put_bool(writer, "truncated", stack->truncated);
	json_put_string(writer, "stop", stop_name(stack->stop));
	json_put_bool(writer, "guessed", stack->guessed);
	json_close(writer);
}

static void name_stack(const struct snapshot_process *process, uint32_t stack, bool *named)
{
	if (stack < process->stack_count)
		named[stack] = true;
}

/* Flags the stacks that a written site or an error refers to. Returns NULL if out of memory. */
static bool *stacks_named(const struct snapshot_process *process, uint32_t top)
{
	uint64_t ranks[FAMILY_COUNT] = {0};
	bool *named = calloc(process->stack_count + 1, sizeof(*named));

	for (size_t i = 0; named && i < process->site_count; i++)
		if (snapshot_is_top(ranks, &process->sites[i], top))
			name_stack(process, process->sites[i].stack, named);
	for (size_t i = 0; named && i < process->error_count; i++) {
		name_stack(process, process->errors[i].freed_at, named);
		name_stack(process, process->errors[i].freed_again_at, named);
	}
	return named;
}

static void write_sites(struct json_writer *writer, const struct snapshot_process *process,
			uint32_t top)
{
	uint64_t ranks[FAMILY_COUNT] = {0};

	json_open_array(writer, "sites", JSON_LINES);
	for (size_t i = 0; i < process->site_count && !writer->out.err; i++)
		if (snapshot_is_top(ranks, &process->sites[i], top))
			write_site(writer, process, &process->sites[i]);
	json_close(writer);
}

static void write_stacks(struct json_writer *writer, const struct snapshot_process *process,
			 uint32_t top)
{
	bool *named = stacks_named(process, top);
	struct json_frames frames;

	json_frames_open(&frames);
	if (!named)
		out_fail(&writer->out, -ENOMEM);
	json_open_array(writer, "stacks", JSON_LINES);
	for (size_t i = 0; i < process->stack_count && !writer->out.err; i++)
		if (named[i])
			write_stack(writer, &frames, &process->stacks[i]);
	json_close(writer);
	json_frames_close(&frames);
	free(named);
}

static void write_bounds(struct json_writer *writer, const char *key,
			 const struct snapshot_bounds *bounds)
{
	json_open_object(writer, key, JSON_INLINE);
	json_put_number(writer, "low", bounds->low);
	json_put_number(writer, "high", bounds->high);
	json_close(writer);
}

/* What the kernel side was asked to leave out. */
static void write_sampling(struct json_writer *writer, const struct snapshot_process *process)
{
	const struct snapshot_sampling *sampling = &process->sampling;

	json_put_bool(writer, "estimate", sampling->mean);
	json_open_object(writer, "sampling", JSON_INLINE);
	json_put_number(writer, "mean_bytes", sampling->mean);
	json_put_number(writer, "least_mean_bytes", sampling->least_mean);
	json_put_number(writer, "samples", sampling->samples);
	json_put_number(writer, "live_samples", sampling->live);
	if (sampling->mean) {
		write_bounds(writer, "allocations", &sampling->allocations);
		write_bounds(writer, "bytes_allocated", &sampling->bytes_allocated);
		write_bounds(writer, "live_blocks", &sampling->live_blocks);
		write_bounds(writer, "live_bytes", &sampling->live_bytes);
	}
	json_put_number(writer, "min_size", sampling->min_size);
	write_number_or_null(writer, "max_size", sampling->max_size, sampling->max_size);
	json_put_number(writer, "filtered_allocations", process->losses.filtered);
	json_close(writer);
}

static void write_process(struct json_writer *writer, const struct snapshot_process *process,
			  const struct format_options *options)
{
	json_open_object(writer, NULL, JSON_LINES);
	write_identity(writer, process);
	write_groups(writer, process);
	json_open_object(writer, "peak", JSON_INLINE);
	write_fields(writer, peak_fields, COUNT(peak_fields), process);
	json_close(writer);
	if (process->sampling.mean || process->sampling.min_size || process->sampling.max_size)
		write_sampling(writer, process);
	json_put_number(writer, "other_calls", process->other_calls);
	json_put_number(writer, "unbooked_allocations", process->unaccounted);
	write_quality(writer, process);
	json_put_scan(writer, &process->scan);
	json_put_errors(writer, process);
	json_put_suspects(writer, process);
	write_sites(writer, process, options->top);
	write_stacks(writer, process, options->top);
	json_close(writer);
}

static void write_others(struct json_writer *writer, const struct snapshot_others *others)
{
	json_open_object(writer, "other_processes", JSON_LINES);
	json_put_number(writer, "sections", others->sections);
	json_put_number(writer, "processes", others->processes);
	json_put_number(writer, "scanned", others->scanned);
	write_groups(writer, &others->sums);
	json_put_number(writer, "other_calls", others->sums.other_calls);
	json_put_classes(writer, &others->sums.scan);
	json_close(writer);
}

static void write_time(struct json_writer *writer, const struct snapshot *snapshot)
{
	time_t seconds = (time_t)snapshot->taken_at;
	struct tm utc = {.tm_mday = 1, .tm_year = 70};
	char text[96];

	gmtime_r(&seconds, &utc);
	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03uZ", utc.tm_year + 1900,
		 utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
		 snapshot->taken_at_ms % 1000);
	json_put_string(writer, "taken_at", text);
}

static void write_tool(struct json_writer *writer, const struct snapshot *snapshot)
{
	json_open_object(writer, "tool", JSON_INLINE);
	json_put_number(writer, "resident_bytes", snapshot->tool.resident_bytes);
	json_put_number(writer, "books_bytes", snapshot->tool.model_bytes);
	json_put_number(writer, "sites_without_series", snapshot->tool.without_series);
	json_close(writer);
}

static void write_overhead(struct json_writer *writer, const struct snapshot_overhead *overhead)
{
	if (!overhead->measured && !overhead->budget_ppm)
		return;
	json_open_object(writer, "overhead", JSON_INLINE);
	write_number_or_null(writer, "budget_ppm", overhead->budget_ppm, overhead->budget_ppm);
	json_put_number(writer, "measurements", overhead->measured);
	json_put_number(writer, "ppm", overhead->cost_ppm);
	json_put_number(writer, "program_ppm", overhead->program_ppm);
	json_put_number(writer, "floor_ppm", overhead->floor_ppm);
	json_put_bool(writer, "budget_kept", !overhead->hopeless);
	json_put_number(writer, "mean_bytes", overhead->mean);
	json_put_number(writer, "changes", overhead->changes);
	json_close(writer);
}

static void write_limit(struct json_writer *writer, const struct snapshot *snapshot)
{
	const struct snapshot_limit *limit = &snapshot->tool.limit;

	if (!limit->mean)
		return;
	json_open_object(writer, "memory_limit", JSON_INLINE);
	json_put_number(writer, "max_bytes", snapshot->tool.max_bytes);
	json_put_number(writer, "mean_bytes", limit->mean);
	json_put_number(writer, "since_ns", snapshot->taken_ns - limit->since_ns);
	json_put_bool(writer, "new_sites_are_other", limit->sites);
	json_close(writer);
}

static int json_write(const struct snapshot *snapshot, const struct format_options *options,
		      FILE *out)
{
	struct json_writer writer = {.out = {.file = out}};

	json_open_object(&writer, NULL, JSON_LINES);
	json_put_string(&writer, "schema", REPORT_SCHEMA);
	json_put_string(&writer, "version", snapshot->version);
	write_time(&writer, snapshot);
	json_put_number(&writer, "dropped_records", snapshot->dropped);
	write_tool(&writer, snapshot);
	write_overhead(&writer, &snapshot->overhead);
	write_limit(&writer, snapshot);
	if (snapshot->incomplete)
		json_put_string(&writer, "incomplete", snapshot->incomplete);
	else
		json_put_literal(&writer, "incomplete", "null");
	json_open_array(&writer, "processes", JSON_LINES);
	for (size_t i = 0; i < snapshot->process_count; i++)
		write_process(&writer, &snapshot->processes[i], options);
	json_close(&writer);
	write_others(&writer, &snapshot->others);
	json_close(&writer);
	out_text(&writer.out, "\n");
	return out_finish(&writer.out);
}

const struct report_format format_json = {.name = "json", .write = json_write};
