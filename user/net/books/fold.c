// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/books/fold.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "model/model.h"
#include "net/books/load.h"
#include "net/books/save.h"
#include "net/books/told_model.h"
#include "net/stream/read.h"
#include "net/stream/write.h"

/* A module with its own copies of strings and segments. */
struct kept_module {
	struct stream_module told;
	char *path;
	char *build_id;
	struct stream_segment *segments;
};

struct fold {
	struct told_model told; /* first member; its model is NULL until the settings are read */
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
	struct fold *fold = ctx;
	const struct model_config config = stream_books(settings);

	fold->settings = *settings;
	fold->last_ns = settings->begun_ns;
	if (keep_text(&fold->version, settings->version) ||
	    keep_text(&fold->backend, settings->backend))
		return -ENOMEM;
	fold->settings.version = fold->version;
	fold->settings.backend = fold->backend;
	return model_new(&fold->told.model, &config);
}

static void module_free(struct kept_module *module)
{
	free(module->path);
	free(module->build_id);
	free(module->segments);
}

static int on_module(void *ctx, const struct stream_module *told)
{
	struct kept_module kept = {.told = *told};
	size_t bytes = told->segment_count * sizeof(*kept.segments);
	struct fold *fold = ctx;

	kept.segments = malloc(bytes + 1);
	if (!kept.segments || keep_text(&kept.path, told->path) ||
	    keep_text(&kept.build_id, told->build_id) || vec_push(&fold->modules, kept)) {
		module_free(&kept);
		return -ENOMEM;
	}
	memcpy(kept.segments, told->segments, bytes);
	return 0;
}

static int on_event(void *ctx, const struct event *event)
{
	struct fold *fold = ctx;

	if (!fold->first_pid && event->kind == EVENT_PROCESS)
		fold->first_pid = event->pid;
	if (event->time_ns > fold->last_ns)
		fold->last_ns = event->time_ns;
	return model_event(fold->told.model, event);
}

int fold_new(struct fold **ret_fold, uint64_t limit)
{
	struct fold *fold = calloc(1, sizeof(*fold));
	/* We wrote this stream ourselves and it is still open, so handlers for a checkpoint and for
	 * the end are not needed. */
	const struct stream_handler handler = {
		.settings = on_settings,
		.module = on_module,
		.event = on_event,
		.scan_site = told_model_scan_site,
		.scan = told_model_scan,
		.unprobed = told_model_unprobed,
		.ctx = fold,
	};

	if (!fold || stream_reader_new(&fold->reader, &handler)) {
		free(fold);
		return -ENOMEM;
	}
	fold->limit = limit;
	*ret_fold = fold;
	return 0;
}

void fold_free(struct fold *fold)
{
	struct kept_module *module;

	if (!fold)
		return;
	vec_each (module, &fold->modules)
		module_free(module);
	vec_free(&fold->modules);
	stream_reader_free(fold->reader);
	told_model_free(&fold->told);
	model_free(fold->told.model);
	free(fold->version);
	free(fold->backend);
	free(fold);
}

int fold_read(struct fold *fold, const void *bytes, size_t size)
{
	struct error err;
	int code = stream_read(fold->reader, bytes, size, &err);

	if (!code && fold->told.model && model_bytes(fold->told.model) > fold->limit)
		code = -ENOSPC;
	return code;
}

uint64_t fold_wanted(const struct fold *fold)
{
	return stream_wanted(fold->reader);
}

uint64_t fold_position(const struct fold *fold)
{
	return stream_position(fold->reader);
}

/* Passes a checkpoint from one model to another. */
struct fold_copier {
	struct stream_reader *reader;
	struct books_loader *loader;
};

static int copy_books(void *ctx, struct unpack *body)
{
	return books_load(((struct fold_copier *)ctx)->loader, body);
}

static int copy_output(void *ctx, const void *bytes, size_t size)
{
	struct error err;

	return stream_read(((struct fold_copier *)ctx)->reader, bytes, size, &err);
}

static int copy_run(const struct fold *fold, struct fold_copier *copy)
{
	const struct stream_handler handler = {.books = copy_books, .ctx = copy};
	struct stream_writer *writer = NULL;
	int code = stream_reader_new(&copy->reader, &handler);

	if (!code)
		code = stream_writer_new(&writer, false, copy_output, copy);
	if (!code)
		code = stream_tell_settings(writer, &fold->settings);
	if (!code)
		code = books_save(fold->told.model, writer);
	if (!code)
		code = books_loaded(copy->loader);
	stream_writer_free(writer);
	stream_reader_free(copy->reader);
	return code;
}

int fold_copy(const struct fold *fold, const struct model_config *config, struct model **ret_model)
{
	struct fold_copier copy = {.reader = NULL};
	struct model *model;
	int code = fold->told.model ? model_new(&model, config) : -ENODATA;

	if (code)
		return code;
	code = books_loader_new(&copy.loader, model, NULL);
	if (!code)
		code = copy_run(fold, &copy);
	books_loader_free(copy.loader);
	if (code)
		model_free(model);
	else
		*ret_model = model;
	return code;
}

static int tell_modules(const struct fold *fold, struct stream_writer *writer)
{
	const struct kept_module *module;
	int code = 0;

	vec_each (module, &fold->modules) {
		struct stream_module told = module->told;

		told.path = module->path;
		told.build_id = module->build_id;
		told.segments = module->segments;
		code = code ? code : stream_tell_module(writer, &told);
	}
	return code;
}

int fold_save(const struct fold *fold, stream_output *output, void *ctx)
{
	const struct stream_resume resume = {
		.offset = stream_position(fold->reader),
		.frames = stream_frames(fold->reader),
		.events = stream_heard(fold->reader),
		.last_ns = fold->last_ns,
		.first_pid = fold->first_pid,
	};
	struct stream_writer *writer;
	int code = fold->told.model ? stream_writer_new(&writer, true, output, ctx) : -ENODATA;

	if (code)
		return code;
	code = stream_tell_settings(writer, &fold->settings);
	if (!code)
		code = tell_modules(fold, writer);
	if (!code)
		code = books_save(fold->told.model, writer);
	if (!code)
		code = stream_tell_resume(writer, &resume);
	stream_writer_free(writer);
	return code;
}
