// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Builds a model from a log of glibc's mtrace() (source/stream/malloc_log.h). The log has one
 * process without a pid, the direct caller instead of a stack, and no times: everything happens at
 * the same time, in order.
 *
 * It does not have the load addresses of objects either, so they are assigned here: a
 * non-relocatable program gets its own, every other object a separate range.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/stream/replay.h"
#include "base/vec.h"
#include "source/stream/malloc_log.h"

#define LINE_MAX_SIZE (64u << 10)
#define OBJECTS_MAX   4096
#define THREAD        1
#define NOW_NS        1
#define RANGE_SHIFT   40 /* size of an object's range, as a shift */

struct object {
	char *path;
	uint64_t base;
	uint64_t lowest; /* virtual address of its first byte in the file */
	struct module *module;
};

struct logged {
	struct replay *replay;
	VEC(struct object) objects;
	VEC(char) held; /* an incomplete line */
	bool too_long;  /* the line is too long, and continues */
	bool begun;
	struct malloc_log_line old; /* first half of a realloc … */
	bool has_old;
	uint64_t lines;
	uint64_t bad;
	uint64_t first_bad; /* line number of the first one */
};

static int deliver(struct logged *log, struct event event)
{
	event.tid = THREAD;
	event.time_ns = NOW_NS;
	return replay_event(log->replay, &event);
}

/*
 * Objects.
 */

static int deliver_object(struct logged *log, const struct object *object)
{
	const struct module *module = object->module;
	int code = 0;

	if (!module->segment_count) /* no file: show the numbers of the log as they are */
		return deliver(
			log, (struct event){.kind = EVENT_MAPPING,
					    .mapping = {.start = object->base,
							.end = object->base + (1ULL << RANGE_SHIFT),
							.module = module->id}});
	for (size_t i = 0; i < module->segment_count && !code; i++) {
		const struct module_segment *segment = &module->segments[i];
		uint64_t start = object->base + segment->vaddr;

		if (segment->executable && segment->size && start + segment->size > start)
			code = deliver(log, (struct event){.kind = EVENT_MAPPING,
							   .mapping = {.start = start,
								       .end = start + segment->size,
								       .offset = segment->offset,
								       .module = module->id}});
	}
	return code;
}

static int object_new(struct logged *log, const char *path, struct object **ret_object)
{
	struct module known = {.path = (char *)path, .fd = -1};
	struct object object = {.path = strdup(path)};
	int code = object.path ? 0 : -ENOMEM;

	if (!code)
		code = finder_module(&log->replay->finder, &known, &(struct wanted_file){0},
				     &object.module);
	if (!code && object.module->segment_count)
		object.lowest = object.module->segments[0].vaddr & ~0xfffULL;
	if (!object.lowest)
		object.base = (uint64_t)(log->objects.count + 1) << RANGE_SHIFT;
	if (!code)
		code = deliver_object(log, &object);
	if (!code)
		code = vec_push(&log->objects, object);
	if (code) {
		free(object.path);
		return code;
	}
	*ret_object = &log->objects.items[log->objects.count - 1];
	return 0;
}

/* *ret_object is NULL if there are too many. It is nearly always a recent one. */
static int object_of(struct logged *log, const struct malloc_log_line *line,
		     struct object **ret_object)
{
	char path[LINE_MAX_SIZE];

	for (size_t i = log->objects.count; i-- > 0;) {
		struct object *object = &log->objects.items[i];

		if (strlen(object->path) == line->object_length &&
		    !memcmp(object->path, line->object, line->object_length)) {
			*ret_object = object;
			return 0;
		}
	}
	*ret_object = NULL;
	if (log->objects.count >= OBJECTS_MAX || line->object_length >= sizeof(path))
		return 0;
	memcpy(path, line->object, line->object_length);
	path[line->object_length] = '\0';
	return object_new(log, path, ret_object);
}

