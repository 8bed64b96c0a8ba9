// SPDX-License-Identifier: GPL-2.0-or-later
/* Restores the model from a recording by --record. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source/stream/replay.h"
#include "base/log.h"
#include "base/map64.h"
#include "base/units.h"
#include "net/checkpoint/load.h"
#include "net/checkpoint/received_model.h"
#include "net/stream/read.h"
#include "net/stream/stream.h"
#include "symbol/elf/module_table.h"

#define NS_PER_MS 1000000ULL

struct stream_reading {
	struct received_model received; /* its first member */
	struct replay *replay;
	struct stream_reader *stream;
	struct map64 ids;                 /* module id in the recording → id here */
	struct checkpoint_loader *loader; /* while a whole model is transferred */
	uint64_t begun_ns;
	uint64_t begun_at_ms;
	struct error failure;             /* what is wrong with the data; it is valid up to there */
	char broken[ERROR_TEXT_SIZE / 2]; /* why the trace itself ended early, or "" */
};

static int on_settings(void *ctx, const struct stream_settings *settings)
{
	struct stream_reading *reading = ctx;
	struct model_config config = stream_model_config(settings);
	int code;

	reading->begun_ns = reading->replay->last_ns = settings->begun_ns;
	reading->begun_at_ms = settings->begun_at_ms;
	log_info("recorded by mtrace-bpf %s with %s", settings->version ? settings->version : "?",
		 settings->backend ? settings->backend : "?");
	code = replay_start_model(reading->replay, &config);
	reading->received.model = reading->replay->model;
	return code;
}

/* A model that is transferred again refers to the same modules. Without a build id, that cannot be
 * known. */
static struct module *module_known(const struct replay *replay, const struct stream_module *record)
{
	struct module *module;

	for (uint32_t i = 0; record->build_id && (module = module_get(replay->modules, i)); i++)
		if (!strcmp(module->build_id, record->build_id) &&
		    !strcmp(module->path, record->path))
			return module;
	return NULL;
}

static int on_module(void *ctx, const struct stream_module *record)
{
	struct module_segment segments[STREAM_SEGMENTS_MAX];
	const struct wanted_file wanted = {.size = record->size};
	struct stream_reading *reading = ctx;
	struct module *module, known = {
				       .path = (char *)record->path,
				       .fd = -1,
				       .machine = (int)record->machine,
				       .elf64 = record->elf64,
				       .big_endian = record->big_endian,
				       .executable = record->executable,
				       .segments = segments,
				       .segment_count = record->segment_count,
			       };
	int code;

	if (record->build_id)
		snprintf(known.build_id, sizeof(known.build_id), "%s", record->build_id);
	for (uint32_t i = 0; i < record->segment_count; i++)
		segments[i] = (struct module_segment){
			.offset = record->segments[i].offset,
			.vaddr = record->segments[i].vaddr,
			.size = record->segments[i].size,
			.executable = record->segments[i].executable,
		};
	module = module_known(reading->replay, record);
	code = module ? 0 : finder_module(&reading->replay->finder, &known, &wanted, &module);
	return code ? code : map64_set(&reading->ids, record->id, module->id);
}

static int on_event(void *ctx, const struct event *event)
{
	struct stream_reading *reading = ctx;
	struct event own;

	reading->replay->events++;
	if (event->time_ns > reading->replay->last_ns)
		reading->replay->last_ns = event->time_ns;
	if (event->kind != EVENT_MAPPING || event->mapping.module == MODULE_NONE)
		return replay_event(reading->replay, event);
	own = *event;
	own.mapping.module = map64_get(&reading->ids, event->mapping.module);
	_Static_assert(MAP64_NONE == MODULE_NONE, "a module that is not known is none");
	return replay_event(reading->replay, &own);
}

static int on_checkpoint(void *ctx, struct unpack *body)
{
	struct stream_reading *reading = ctx;
	int code = 0;

	if (!reading->loader) {
		reading->replay->loading = true;
		code = checkpoint_loader_new(&reading->loader, reading->replay->model,
					     &reading->ids);
	}
	return code ? code : checkpoint_load(reading->loader, body);
}

