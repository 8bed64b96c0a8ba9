/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Missing members and members of the wrong type count as 0 or unknown: the format may grow
 * (docs/report.schema.json), and a file may come from anywhere.
 */
#include "app/report/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/report/json_input.h"
#include "model/snapshot/date.h"
#include "base/map64.h"

#define PROCESSES_MAX 100000 /* even an empty process takes kilobytes */
#define SCHEMA        "mtrace-bpf.report/1"

/* Returns NULL if there is no member of this type. */
static json_object *member(json_object *object, const char *key, json_type type)
{
	json_object *found = NULL;

	if (!json_object_object_get_ex(object, key, &found) || !json_object_is_type(found, type))
		return NULL;
	return found;
}

static uint64_t number(json_object *object, const char *key)
{
	json_object *found = member(object, key, json_type_int);

	return found ? json_object_get_uint64(found) : 0;
}

static const char *plain_text(json_object *object, const char *key)
{
	json_object *found = member(object, key, json_type_string);

	return found ? json_object_get_string(found) : "";
}

/* Returns NULL if it is unknown. */
static const char *text(struct snapshot *snapshot, json_object *object, const char *key)
{
	const char *found = plain_text(object, key);

	return *found ? snapshot_string(snapshot, found) : NULL;
}

static bool flag(json_object *object, const char *key)
{
	json_object *found = member(object, key, json_type_boolean);

	return found && json_object_get_boolean(found);
}

static uint64_t address(json_object *object, const char *key)
{
	return strtoull(plain_text(object, key), NULL, 16);
}

static struct snapshot_sum sum(json_object *object, const char *key)
{
	json_object *found = member(object, key, json_type_object);

	return found ? (struct snapshot_sum){number(found, "blocks"), number(found, "bytes")}
		     : (struct snapshot_sum){0};
}

/* The number of elements in an array. Callers ignore elements that are not objects. */
static size_t count_of(json_object *array)
{
	return array ? json_object_array_length(array) : 0;
}

static json_object *object_at(json_object *array, size_t i)
{
	json_object *found = json_object_array_get_idx(array, i);

	return json_object_is_type(found, json_type_object) ? found : NULL;
}

/* Stacks. */

static void read_frame(struct snapshot *snapshot, json_object *object, struct snapshot_frame *frame)
{
	*frame = (struct snapshot_frame){
		.address = address(object, "address"),
		.offset = address(object, "offset"),
		.vaddr = address(object, "offset"),
		.module = text(snapshot, object, "module"),
		.build_id = text(snapshot, object, "build_id"),
		.function = text(snapshot, object, "function"),
		.file = text(snapshot, object, "file"),
		.line = (uint32_t)number(object, "line"),
		.inlined = flag(object, "inlined"),
	};
}

static int read_stack(struct snapshot *snapshot, json_object *object, struct snapshot_stack *stack)
{
	json_object *frames = member(object, "frames", json_type_array), *frame;
	size_t count = count_of(frames);

	stack->frames = snapshot_alloc(snapshot, count * sizeof(*stack->frames));
	if (!stack->frames)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		frame = object_at(frames, i);
		if (frame)
			read_frame(snapshot, frame, &stack->frames[stack->frame_count++]);
	}
	stack->truncated = flag(object, "truncated");
	return 0;
}

/* Sets *index to the stacks' positions by id. */
static int read_stacks(struct snapshot *snapshot, json_object *object,
		       struct snapshot_process *process, struct map64 *index)
{
	json_object *stacks = member(object, "stacks", json_type_array), *stack;
	size_t count = count_of(stacks);
	int err = 0;

	process->stacks = snapshot_alloc(snapshot, count * sizeof(*process->stacks));
	if (!process->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < count && !err; i++) {
		stack = object_at(stacks, i);
		if (!stack)
			continue;
		err = read_stack(snapshot, stack, &process->stacks[process->stack_count]);
		if (!err)
			err = map64_set(index, number(stack, "id"),
					(uint32_t)process->stack_count++);
	}
	return err;
}

static double decimal(json_object *object, const char *key)
{
	json_object *found = member(object, key, json_type_double);

	return found ? json_object_get_double(found) : (double)number(object, key);
}

/* Sites. */

static enum api api_of(const char *name)
{
	for (int i = 0; i < API_COUNT; i++)
		if (!strcmp(api_name((enum api)i), name))
			return (enum api)i;
	return API_NONE;
}

static struct growth read_growth(json_object *object)
{
	json_object *growth = member(object, "growth", json_type_object);
	struct growth read = {0};

	if (!growth)
		return read;
	read.slope = decimal(growth, "bytes_per_second");
	read.slope_low = decimal(growth, "at_least");
	read.slope_high = decimal(growth, "at_most");
	read.certainty = decimal(growth, "certainty");
	read.ns = number(growth, "for_ns");
	read.bytes = number(growth, "bytes");
	/* A file may come from anywhere: ignore impossible values. */
	read.grows = read.slope > 0 && read.slope < 1e15;
	return read;
}

