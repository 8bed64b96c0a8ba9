// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/checkpoint/merged_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/model.h"
#include "net/checkpoint/load.h"
#include "net/checkpoint/save.h"
#include "net/checkpoint/received_model.h"
#include "net/stream/read.h"
#include "net/stream/write.h"

/* A module with its own copies of strings and segments. */
struct kept_module {
	struct stream_module given;
	char *path;
	char *build_id;
	struct stream_segment *segments;
};

struct merged_model {
	struct received_model
		received; /* first member; its model is NULL until the settings are read */
	uint64_t limit;
	struct stream_reader *reader;
	struct stream_settings settings;
	char *version;
	char *backend;
	VEC(struct kept_module) modules;
	uint64_t last_ns;
	uint32_t first_pid;
};

static int keep_text(char **ret_copy, const char *text)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? -ENOMEM : 0;
}

static int on_settings(void *ctx, const struct stream_settings *settings)
{
	struct merged_model *merged = ctx;
	const struct model_config config = stream_model_config(settings);

	merged->settings = *settings;
	merged->last_ns = settings->begun_ns;
	if (keep_text(&merged->version, settings->version) ||
	    keep_text(&merged->backend, settings->backend))
		return -ENOMEM;
	merged->settings.version = merged->version;
	merged->settings.backend = merged->backend;
	return model_new(&merged->received.model, &config);
}

static void module_free(struct kept_module *module)
{
	free(module->path);
	free(module->build_id);
	free(module->segments);
}

static int on_module(void *ctx, const struct stream_module *given)
{
	struct kept_module kept = {.given = *given};
	size_t bytes = given->segment_count * sizeof(*kept.segments);
	struct merged_model *merged = ctx;

	kept.segments = malloc(bytes + 1);
	if (!kept.segments || keep_text(&kept.path, given->path) ||
	    keep_text(&kept.build_id, given->build_id) || vec_push(&merged->modules, kept)) {
		module_free(&kept);
		return -ENOMEM;
	}
	memcpy(kept.segments, given->segments, bytes);
	return 0;
}

static int on_event(void *ctx, const struct event *event)
{
	struct merged_model *merged = ctx;

	if (!merged->first_pid && event->kind == EVENT_PROCESS)
		merged->first_pid = event->pid;
	if (event->time_ns > merged->last_ns)
		merged->last_ns = event->time_ns;
	return model_event(merged->received.model, event);
}

int merged_model_new(struct merged_model **ret_merged, uint64_t limit)
{
	struct merged_model *merged = calloc(1, sizeof(*merged));
	/* We wrote this stream ourselves and it is still open, so handlers for a checkpoint and for
	 * the end are not needed. */
	const struct stream_handler handler = {
		.settings = on_settings,
		.module = on_module,
		.event = on_event,
		.scan_site = received_model_scan_site,
		.scan = received_model_scan,
		.unprobed = received_model_unprobed,
		.ctx = merged,
	};

	if (!merged || stream_reader_new(&merged->reader, &handler)) {
		free(merged);
		return -ENOMEM;
	}
	merged->limit = limit;
	*ret_merged = merged;
	return 0;
}

void merged_model_free(struct merged_model *merged)
{
	struct kept_module *module;

	if (!merged)
		return;
	vec_each (module, &merged->modules)
		module_free(module);
	vec_free(&merged->modules);
	stream_reader_free(merged->reader);
	received_model_free(&merged->received);
	model_free(merged->received.model);
	free(merged->version);
	free(merged->backend);
	free(merged);
}

int merged_model_read(struct merged_model *merged, const void *bytes, size_t size)
{
	struct error err;
	int code = stream_read(merged->reader, bytes, size, &err);

	if (!code && merged->received.model && model_bytes(merged->received.model) > merged->limit)
		code = -ENOSPC;
	return code;
}

uint64_t merged_model_wanted(const struct merged_model *merged)
{
	return stream_wanted(merged->reader);
}

uint64_t merged_model_position(const struct merged_model *merged)
{
	return stream_position(merged->reader);
}

/* Passes a checkpoint from one model to another. */
struct merged_model_copier {
	struct stream_reader *reader;
	struct checkpoint_loader *loader;
};

static int copy_checkpoint(void *ctx, struct unpack *body)
{
	return checkpoint_load(((struct merged_model_copier *)ctx)->loader, body);
}

static int copy_output(void *ctx, const void *bytes, size_t size)
{
	struct error err;

	return stream_read(((struct merged_model_copier *)ctx)->reader, bytes, size, &err);
}

static int copy_run(const struct merged_model *merged, struct merged_model_copier *copy)
{
	const struct stream_handler handler = {.checkpoint = copy_checkpoint, .ctx = copy};
	struct stream_writer *writer = NULL;
	int code = stream_reader_new(&copy->reader, &handler);

	if (!code)
		code = stream_writer_new(&writer, false, copy_output, copy);
	if (!code)
		code = stream_write_settings(writer, &merged->settings);
	if (!code)
		code = checkpoint_save(merged->received.model, writer);
	if (!code)
		code = checkpoint_loaded(copy->loader);
	stream_writer_free(writer);
	stream_reader_free(copy->reader);
	return code;
}

int merged_model_copy(const struct merged_model *merged, const struct model_config *config,
		      struct model **ret_model)
{
	struct merged_model_copier copy = {.reader = NULL};
	struct model *model;
	int code = merged->received.model ? model_new(&model, config) : -ENODATA;

	if (code)
		return code;
	code = checkpoint_loader_new(&copy.loader, model, NULL);
	if (!code)
		code = copy_run(merged, &copy);
	checkpoint_loader_free(copy.loader);
	if (code)
		model_free(model);
	else
		*ret_model = model;
	return code;
}

static int write_modules(const struct merged_model *merged, struct stream_writer *writer)
{
	const struct kept_module *module;
	int code = 0;

	vec_each (module, &merged->modules) {
		struct stream_module given = module->given;

		given.path = module->path;
		given.build_id = module->build_id;
		given.segments = module->segments;
		code = code ? code : stream_write_module(writer, &given);
	}
	return code;
}

int merged_model_save(const struct merged_model *merged, stream_output *output, void *ctx)
{
	const struct stream_resume resume = {
		.offset = stream_position(merged->reader),
		.frames = stream_frames(merged->reader),
		.events = stream_heard(merged->reader),
		.last_ns = merged->last_ns,
		.first_pid = merged->first_pid,
	};
	struct stream_writer *writer;
	int code =
		merged->received.model ? stream_writer_new(&writer, true, output, ctx) : -ENODATA;

	if (code)
		return code;
	code = stream_write_settings(writer, &merged->settings);
	if (!code)
		code = write_modules(merged, writer);
	if (!code)
		code = checkpoint_save(merged->received.model, writer);
	if (!code)
		code = stream_write_resume(writer, &resume);
	stream_writer_free(writer);
	return code;
}
