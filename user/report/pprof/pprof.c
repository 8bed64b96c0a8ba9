/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A heap profile for pprof, Parca, Pyroscope and similar tools, with the four values that Go
 * writes: objects and bytes, allocated and in use. After a leak scan, the memory in use of a site
 * is split by leak class into samples with the label "leak". The samples sum up to the totals of
 * the report.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/common/frame.h"
#include "report/common/out.h"
#include "report/format.h"
#include "report/pprof/profile.h"

#define NS_PER_SECOND 1000000000u
#define NS_PER_MS     1000000u

/* Fields of Sample and Label. */
enum {
	SAMPLE_LOCATION = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_TEXT = 2,
	LABEL_NUMBER = 3,
};

enum { ALLOC_OBJECTS, ALLOC_SPACE, INUSE_OBJECTS, INUSE_SPACE, VALUES };

static const struct {
	const char *type, *unit;
} types[VALUES] = {
	[ALLOC_OBJECTS] = {"alloc_objects", "count"},
	[ALLOC_SPACE] = {"alloc_space", "bytes"},
	[INUSE_OBJECTS] = {"inuse_objects", "count"},
	[INUSE_SPACE] = {"inuse_space", "bytes"},
};

struct pprof_writer {
	struct profile profile;
	const struct snapshot_process *process;
	const struct snapshot_site *site;
	VEC(uint64_t) locations; /* of the site */
	struct proto sample, label;
};

static void put_label(struct pprof_writer *writer, const char *key, const char *text,
		      uint64_t number)
{
	struct proto *label = &writer->label;

	proto_clear(label);
	proto_number(label, LABEL_KEY, profile_string(&writer->profile, key));
	if (text)
		proto_number(label, LABEL_TEXT, profile_string(&writer->profile, text));
	proto_number(label, LABEL_NUMBER, number);
	proto_message(&writer->sample, SAMPLE_LABEL, label);
}

static void put_sample(struct pprof_writer *writer, const uint64_t values[VALUES], const char *leak)
{
	struct proto *sample = &writer->sample;

	proto_clear(sample);
	proto_numbers(sample, SAMPLE_LOCATION, writer->locations.items, writer->locations.count);
	proto_numbers(sample, SAMPLE_VALUE, values, VALUES);
	put_label(writer, "pid", NULL, writer->process->pid);
	put_label(writer, "process", writer->process->comm, 0);
	put_label(writer, "api", api_name(writer->site->api), 0);
	if (leak)
		put_label(writer, "leak", leak, 0);
	profile_put(&writer->profile, PROFILE_SAMPLE, sample);
}

/* Writes the blocks that the last scan classified. The rest is newer or suppressed. */
static struct snapshot_sum put_leaks(struct pprof_writer *writer)
{
	struct snapshot_sum leaked = {0};

	for (int i = 0; i < LEAK_CLASS_COUNT; i++) {
		const struct snapshot_sum *sum = &writer->site->leaks.classes[i];
		const uint64_t values[VALUES] = {0, 0, sum->blocks, sum->bytes};

		if (!sum->blocks || leaked.blocks + sum->blocks > writer->site->live_blocks ||
		    leaked.bytes + sum->bytes > writer->site->live_bytes)
			continue;
		put_sample(writer, values, leak_class_name((enum leak_class)i));
		leaked.blocks += sum->blocks;
		leaked.bytes += sum->bytes;
	}
	return leaked;
}

static int find_locations(struct pprof_writer *writer)
{
	const struct snapshot_stack *stack = site_stack(writer->process, writer->site);
	uint32_t count, i = 0;

	writer->locations.count = 0;
	while (stack && !writer->site->other && i < stack->frame_count) {
		uint64_t id = profile_location(&writer->profile, &stack->frames[i],
					       stack->frame_count - i, &count);

		if (vec_push(&writer->locations, id))
			return -ENOMEM;
		i += count;
	}
	return 0;
}

