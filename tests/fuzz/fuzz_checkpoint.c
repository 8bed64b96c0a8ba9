// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A model that is received as a whole, and the events after it: as many records as the first two
 * bytes say, then a body of events. The loaded model makes a report before and after the events.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "model/model.h"
#include "net/checkpoint/load.h"
#include "net/checkpoint/save.h"
#include "net/stream/event_code.h"
#include "net/stream/write.h"

static void look(const struct model *model)
{
	struct snapshot *snapshot;

	require(!model_snapshot(model, UINT64_MAX, &snapshot), "there is memory");
	for (size_t i = 0; i < snapshot->process_count; i++)
		for (size_t j = 0; j < snapshot->processes[i].site_count; j++)
			require(snapshot->processes[i].sites[j].stack <
					snapshot->processes[i].stack_count,
				"a site has a stack");
	snapshot_free(snapshot);
}

static void feed_events(struct model *model, struct unpack *body)
{
	struct event_context context = {0};
	struct event_room room = {0};
	struct event event;

	while (body->at < body->end && !event_unpack(body, &context, &room, &event))
		require(!model_event(model, &event), "there is memory");
	vec_free(&room.words);
}

/* A loaded model is written again, and the result loads. */
static int keep(void *ctx, const void *bytes, size_t size)
{
	pack_bytes(ctx, bytes, size);
	return 0;
}

static void save(const struct model *model)
{
	struct stream_writer *writer;
	struct pack out = {0};

	require(!stream_writer_new(&writer, false, keep, &out), "there is memory");
	require(!checkpoint_save(model, writer), "a loaded model can be saved");
	stream_writer_free(writer);
	pack_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct model_config config = {.apis = API_SET_ALL,
					    .wrappers = true,
					    .sanity = true,
					    .scans = true,
					    .lists_blocks = true,
					    .max_sites = 16,
					    .max_closed = 4};
	struct checkpoint_loader *loader;
	struct unpack body, rest;
	struct model *model;
	size_t length;

	if (size < 2)
		return 0;
	length = (size_t)(data[0] | data[1] << 8);
	length = length < size - 2 ? length : size - 2;
	body = (struct unpack){.at = data + 2, .end = data + 2 + length};
	rest = (struct unpack){.at = body.end, .end = data + size};
	require(!model_new(&model, &config), "there is memory");
	require(!checkpoint_loader_new(&loader, model, NULL), "a loader can be created");
	if (!checkpoint_load(loader, &body) && !checkpoint_loaded(loader)) {
		look(model);
		save(model);
		feed_events(model, &rest);
		look(model);
		save(model);
	}
	checkpoint_loader_free(loader);
	model_free(model);
	return 0;
}