static bool is_code(const struct module *module, uint64_t vaddr)
{
	for (size_t i = 0; i < module->segment_count; i++) {
		const struct module_segment *segment = &module->segments[i];

		if (segment->executable && vaddr - segment->vaddr <= segment->size)
			return true;
	}
	return false;
}

/* Relative to the object's first byte, or absolute with older glibc. */
static uint64_t place_in(const struct object *object, uint64_t caller)
{
	bool relative = is_code(object->module, object->lowest + caller) ||
			!is_code(object->module, caller);

	return object->base + caller + (relative ? object->lowest : 0);
}

static int caller_of(struct logged *log, const struct malloc_log_line *line, uint64_t *ret_caller)
{
	struct object *object = NULL;
	int code = line->object ? object_of(log, line, &object) : 0;

	if (!code)
		*ret_caller = object ? place_in(object, line->caller) : line->caller;
	return code;
}

/*
 * Calls.
 */

static int deliver_call(struct logged *log, enum event_kind kind, enum api api,
			const struct malloc_log_line *line, uint64_t caller)
{
	struct event event = {.kind = kind,
			      .api = api,
			      .call = {.address = line->address,
				       .size = kind == EVENT_FREE ? SIZE_UNKNOWN : line->size,
				       .caller = caller}};

	if (kind != EVENT_FREE && (!line->address || line->kind == MALLOC_LOG_FAILED)) {
		event.flags = EVENT_FLAG_FAILED;
		event.call.address = 0;
	}
	return deliver(log, event);
}

static int deliver_realloc(struct logged *log, uint64_t old, const struct malloc_log_line *line,
			   uint64_t caller)
{
	struct event begin = {.kind = EVENT_BEGIN,
			      .api = API_REALLOC,
			      .call = {.caller = caller, .args = {old, line->size}}};
	int code = deliver(log, begin);

	return code ? code : deliver_call(log, EVENT_END, API_REALLOC, line, caller);
}

static void note_bad(struct logged *log)
{
	if (!log->bad++)
		log->first_bad = log->lines;
}

/* The two halves of a realloc are consecutive lines. */
static int deliver_line(struct logged *log, const struct malloc_log_line *line)
{
	uint64_t caller;
	int code = caller_of(log, line, &caller);

	if (code)
		return code;
	if (log->has_old != (line->kind == MALLOC_LOG_NEW))
		note_bad(log);
	if (line->kind == MALLOC_LOG_ALLOC)
		code = deliver_call(log, EVENT_ALLOC, API_MALLOC, line, caller);
	else if (line->kind == MALLOC_LOG_FREE)
		code = deliver_call(log, EVENT_FREE, API_FREE, line, caller);
	else if (line->kind == MALLOC_LOG_FAILED)
		code = deliver_realloc(log, line->address, line, caller);
	else if (line->kind == MALLOC_LOG_NEW)
		code = deliver_realloc(log, log->has_old ? log->old.address : 0, line, caller);
	log->has_old = line->kind == MALLOC_LOG_OLD;
	log->old = *line;
	return code;
}

/*
 * The process.
 */

static bool is_library(const char *path, size_t length)
{
	return memmem(path, length, ".so", 3) || memmem(path, length, "ld-linux", 8);
}

/* The program is the first object that is not a library; otherwise use the name of the log. */
static char *program_of(const struct logged *log, const char *bytes, size_t size)
{
	const char *end = bytes + size, *line = bytes, *next;

	for (; line < end; line = next + 1) {
		struct malloc_log_line parsed;

		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			break;
		if (!malloc_log_parse(line, (size_t)(next - line), &parsed) && parsed.object &&
		    !is_library(parsed.object, parsed.object_length))
			return strndup(parsed.object, parsed.object_length);
	}
	return strdup(log->replay->name);
}

