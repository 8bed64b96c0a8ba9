// SPDX-License-Identifier: GPL-2.0-or-later
/* What --record has written becomes books again, the same ones. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/replay.h"
#include "base/log.h"
#include "base/map64.h"
#include "base/units.h"
#include "base/vec.h"
#include "model/scan_book.h"
#include "net/stream.h"

#define NS_PER_MS 1000000ULL

struct reading {
	struct replay *replay;
	struct stream_reader *stream;
	struct map64 ids;                   /* a module's id in the recording → here */
	VEC(struct stream_scan_site) sites; /* of a scan that is being told */
	uint64_t begun_ns;
	uint64_t begun_at_ms;
	struct error failure;             /* what is wrong with the bytes; they held up to there */
	char broken[ERROR_TEXT_SIZE / 2]; /* why the trace itself broke off, or "" */
};

static int on_settings(void *ctx, const struct stream_settings *settings)
{
	struct reading *reading = ctx;
	struct model_config config = {
		.apis = settings->apis,
		.wrappers = settings->wrappers,
		.sanity = settings->sanity,
		.omits = settings->omits,
		.scans = settings->scans,
		.ends_unseen = settings->ends_unseen,
		.page_size = settings->page_size,
		.sample = settings->sample,
		.min_size = settings->min_size,
		.max_size = settings->max_size,
	};

	reading->begun_ns = reading->replay->last_ns = settings->begun_ns;
	reading->begun_at_ms = settings->begun_at_ms;
	log_info("recorded by mtrace-bpf %s with %s", settings->version ? settings->version : "?",
		 settings->backend ? settings->backend : "?");
	return replay_books(reading->replay, &config);
}

static int on_module(void *ctx, const struct stream_module *told)
{
	struct module_segment segments[STREAM_SEGMENTS_MAX];
	const struct wanted_file wanted = {.size = told->size};
	struct reading *reading = ctx;
	struct module *module, known = {
				       .path = (char *)told->path,
				       .fd = -1,
				       .machine = (int)told->machine,
				       .elf64 = told->elf64,
				       .big_endian = told->big_endian,
				       .executable = told->executable,
				       .segments = segments,
				       .segment_count = told->segment_count,
			       };
	int code;

	if (told->build_id)
		snprintf(known.build_id, sizeof(known.build_id), "%s", told->build_id);
	for (uint32_t i = 0; i < told->segment_count; i++)
		segments[i] = (struct module_segment){
			.offset = told->segments[i].offset,
			.vaddr = told->segments[i].vaddr,
			.size = told->segments[i].size,
			.executable = told->segments[i].executable,
		};
	code = finder_module(&reading->replay->finder, &known, &wanted, &module);
	return code ? code : map64_set(&reading->ids, told->id, module->id);
}

static int on_event(void *ctx, const struct event *event)
{
	struct reading *reading = ctx;
	struct event own;

	reading->replay->events++;
	if (event->time_ns > reading->replay->last_ns)
		reading->replay->last_ns = event->time_ns;
	if (event->kind != EVENT_MAPPING || event->mapping.module == MODULE_NONE)
		return replay_event(reading->replay, event);
	own = *event;
	own.mapping.module = map64_get(&reading->ids, event->mapping.module);
	_Static_assert(MAP64_NONE == MODULE_NONE, "a module that was not told is none");
	return replay_event(reading->replay, &own);
}

static int on_scan_site(void *ctx, const struct stream_scan_site *site)
{
	struct reading *reading = ctx;

	return vec_push(&reading->sites, *site);
}

/* Is it the site of these books that it was of those at that time? */
static bool site_fits(const struct process *books, const struct stream_scan_site *told)
{
	const struct site *site;

	if (told->books != books->number || told->site >= books->sites.count)
		return false;
	site = process_site_at(books, told->site);
	return site->api == told->api && site->first_seen_ns == told->first_seen_ns;
}

static bool sites_fit(const struct reading *reading, const struct process *books,
		      const struct stream_scan *scan)
{
	const struct stream_scan_site *site;

	vec_each (site, &reading->sites)
		if (!site_fits(books, site))
			return false;
	return reading->sites.count == scan->sites;
}