static int on_resume(void *ctx, const struct stream_resume *resume)
{
	struct stream_reading *reading = ctx;
	struct replay *replay = reading->replay;
	int code = checkpoint_loaded(reading->loader);

	checkpoint_loader_free(reading->loader);
	reading->loader = NULL;
	replay->loading = false;
	replay->events = resume->events;
	replay->last_ns = resume->last_ns;
	replay->first_pid = resume->first_pid;
	return code;
}

static int on_scanned(void *ctx, const struct stream_scanned *scanned)
{
	const struct replay *replay = ((struct stream_reading *)ctx)->replay;

	if (replay->scanned)
		replay->scanned(replay->ctx, scanned);
	return 0;
}

static int on_end(void *ctx, const struct stream_end *end)
{
	struct stream_reading *reading = ctx;

	reading->replay->ended = true;
	reading->replay->taken_ns = end->taken_ns;
	reading->replay->taken_at_ms = end->taken_at_ms;
	if (end->failure)
		snprintf(reading->broken, sizeof(reading->broken), "%s", end->failure);
	return 0;
}

static void reading_close(void *ctx)
{
	struct stream_reading *reading = ctx;

	if (!reading)
		return;
	stream_reader_free(reading->stream);
	map64_free(&reading->ids);
	received_model_free(&reading->received);
	checkpoint_loader_free(reading->loader);
	free(reading);
}

static int reading_open(void **ret_reader, struct replay *replay)
{
	struct stream_reading *reading = calloc(1, sizeof(*reading));
	const struct stream_handler handler = {
		.settings = on_settings,
		.module = on_module,
		.event = on_event,
		.scan_site = received_model_scan_site,
		.scan = received_model_scan,
		.unprobed = received_model_unprobed,
		.checkpoint = on_checkpoint,
		.resume = on_resume,
		.scanned = on_scanned,
		.end = on_end,
		.ctx = reading,
	};

	if (!reading || stream_reader_new(&reading->stream, &handler)) {
		free(reading);
		return -ENOMEM;
	}
	reading->replay = replay;
	*ret_reader = reading;
	return 0;
}

/* Damaged data is valid up to the damage; data of other versions is not used at all. */
static int reading_read(void *ctx, const char *bytes, size_t size, struct error *err)
{
	struct stream_reading *reading = ctx;

	if (reading->failure.code)
		return 0;
	if (!stream_read(reading->stream, bytes, size, &reading->failure)) {
		reading->replay->wanted = stream_wanted(reading->stream);
		return 0;
	}
	reading->replay->damaged = true;
	if (reading->replay->loading)
		return error_set(err, reading->failure.code, "%s", reading->failure.text);
	if (reading->failure.code == -EBADMSG && reading->replay->model)
		return 0;
	return error_set(err, reading->failure.code, "%s", reading->failure.text);
}

/* The wall clock time of the last event. */
static uint64_t last_at_ms(const struct stream_reading *reading)
{
	return reading->begun_at_ms + (reading->replay->last_ns - reading->begun_ns) / NS_PER_MS;
}

static int reading_finish(void *ctx, struct error *err)
{
	char count[UNITS_TEXT_SIZE];
	struct stream_reading *reading = ctx;
	struct replay *replay = reading->replay;
	size_t room = sizeof(replay->incomplete);

	if (!replay->model || replay->loading)
		return error_set(err, -EBADMSG, "it is cut off before the first event");
	count_format(reading->replay->events, count);
	if (reading->failure.code)
		snprintf(replay->incomplete, room,
			 "%s: everything after its first %s events is missing",
			 reading->failure.text, count);
	else if (!stream_is_complete(reading->stream))
		snprintf(replay->incomplete, room,
			 "the recording is cut off after %s events: it was not finished, or was "
			 "truncated",
			 count);
	else if (reading->broken[0])
		snprintf(replay->incomplete, room, "the trace was interrupted: %s",
			 reading->broken);
	if (replay->incomplete[0] && !reading->broken[0]) {
		replay->taken_ns = reading->replay->last_ns;
		replay->taken_at_ms = last_at_ms(reading);
	}
	if (stream_skipped(reading->stream))
		log_info("%llu frames of a later version were skipped",
			 (unsigned long long)stream_skipped(reading->stream));
	return 0;
}

const struct replay_reader replay_stream = {
	.what = "a recording",
	.is_one = stream_may_begin,
	.open = reading_open,
	.read = reading_read,
	.finish = reading_finish,
	.close = reading_close,
};
