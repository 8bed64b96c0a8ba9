/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Missing members and members of the wrong type count as 0 or unknown: the format may grow
 * (docs/report.schema.json), and a file may come from anywhere.
 *
 * Sites and stacks are read one at a time. Those of a process are collected in vectors, because
 * their number is known only at the end, and so is the stack of a site: members may be in any
 * order.
 */
#include "app/report/report_file.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/report/json_input.h"
#include "base/map64.h"
#include "base/vec.h"
#include "model/snapshot/date.h"

#define SNAPSHOT_MAX (384U << 20) /* bytes; diff takes up to twice as much to compare two */
#define SCHEMA       "mtrace-bpf.report/1"

struct reader {
	struct snapshot *snapshot;
	json_object *document; /* those members that are kept … */
	json_object *process;  /* … also of the current process */
	VEC(struct snapshot_process) processes;
	VEC(struct snapshot_site) sites;   /* of the current process; `stack` has the id */
	VEC(struct snapshot_stack) stacks; /* of the current process */
	struct map64 index;                /* their positions by id */
};

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

/* Returns INDEX_NONE if there can be no such stack. */
static uint32_t stack_id(json_object *object, const char *key)
{
	uint64_t id = number(object, key);

	return id < INDEX_NONE ? (uint32_t)id : INDEX_NONE;
}

