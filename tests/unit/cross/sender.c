/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a stream to standard output, the same one on every machine. With an argument, it reads a
 * stream from standard input instead, and prints its contents.
 */
#include <errno.h>
#include <stdio.h>

#include "net/stream/read.h"
#include "net/stream/stream.h"
#include "net/stream/write.h"

#define CALLS 50000

static int output(void *ctx, const void *bytes, size_t size)
{
	return fwrite(bytes, 1, size, ctx) == size ? 0 : -EIO;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Calls of all kinds, with fields of all sizes. */
static struct event call_of(uint64_t random, uint64_t i)
{
	struct event event = {
		.kind = (enum event_kind)(EVENT_ALLOC + i % 4),
		.api = (enum api)(1 + random % 17),
		.flags = (uint16_t)(random >> 40 & 3 ? 0 : random >> 16),
		.pid = (uint32_t)(7 + (random >> 20) % 2),
		.tid = (uint32_t)(7 + (random >> 8) % 3),
		.time_ns = i * 10,
		.call = {.address = random >> (random >> 3 & 63),
			 .size = (random >> 9) % 5000,
			 .caller = 0x400000 + (random >> 30) % 100,
			 .stack = (random >> 30) % 100 * 0x123456789abcdefULL,
			 .args = {random >> 5 & 3 ? 0 : random, 2}},
	};

	return event;
}

static int tell_others(struct stream_writer *writer)
{
	static const uint64_t frames[] = {0x7f0000001234, 0x400100, ~0ULL, 0x8000000000400200};
	static const char *const command[] = {"prog", "", "-x \xff\n", NULL};
	static const struct snapshot_losses losses = {1, 2, 3, 4, 5, 6, ~0ULL, 8, 9, 10};
	const struct event events[] = {
		{.kind = EVENT_PROCESS,
		 .pid = 4000000000,
		 .tid = 1,
		 .time_ns = 1234567890123,
		 .process = {.start_time_ns = 1ULL << 60, .comm = "p", .command = command}},
		{.kind = EVENT_MAPPING, .pid = 7, .mapping = {0x400000, ~0ULL, 1ULL << 40, 3, 1}},
		{.kind = EVENT_STACK, .pid = 7, .flags = 0xa, .stack = {~0ULL << 1, frames, 4, 3}},
		{.kind = EVENT_LOSSES, .pid = 7, .losses = &losses},
	};
	int code = 0;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]) && !code; i++)
		code = stream_write_event(writer, &events[i]);
	return code;
}

static int tell_all(struct stream_writer *writer)
{
	const struct stream_settings settings = {
		.apis = 0x1fffe, .begun_ns = 1ULL << 50, .version = "1", .backend = "b"};
	const struct stream_module module = {.id = 3, .path = "/x", .size = 1ULL << 33};
	uint64_t random = 88172645463325252ULL;
	int code = stream_write_settings(writer, &settings);

	if (!code)
		code = stream_write_module(writer, &module);
	if (!code)
		code = tell_others(writer);
	for (uint64_t i = 0; i < CALLS && !code; i++) {
		struct event event = call_of(next_random(&random), i);

		code = stream_write_event(writer, &event);
	}
	return code ? code : stream_write_end(writer, (struct stream_end){.taken_ns = 5});
}

static int on_settings(void *ctx, const struct stream_settings *settings)
{
	return stream_write_settings(ctx, settings);
}

static int on_module(void *ctx, const struct stream_module *module)
{
	return stream_write_module(ctx, module);
}

static int on_event(void *ctx, const struct event *event)
{
	return stream_write_event(ctx, event);
}

static int on_scan_site(void *ctx, const struct stream_scan_site *site)
{
	return stream_write_scan_site(ctx, site);
}

static int on_scan(void *ctx, const struct stream_scan *scan)
{
	return stream_write_scan(ctx, scan);
}

static int on_unprobed(void *ctx)
{
	return stream_write_unprobed(ctx);
}

static int on_end(void *ctx, const struct stream_end *end)
{
	return stream_write_end(ctx, *end);
}

static int tell_again(struct stream_writer *writer)
{
	const struct stream_handler handler = {
		.settings = on_settings,
		.module = on_module,
		.event = on_event,
		.scan_site = on_scan_site,
		.scan = on_scan,
		.unprobed = on_unprobed,
		.end = on_end,
		.ctx = writer,
	};
	struct stream_reader *reader;
	char piece[4099];
	struct error err;
	size_t got;
	int code = stream_reader_new(&reader, &handler);

	while (!code && (got = fread(piece, 1, sizeof(piece), stdin)) > 0)
		code = stream_read(reader, piece, got, &err);
	return code || !stream_is_complete(reader) ? -EBADMSG : 0;
}

int main(int argc, char **argv)
{
	struct stream_writer *writer;
	int code = stream_writer_new(&writer, false, output, stdout);

	(void)argv;
	if (!code)
		code = argc > 1 ? tell_again(writer) : tell_all(writer);
	return code ? 1 : 0;
}
