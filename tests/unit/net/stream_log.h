/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints what a stream's reader receives, as text that can be compared; and ways to feed the
 * reader. */
#ifndef MTRACE_TESTS_STREAM_LOG_H
#define MTRACE_TESTS_STREAM_LOG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/stream/read.h"
#include "net/stream/stream.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Everything received, as text that can be compared. */
struct log {
	char text[65536];
	size_t used;
	int refuse; /* the answer to the next event */
};

static inline void note(struct log *log, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static inline void note(struct log *log, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(log->text + log->used, sizeof(log->text) - log->used, format, args);
	va_end(args);
	assert_true(length >= 0 && (size_t)length < sizeof(log->text) - log->used);
	log->used += (size_t)length;
}

#define ULL(x) ((unsigned long long)(x))

static const char *or_none(const char *text)
{
	return text ? text : "-";
}

static inline int on_settings(void *ctx, const struct stream_settings *settings)
{
	note(ctx, "settings %x %d%d%d%d%d %llu %llu %llu %s %s\n", settings->apis,
	     settings->wrappers, settings->sanity, settings->omits, settings->scans,
	     settings->exits_unseen, ULL(settings->page_size), ULL(settings->begun_ns),
	     ULL(settings->begun_at_ms), or_none(settings->version), or_none(settings->backend));
	return 0;
}

static inline int on_module(void *ctx, const struct stream_module *module)
{
	note(ctx, "module %u %s %s %llu %u %d%d%d", module->id, module->path,
	     or_none(module->build_id), ULL(module->size), module->machine, module->elf64,
	     module->big_endian, module->executable);
	for (uint32_t i = 0; i < module->segment_count; i++)
		note(ctx, " %llx %llx %llx %d", ULL(module->segments[i].offset),
		     ULL(module->segments[i].vaddr), ULL(module->segments[i].size),
		     module->segments[i].executable);
	note(ctx, "\n");
	return 0;
}

static inline void note_process(struct log *log, const struct event_process *process)
{
	note(log, " %llu %u %u %d %d %s %s %s %s %s", ULL(process->start_time_ns), process->ppid,
	     process->inner_pid, process->origin, process->from_start, or_none(process->comm),
	     or_none(process->exe), or_none(process->arch), or_none(process->cgroup),
	     or_none(process->container));
	for (const char *const *word = process->command; word && *word; word++)
		note(log, " [%s]", *word);
}

static inline void note_call(struct log *log, const struct event *event)
{
	const struct event_call *call = &event->call;

	note(log, " api %d %llx %llx %llx %llx %llx", event->api, ULL(call->address),
	     ULL(call->size), ULL(call->slack), ULL(call->caller), ULL(call->stack));
	for (size_t i = 0; i < RECORD_BEGIN_ARGS; i++)
		note(log, " %llx", ULL(call->args[i]));
}

static inline void note_stack(struct log *log, const struct event_stack *stack)
{
	note(log, " %llx %u:", ULL(stack->id), stack->stop);
	for (uint32_t i = 0; i < stack->count; i++)
		note(log, " %llx", ULL(stack->frames[i]));
}

static inline void note_losses(struct log *log, const struct snapshot_losses *losses)
{
	const uint64_t *counts = (const uint64_t *)losses;

	for (size_t i = 0; i < sizeof(*losses) / sizeof(*counts); i++)
		note(log, " %llu", ULL(counts[i]));
}

static inline int on_event(void *ctx, const struct event *event)
{
	struct log *log = ctx;

	note(log, "event %d flags %x %u/%u @%llu", event->kind, event->flags, event->pid,
	     event->tid, ULL(event->time_ns));
	if (event->kind == EVENT_PROCESS || event->kind == EVENT_EXEC)
		note_process(log, &event->process);
	else if (event->kind == EVENT_FORK)
		note(log, " %u %llu %d %s", event->fork.parent, ULL(event->fork.start_time_ns),
		     event->fork.shares_memory, or_none(event->fork.comm));
	else if (event->kind == EVENT_EXIT)
		note(log, " %u", event->exit.code);
	else if (event->kind == EVENT_LOSSES)
		note_losses(log, event->losses);
	else if (event->kind == EVENT_MAPPING)
		note(log, " %llx %llx %llx %x %x", ULL(event->mapping.start),
		     ULL(event->mapping.end), ULL(event->mapping.offset), event->mapping.module,
		     event->mapping.flags);
	else if (event->kind == EVENT_WRAPPER)
		note(log, " %llx %llx %d", ULL(event->wrapper.start), ULL(event->wrapper.end),
		     event->wrapper.api);
	else if (event->kind == EVENT_STACK)
		note_stack(log, &event->stack);
	else if (event->kind >= EVENT_ALLOC)
		note_call(log, event);
	note(log, "\n");
	return log->refuse;
}

static inline void note_sums(struct log *log, const struct snapshot_sum *sums)
{
	for (int leak = 0; leak < LEAK_CLASS_COUNT; leak++)
		note(log, " %llu,%llu", ULL(sums[leak].blocks), ULL(sums[leak].bytes));
}

static inline int on_scan_site(void *ctx, const struct stream_scan_site *site)
{
	note(ctx, "site %u %u %u %llu", site->process_number, site->site, site->api,
	     ULL(site->first_seen_ns));
	note_sums(ctx, site->leaks.classes);
	note(ctx, " %llu %llu", ULL(site->leaks.oldest_ns), ULL(site->leaks.youngest_ns));
	for (int leak = 0; leak < LEAK_CLASS_COUNT; leak++) {
		const struct snapshot_example *example = &site->leaks.examples[leak];

		if (example->address)
			note(ctx, " %d: %llx %llu %d %llu %llu %u %02x%02x", leak,
			     ULL(example->address), ULL(example->size), example->looked,
			     ULL(example->resident), ULL(example->swapped), example->read,
			     example->bytes[0], example->bytes[EXAMPLE_BYTES - 1]);
	}
	note(ctx, "\n");
	return 0;
}

static inline int on_scan(void *ctx, const struct stream_scan *written)
{
	const struct snapshot_scan *scan = &written->scan;

	note(ctx, "scan %u %u %s %d %u %llu %llu %llu %llu %llu %llu %llu", written->process_number,
	     written->sites, or_none(scan->reason), scan->live, scan->passes, ULL(scan->taken_ns),
	     ULL(scan->pause_ns), ULL(scan->duration_ns), ULL(scan->bytes_scanned),
	     ULL(scan->bytes_unreadable), ULL(scan->bytes_between), ULL(scan->bytes_free));
	note_sums(ctx, scan->classes);
	note(ctx, " tagged %llu\n", ULL(scan->tagged));
	return 0;
}

static inline int on_unprobed(void *ctx)
{
	note(ctx, "unprobed\n");
	return 0;
}

static inline int on_checkpoint(void *ctx, struct unpack *body)
{
	note(ctx, "checkpoint %zu\n", unpack_left(body));
	return 0;
}

static inline int on_resume(void *ctx, const struct stream_resume *resume)
{
	note(ctx, "resume %llu %llu %llu %llu %u\n", ULL(resume->offset), ULL(resume->frames),
	     ULL(resume->events), ULL(resume->last_ns), resume->first_pid);
	return 0;
}

static inline int on_end(void *ctx, const struct stream_end *end)
{
	note(ctx, "end %llu %llu %llu %s\n", ULL(end->events), ULL(end->taken_ns),
	     ULL(end->taken_at_ms), or_none(end->failure));
	return 0;
}

static inline struct stream_handler handler_of(struct log *log)
{
	return (struct stream_handler){
		.settings = on_settings,
		.module = on_module,
		.event = on_event,
		.scan_site = on_scan_site,
		.scan = on_scan,
		.unprobed = on_unprobed,
		.checkpoint = on_checkpoint,
		.resume = on_resume,
		.end = on_end,
		.ctx = log,
	};
}

/* Reads the bytes in pieces of this size, and logs the result. Returns whether the stream is
 * complete. */
static inline bool read_stream(const uint8_t *bytes, size_t size, size_t piece, struct log *log,
			       struct error *err)
{
	struct stream_handler handler = handler_of(log);
	struct stream_reader *reader;
	bool complete;

	*err = (struct error){0};
	assert_int_equal(stream_reader_new(&reader, &handler), 0);
	for (size_t at = 0; at < size && !err->code; at += piece) {
		size_t left = size - at;
		/* A separate copy, so that sanitizers detect reads beyond it. */
		size_t part = left < piece ? left : piece;
		uint8_t *copy = malloc(part);
		int code;

		assert_non_null(copy);
		memcpy(copy, bytes + at, part);
		code = stream_read(reader, copy, part, err);
		assert_int_equal(code, err->code);
		free(copy);
	}
	complete = stream_is_complete(reader);
	assert_true(stream_position(reader) <= size);
	assert_false(complete && err->code);
	stream_reader_free(reader);
	return complete;
}

#endif