static int add_stack(struct reader *reader, json_object *object)
{
	uint32_t position = (uint32_t)reader->stacks.count, id = stack_id(object, "id");
	struct snapshot_stack stack = {0};
	int err = read_stack(reader->snapshot, object, &stack);

	if (!err)
		err = vec_push(&reader->stacks, stack);
	return err || id == INDEX_NONE ? err : map64_set(&reader->index, id, position);
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

static void read_site(json_object *object, struct snapshot_site *site)
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
		.stack = stack_id(object, "stack"),
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

static int add_site(struct reader *reader, json_object *object)
{
	struct snapshot_site site;

	/* A site that was not used makes no difference, but takes memory. */
	if (!number(object, "allocations") && !number(object, "live_blocks") &&
	    !number(object, "live_bytes"))
		return 0;
	read_site(object, &site);
	return vec_push(&reader->sites, site);
}

/* Elements of arrays. */

static int check_memory(const struct reader *reader)
{
	size_t bytes = snapshot_bytes(reader->snapshot) + map64_bytes(&reader->index) +
		       reader->processes.count * sizeof(*reader->processes.items) +
		       reader->sites.count * sizeof(*reader->sites.items) +
		       reader->stacks.count * sizeof(*reader->stacks.items);

	return bytes > SNAPSHOT_MAX ? -EFBIG : 0;
}

static int read_element(struct json_input *input, struct reader *reader,
			int (*add)(struct reader *reader, json_object *object))
{
	json_object *object = NULL;
	int err = json_input_value(input, &object);

	if (!err && json_object_is_type(object, json_type_object)) {
		err = add(reader, object);
		if (!err)
			err = check_memory(reader);
	}
	json_object_put(object);
	return err;
}

static int read_stacks_element(struct json_input *input, const char *key, void *ctx)
{
	(void)key;
	return read_element(input, ctx, add_stack);
}

static int read_sites_element(struct json_input *input, const char *key, void *ctx)
{
	(void)key;
	return read_element(input, ctx, add_site);
}

static int read_array(struct json_input *input, json_input_item *read_item, struct reader *reader)
{
	return json_input_peek(input) == '[' ? json_input_each(input, read_item, reader)
					     : json_input_skip(input);
}

/* Keeps the next value as a member of an object if the key is one of `names` (NULL-terminated). */
static int keep_member(struct json_input *input, json_object *object, const char *key,
		       const char *const *names)
{
	json_object *value = NULL;
	int err;

	while (*names && strcmp(*names, key))
		names++;
	if (!*names)
		return json_input_skip(input);
	err = json_input_value(input, &value);
	if (!err && json_object_object_add(object, key, value)) {
		json_object_put(value);
		err = -ENOMEM;
	}
	return err;
}

/* Processes. */

static int read_process_member(struct json_input *input, const char *key, void *ctx)
{
	static const char *const kept[] = {"pid",    "image",    "start_time_ns", "comm", "exe",
					   "exited", "replaced", "live",          "scan", NULL};
	struct reader *reader = ctx;

	/* Of members with the same key, the last one counts. */
	if (!strcmp(key, "stacks")) {
		reader->stacks.count = 0;
		map64_free(&reader->index);
		return read_array(input, read_stacks_element, reader);
	}
	if (!strcmp(key, "sites")) {
		reader->sites.count = 0;
		return read_array(input, read_sites_element, reader);
	}
	return keep_member(input, reader->process, key, kept);
}

/* Returns NULL if out of memory. */
static void *copy(struct snapshot *snapshot, const void *items, size_t bytes)
{
	void *copied = snapshot_alloc(snapshot, bytes);

	return copied && bytes ? memcpy(copied, items, bytes) : copied;
}

static int add_process(struct reader *reader)
{
	json_object *object = reader->process, *scan = member(object, "scan", json_type_object);
	struct snapshot *snapshot = reader->snapshot;
	struct snapshot_process process = {
		.pid = (uint32_t)number(object, "pid"),
		.image = (uint32_t)number(object, "image"),
		.start_time_ns = number(object, "start_time_ns"),
		.comm = text(snapshot, object, "comm"),
		.exe = text(snapshot, object, "exe"),
		.exited = flag(object, "exited"),
		.replaced = flag(object, "replaced"),
		.live = sum(object, "live"),
		.scan.done = scan && flag(scan, "done"),
		.site_count = reader->sites.count,
		.stack_count = reader->stacks.count,
	};
	struct snapshot_site *site;

	vec_each (site, &reader->sites)
		site->stack = map64_get(&reader->index, site->stack);
	process.sites = copy(snapshot, reader->sites.items,
			     reader->sites.count * sizeof(*reader->sites.items));
	process.stacks = copy(snapshot, reader->stacks.items,
			      reader->stacks.count * sizeof(*reader->stacks.items));
	reader->sites.count = reader->stacks.count = 0;
	map64_free(&reader->index);
	if (!process.sites || !process.stacks || vec_push(&reader->processes, process))
		return -ENOMEM;
	return check_memory(reader);
}

static int read_process(struct json_input *input, const char *key, void *ctx)
{
	struct reader *reader = ctx;
	int err;

	(void)key;
	if (json_input_peek(input) != '{')
		return json_input_skip(input);
	reader->process = json_object_new_object();
	if (!reader->process)
		return -ENOMEM;
	err = json_input_each(input, read_process_member, reader);
	if (!err)
		err = add_process(reader);
	json_object_put(reader->process);
	return err;
}

/* Whole reports. */

static int read_document_member(struct json_input *input, const char *key, void *ctx)
{
	static const char *const kept[] = {"schema", "taken_at", "incomplete", NULL};
	struct reader *reader = ctx;

	if (!strcmp(key, "processes")) {
		reader->processes.count = 0;
		return read_array(input, read_process, reader);
	}
	return keep_member(input, reader->document, key, kept);
}

static int read_document(struct json_input *input, struct reader *reader)
{
	struct snapshot *snapshot = reader->snapshot;
	int err = json_input_peek(input) == '{'
			  ? json_input_each(input, read_document_member, reader)
			  : json_input_skip(input);

	if (!err && strcmp(plain_text(reader->document, "schema"), SCHEMA))
		err = -EINVAL;
	if (err)
		return err;
	snapshot->incomplete = text(snapshot, reader->document, "incomplete");
	snapshot->process_count = reader->processes.count;
	snapshot->processes = copy(snapshot, reader->processes.items,
				   snapshot->process_count * sizeof(*snapshot->processes));
	return snapshot->processes ? 0 : -ENOMEM;
}

/* A report without a date is fine; one with an impossible date is not. */
static int read_date(struct snapshot *snapshot, json_object *document)
{
	const char *date = plain_text(document, "taken_at");

	return *date ? date_parse(date, &snapshot->taken_at, &snapshot->taken_at_ms) : 0;
}

static int explain(int code, const char *path, struct error *err)
{
	switch (code) {
	case 0:
		return 0;
	case -EFBIG:
		return error_set(err, code,
				 "%s is too large to compare: use --top for smaller reports", path);
	case -ENOTSUP:
		return error_set(err, code, "%s is neither a file nor a pipe", path);
	case -EINVAL:
		return error_set(err, code, "%s is not a JSON report (--format json writes one)",
				 path);
	default:
		return error_set_errno(err, code, "cannot read %s", path);
	}
}

static int read_open(struct reader *reader, const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), code = fd < 0 ? -errno : 0;
	struct json_input *input = NULL;

	if (!code)
		code = json_input_open(&input, fd);
	if (!code)
		code = read_document(input, reader);
	json_input_close(input);
	if (fd >= 0)
		close(fd);
	if (!code && read_date(reader->snapshot, reader->document))
		return error_set(err, -EINVAL, "%s is damaged: its date (taken_at) is not possible",
				 path);
	return explain(code, path, err);
}

int report_file_read(struct snapshot **ret_snapshot, const char *path, struct error *err)
{
	struct reader reader = {.snapshot = snapshot_new(), .document = json_object_new_object()};
	int code = reader.snapshot && reader.document ? read_open(&reader, path, err)
						      : explain(-ENOMEM, path, err);

	json_object_put(reader.document);
	vec_free(&reader.processes);
	vec_free(&reader.sites);
	vec_free(&reader.stacks);
	map64_free(&reader.index);
	if (!code)
		*ret_snapshot = reader.snapshot;
	else
		snapshot_free(reader.snapshot);
	return code;
}
