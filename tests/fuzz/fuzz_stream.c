// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording, and the model made from it. The first byte selects the form of the rest: a raw
 * stream, or frame bodies, each preceded by its kind and length, to which the hello and the
 * checksums are added, because no fuzzer would guess those.
 */
#include "fuzz.h"

#include <errno.h>

#include "model/model.h"
#include "net/checkpoint/load.h"
#include "net/checkpoint/received_model.h"
#include "net/stream/read.h"
#include "net/stream/stream.h"

#define FRAMES_MAX 64

struct heard {
	struct received_model received; /* must be the first member */
	struct checkpoint_loader *loader;
	uint64_t events;
	bool settled;
	bool ended;
	bool resumed;
};

static int on_settings(void *ctx, const struct stream_settings *settings)
{
	struct heard *heard = ctx;
	struct model_config config = stream_model_config(settings);

	config.lists_blocks = true;
	config.max_sites = 16;
	config.max_closed = 4;
	require(!heard->settled, "settings come once");
	heard->settled = true;
	return model_new(&heard->received.model, &config);
}

static int on_module(void *ctx, const struct stream_module *module)
{
	(void)ctx;
	require(module->path && module->segment_count <= STREAM_SEGMENTS_MAX, "a module is one");
	return 0;
}

static int on_event(void *ctx, const struct event *event)
{
	struct heard *heard = ctx;

	require(heard->settled, "settings come first");
	require((unsigned int)event->kind < EVENT_KIND_COUNT, "an event is one");
	heard->events++;
	return model_event(heard->received.model, event);
}

static int on_scan_site(void *ctx, const struct stream_scan_site *site)
{
	for (int leak = 0; leak < LEAK_CLASS_COUNT; leak++)
		require(site->leaks.examples[leak].read <= EXAMPLE_BYTES, "an example fits");
	return received_model_scan_site(ctx, site);
}

static int on_checkpoint(void *ctx, struct unpack *body)
{
	struct heard *heard = ctx;

	require(heard->settled && !heard->events, "a checkpoint replaces events");
	if (!heard->loader)
		require(!checkpoint_loader_new(&heard->loader, heard->received.model, NULL),
			"there is memory");
	return checkpoint_load(heard->loader, body);
}

static int on_resume(void *ctx, const struct stream_resume *resume)
{
	struct heard *heard = ctx;

	require(heard->loader, "the checkpoint comes first");
	heard->events = resume->events;
	heard->resumed = true;
	return checkpoint_loaded(heard->loader);
}

static int on_end(void *ctx, const struct stream_end *end)
{
	struct heard *heard = ctx;

	require(end->events == heard->events, "the end counts its events");
	heard->ended = true;
	return 0;
}

/* For any input, the totals of a section equal the sums over its sites. */
static void look(const struct heard *heard)
{
	struct snapshot *snapshot;

	require(!model_snapshot(heard->received.model, UINT64_MAX, &snapshot), "there is memory");
	for (size_t i = 0; i < snapshot->process_count; i++) {
		const struct snapshot_process *process = &snapshot->processes[i];
		uint64_t blocks = 0;

		for (size_t j = 0; j < process->site_count; j++)
			if (api_row(process->sites[j].api)->family == FAMILY_HEAP)
				blocks += process->sites[j].live_blocks;
		require(blocks == process->live.blocks, "what sites have is what lives");
	}
	snapshot_free(snapshot);
}

static void feed(const uint8_t *bytes, size_t size, size_t piece)
{
	struct heard heard = {0};
	const struct stream_handler handler = {
		.settings = on_settings,
		.module = on_module,
		.event = on_event,
		.scan_site = on_scan_site,
		.scan = received_model_scan,
		.unprobed = received_model_unprobed,
		.checkpoint = on_checkpoint,
		.resume = on_resume,
		.end = on_end,
		.ctx = &heard,
	};
	struct stream_reader *reader;
	struct error err = {0};

	require(!stream_reader_new(&reader, &handler), "there is memory");
	for (size_t at = 0; at < size && !err.code; at += piece)
		stream_read(reader, bytes + at, size - at < piece ? size - at : piece, &err);
	require(heard.resumed || stream_position(reader) <= size,
		"no more is understood than there is");
	require(!stream_is_complete(reader) || (heard.ended && !err.code),
		"what is whole has ended");
	if (heard.received.model)
		look(&heard);
	received_model_free(&heard.received);
	checkpoint_loader_free(heard.loader);
	model_free(heard.received.model);
	stream_reader_free(reader);
}

/* KIND LENGTH BODY, KIND LENGTH BODY … */
static void feed_frames(const uint8_t *data, size_t size)
{
	static const uint8_t settings[] = {0xff, 0xff, 0x0f, 0x07, 0x80, 0x20, 0, 0, 0, 0};
	struct stream_hello hello = hello_own();
	struct pack out = {0}, body = {0};
	uint8_t greeting[HELLO_SIZE];

	hello_pack(greeting, &hello);
	pack_bytes(&out, greeting, sizeof(greeting));
	pack_bytes(&body, settings, sizeof(settings));
	require(!frame_pack(&out, STREAM_SETTINGS, 0, &body, NULL), "a frame can be made");
	for (uint64_t number = 1; size >= 2 && number < FRAMES_MAX; number++) {
		size_t length = data[1] < size - 2 ? data[1] : size - 2;

		body.count = 0;
		pack_bytes(&body, data + 2, length);
		require(!frame_pack(&out, data[0] % 10, number, &body, NULL), "and others");
		data += 2 + length;
		size -= 2 + length;
	}
	feed(out.bytes, out.count, out.count);
	pack_free(&out);
	pack_free(&body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] & 1)
		feed_frames(data + 1, size - 1);
	else
		feed(data + 1, size - 1, data[0] & 2 ? 3 : size);
	return 0;
}