static int begin(struct logged *log, const char *bytes, size_t size)
{
	struct model_config config = {.apis = API_SET_ALL};
	char *program = program_of(log, bytes, size);
	const char *slash = program ? strrchr(program, '/') : NULL;
	const char *command[] = {program, NULL};
	int code = program ? replay_start_model(log->replay, &config) : -ENOMEM;

	log->begun = true;
	log->replay->taken_ns = NOW_NS;
	if (!code)
		code = deliver(log, (struct event){.kind = EVENT_PROCESS,
						   .process = {.comm = slash ? slash + 1 : program,
							       .exe = program,
							       .command = command}});
	free(program);
	return code;
}

/*
 * Lines.
 */

static int take_line(struct logged *log, const char *bytes, size_t length)
{
	struct malloc_log_line line;

	log->lines++;
	if (malloc_log_parse(bytes, length, &line)) {
		note_bad(log);
		return 0;
	}
	if (line.kind == MALLOC_LOG_START || line.kind == MALLOC_LOG_END)
		return 0;
	return deliver_line(log, &line);
}

static int take_held(struct logged *log)
{
	int code = 0;

	if (log->too_long) {
		log->lines++;
		note_bad(log);
	} else {
		code = take_line(log, log->held.items ? log->held.items : "", log->held.count);
	}
	log->held.count = 0;
	log->too_long = false;
	return code;
}

static int hold(struct logged *log, const char *bytes, size_t size)
{
	if (log->held.count + size > LINE_MAX_SIZE)
		log->too_long = true;
	return log->too_long || !size ? 0 : vec_append(&log->held, bytes, size);
}

static bool log_is_one(const char *bytes, size_t size)
{
	const char *end = memchr(bytes, '\n', size);
	struct malloc_log_line line;

	return end && !malloc_log_parse(bytes, (size_t)(end - bytes), &line);
}

static int log_open(void **ret_reader, struct replay *replay)
{
	struct logged *log = calloc(1, sizeof(*log));

	if (!log)
		return -ENOMEM;
	log->replay = replay;
	*ret_reader = log;
	return 0;
}

static void log_close(void *reader)
{
	struct logged *log = reader;
	struct object *object;

	if (!log)
		return;
	vec_each (object, &log->objects)
		free(object->path);
	vec_free(&log->objects);
	vec_free(&log->held);
	free(log);
}

static int read_lines(struct logged *log, const char *bytes, size_t size)
{
	const char *end = bytes + size, *next;
	int code = log->begun ? 0 : begin(log, bytes, size);

	while (!code && bytes < end) {
		next = memchr(bytes, '\n', (size_t)(end - bytes));
		code = hold(log, bytes, (size_t)((next ? next : end) - bytes));
		if (!code && next)
			code = take_held(log);
		bytes = next ? next + 1 : end;
	}
	return code;
}

static int log_read(void *reader, const char *bytes, size_t size, struct error *err)
{
	int code = read_lines(reader, bytes, size);

	return code ? error_set(err, code, "%s", strerror(-code)) : 0;
}

/* An incomplete last line may also lack digits of a number, so it is not used. */
static int log_finish(void *reader, struct error *err)
{
	struct logged *log = reader;
	struct replay *replay = log->replay;
	size_t room = sizeof(replay->incomplete);

	(void)err;
	if (log->held.count || log->too_long || log->has_old)
		snprintf(replay->incomplete, room, "the log is cut off after line %llu",
			 (unsigned long long)log->lines);
	else if (log->bad)
		snprintf(replay->incomplete, room,
			 "%llu invalid line%s of the log skipped; the first is line %llu",
			 (unsigned long long)log->bad, log->bad == 1 ? "" : "s",
			 (unsigned long long)log->first_bad);
	return 0;
}

const struct replay_reader replay_log = {
	.what = "a MALLOC_TRACE log",
	.is_one = log_is_one,
	.open = log_open,
	.read = log_read,
	.finish = log_finish,
	.close = log_close,
};