static void put_site(struct pprof_writer *writer, const struct snapshot_site *site)
{
	struct snapshot_sum leaked;
	int err;

	writer->site = site;
	err = find_locations(writer);
	if (err)
		out_fail(writer->profile.gzip.out, err);
	leaked = put_leaks(writer);
	put_sample(writer,
		   (const uint64_t[VALUES]){site->allocations, site->bytes_allocated,
					    site->live_blocks - leaked.blocks,
					    site->live_bytes - leaked.bytes},
		   NULL);
}

/* Shows the first `top` sites and sums up the others. */
static void put_process(struct pprof_writer *writer, const struct snapshot_process *process,
			uint32_t top)
{
	size_t count = top && top < process->site_count ? top : process->site_count;

	writer->process = process;
	for (size_t i = 0; i < count && !writer->profile.gzip.out->err; i++)
		put_site(writer, &process->sites[i]);
}

static void put_comment(struct profile *profile, const char *text)
{
	uint64_t index = profile_string(profile, text);
	struct proto numbers = {0};

	proto_numbers(&numbers, PROFILE_COMMENT, &index, 1);
	gzip_put(&profile->gzip, numbers.bytes.items, numbers.bytes.count);
	proto_free(&numbers);
}

static bool is_lossy(const struct snapshot_process *process)
{
	const struct snapshot_losses *losses = &process->losses;

	return losses->events || losses->unmatched_frees || losses->missed_returns ||
	       losses->unprobed_sites || losses->gap_ns || losses->no_allocator ||
	       losses->collisions;
}

/* Somebody who reads only the profile must see that it is incomplete. */
static void put_comments(struct profile *profile, const struct snapshot *snapshot)
{
	bool lossy = is_lossy(&snapshot->others.sums);

	for (size_t i = 0; i < snapshot->process_count; i++)
		lossy |= is_lossy(&snapshot->processes[i]);
	if (lossy)
		put_comment(profile, "some events were dropped: see the text or JSON report");
	if (snapshot->incomplete)
		put_comment(profile, snapshot->incomplete);
	if (snapshot->others.sections)
		put_comment(profile, "some processes that exited are omitted");
}

static uint64_t longest_trace(const struct snapshot *snapshot)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < snapshot->process_count; i++) {
		const struct snapshot_process *process = &snapshot->processes[i];
		uint64_t ns = process->traced_until_ns > process->traced_since_ns
				      ? process->traced_until_ns - process->traced_since_ns
				      : 0;

		longest = ns > longest ? ns : longest;
	}
	return longest;
}

static void put_head(struct profile *profile, const struct snapshot *snapshot, bool allocated)
{
	for (int i = 0; i < VALUES; i++)
		profile_put_type(profile, PROFILE_SAMPLE_TYPE, types[i].type, types[i].unit);
	profile_put_type(profile, PROFILE_PERIOD_TYPE, "space", "bytes");
	profile_put_number(profile, PROFILE_PERIOD, 1);
	profile_put_number(
		profile, PROFILE_DEFAULT_TYPE,
		profile_string(profile, types[allocated ? ALLOC_SPACE : INUSE_SPACE].type));
	profile_put_number(profile, PROFILE_TIME_NS,
			   (uint64_t)snapshot->taken_at * NS_PER_SECOND +
				   (uint64_t)snapshot->taken_at_ms * NS_PER_MS);
	profile_put_number(profile, PROFILE_DURATION_NS, longest_trace(snapshot));
	put_comments(profile, snapshot);
}

static int pprof_write(const struct snapshot *snapshot, const struct format_options *options,
		       FILE *file)
{
	struct out out = {.file = file};
	struct pprof_writer writer = {0};

	profile_open(&writer.profile, &out,
		     snapshot->process_count ? snapshot->processes->exe : NULL);
	put_head(&writer.profile, snapshot, options->allocated);
	for (size_t i = 0; i < snapshot->process_count; i++)
		put_process(&writer, &snapshot->processes[i], options->top);
	profile_close(&writer.profile);
	vec_free(&writer.locations);
	proto_free(&writer.sample);
	proto_free(&writer.label);
	return out_finish(&out);
}

const struct report_format format_pprof = {.name = "pprof", .write = pprof_write};