static void read_site(json_object *object, const struct map64 *stacks, struct snapshot_site *site)
{
	*site = (struct snapshot_site){
		.id = (uint32_t)number(object, "id"),
		.api = api_of(plain_text(object, "api")),
		.allocations = number(object, "allocations"),
		.frees = number(object, "frees"),
		.bytes_allocated = number(object, "bytes_allocated"),
		.inherited_blocks = number(object, "inherited_blocks"),
		.live_blocks = number(object, "live_blocks"),
		.live_bytes = number(object, "live_bytes"),
		.other = flag(object, "other"),
		.stack = map64_get(stacks, number(object, "stack")),
	};
	site->growth = read_growth(object);
	site->leaks.classes[LEAK_DEFINITE] = (struct snapshot_sum){
		number(object, "definite_blocks"), number(object, "definite_bytes")};
	site->leaks.classes[LEAK_INDIRECT] = (struct snapshot_sum){
		number(object, "indirect_blocks"), number(object, "indirect_bytes")};
	site->leaks.classes[LEAK_REACHABLE] = (struct snapshot_sum){
		number(object, "reachable_blocks"), number(object, "reachable_bytes")};
	site->leaks.classes[LEAK_STACK] = (struct snapshot_sum){number(object, "stack_only_blocks"),
								number(object, "stack_only_bytes")};
	site->leaks.suppressed = (struct snapshot_sum){number(object, "suppressed_blocks"),
						       number(object, "suppressed_bytes")};
}

static int read_sites(struct snapshot *snapshot, json_object *object,
		      struct snapshot_process *process)
{
	json_object *sites = member(object, "sites", json_type_array), *site;
	size_t count = count_of(sites);
	struct map64 stacks = {0};
	int err = read_stacks(snapshot, object, process, &stacks);

	process->sites = snapshot_alloc(snapshot, count * sizeof(*process->sites));
	if (!process->sites)
		err = -ENOMEM;
	for (size_t i = 0; i < count && !err; i++) {
		site = object_at(sites, i);
		if (site)
			read_site(site, &stacks, &process->sites[process->site_count++]);
	}
	map64_free(&stacks);
	return err;
}

/* Whole reports. */

static int read_process(struct snapshot *snapshot, json_object *object,
			struct snapshot_process *process)
{
	json_object *found;

	process->pid = (uint32_t)number(object, "pid");
	process->image = (uint32_t)number(object, "image");
	process->start_time_ns = number(object, "start_time_ns");
	process->comm = text(snapshot, object, "comm");
	process->exe = text(snapshot, object, "exe");
	process->exited = flag(object, "exited");
	process->replaced = flag(object, "replaced");
	process->live = sum(object, "live");
	found = member(object, "scan", json_type_object);
	process->scan.done = found && flag(found, "done");
	return read_sites(snapshot, object, process);
}

/* A report without a date is fine; one with an impossible date is not. */
static int read_date(struct snapshot *snapshot, json_object *document)
{
	const char *date = plain_text(document, "taken_at");

	return *date ? date_parse(date, &snapshot->taken_at, &snapshot->taken_at_ms) : 0;
}

static int read_document(struct snapshot *snapshot, json_object *document)
{
	json_object *processes = member(document, "processes", json_type_array), *process;
	size_t count = count_of(processes);
	int err = 0;

	if (count > PROCESSES_MAX)
		return -EFBIG;
	snapshot->incomplete = text(snapshot, document, "incomplete");
	snapshot->processes = snapshot_alloc(snapshot, count * sizeof(*snapshot->processes));
	if (!snapshot->processes)
		return -ENOMEM;
	for (size_t i = 0; i < count && !err; i++) {
		process = object_at(processes, i);
		if (process)
			err = read_process(snapshot, process,
					   &snapshot->processes[snapshot->process_count++]);
	}
	return err;
}

static bool is_report(json_object *document)
{
	return json_object_is_type(document, json_type_object) &&
	       !strcmp(plain_text(document, "schema"), SCHEMA);
}

static int parse(json_object **ret_document, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int code = fd < 0 ? -errno : 0;

	if (code)
		return error_set_errno(err, code, "cannot read %s", path);
	code = json_input_read(ret_document, fd);
	close(fd);
	if (code == -EFBIG)
		return error_set(err, code,
				 "%s is too large to compare: use --top for smaller reports", path);
	if (code == -ENOTSUP)
		return error_set(err, code, "%s is neither a file nor a pipe", path);
	if (code && code != -EINVAL)
		return error_set_errno(err, code, "cannot read %s", path);
	if (*ret_document && is_report(*ret_document))
		return 0;
	json_object_put(*ret_document);
	return error_set(err, -EINVAL, "%s is not a JSON report (--format json writes one)", path);
}

int report_file_read(struct snapshot **ret_snapshot, const char *path, struct error *err)
{
	struct snapshot *snapshot;
	json_object *document = NULL;
	int code = parse(&document, path, err);

	if (code)
		return code;
	snapshot = snapshot_new();
	code = snapshot ? 0 : error_set_errno(err, -ENOMEM, "cannot read %s", path);
	if (!code && read_date(snapshot, document))
		code = error_set(err, -EINVAL, "%s is damaged: its date (taken_at) is not possible",
				 path);
	if (!code) {
		code = read_document(snapshot, document);
		if (code)
			error_set_errno(err, code, "cannot read %s", path);
	}
	json_object_put(document);
	if (!code)
		*ret_snapshot = snapshot;
	else
		snapshot_free(snapshot);
	return code;
}