static int book_scan(const struct reading *reading, struct process *books,
		     const struct stream_scan *told)
{
	const struct stream_scan_site *site;
	struct scan_book book;

	if (told->scan.reason)
		return scan_book_fail(books, told->scan.reason);
	if (!sites_fit(reading, books, told))
		return scan_book_fail(books, "its result does not fit the recording");
	if (scan_book_open(&book, books))
		return -ENOMEM;
	vec_each (site, &reading->sites)
		book.leaks[site->site] = site->leaks;
	book.scan = told->scan;
	scan_book_commit(&book, books);
	return 0;
}

static int on_scan(void *ctx, const struct stream_scan *told)
{
	struct reading *reading = ctx;
	struct process *books = model_books(reading->replay->model, told->books);
	int code = books ? book_scan(reading, books, told) : 0;

	reading->sites.count = 0;
	return code;
}

static int on_unprobed(void *ctx)
{
	struct reading *reading = ctx;

	model_unprobe(reading->replay->model);
	return 0;
}

static int on_end(void *ctx, const struct stream_end *end)
{
	struct reading *reading = ctx;

	reading->replay->ended = true;
	reading->replay->taken_ns = end->taken_ns;
	reading->replay->taken_at_ms = end->taken_at_ms;
	if (end->failure)
		snprintf(reading->broken, sizeof(reading->broken), "%s", end->failure);
	return 0;
}

static bool stream_is_one(const char *bytes, size_t size)
{
	size_t known = size < STREAM_MAGIC_SIZE ? size : STREAM_MAGIC_SIZE;

	return !memcmp(bytes, STREAM_MAGIC, known);
}

static void reading_close(void *ctx)
{
	struct reading *reading = ctx;

	if (!reading)
		return;
	stream_reader_free(reading->stream);
	map64_free(&reading->ids);
	vec_free(&reading->sites);
	free(reading);
}

static int reading_open(void **ret_reader, struct replay *replay)
{
	struct reading *reading = calloc(1, sizeof(*reading));
	const struct stream_handler handler = {
		.settings = on_settings,
		.module = on_module,
		.event = on_event,
		.scan_site = on_scan_site,
		.scan = on_scan,
		.unprobed = on_unprobed,
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

/* What is damaged holds up to there; of other versions nothing does. */
static int reading_read(void *ctx, const char *bytes, size_t size, struct error *err)
{
	struct reading *reading = ctx;

	if (reading->failure.code || !stream_read(reading->stream, bytes, size, &reading->failure))
		return 0;
	reading->replay->damaged = true;
	if (reading->failure.code == -EBADMSG && reading->replay->model)
		return 0;
	return error_set(err, reading->failure.code, "%s", reading->failure.text);
}

/* When the last event was, by the clock on the wall. */
static uint64_t last_at_ms(const struct reading *reading)
{
	return reading->begun_at_ms + (reading->replay->last_ns - reading->begun_ns) / NS_PER_MS;
}

static int reading_finish(void *ctx, struct error *err)
{
	char count[UNITS_TEXT_SIZE];
	struct reading *reading = ctx;
	struct replay *replay = reading->replay;
	size_t room = sizeof(replay->incomplete);

	if (!replay->model)
		return error_set(err, -EBADMSG, "it breaks off before anything was recorded");
	count_format(reading->replay->events, count);
	if (reading->failure.code)
		snprintf(replay->incomplete, room, "%s: what follows its first %s events is lost",
			 reading->failure.text, count);
	else if (!stream_is_complete(reading->stream))
		snprintf(replay->incomplete, room,
			 "the recording breaks off behind %s events: it was not ended, or is cut",
			 count);
	else if (reading->broken[0])
		snprintf(replay->incomplete, room, "the trace broke off: %s", reading->broken);
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
	.is_one = stream_is_one,
	.open = reading_open,
	.read = reading_read,
	.finish = reading_finish,
	.close = reading_close,
};
