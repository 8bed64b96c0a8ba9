// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/stream/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/sample.h"
#include "net/stream/bits.h"
#include "net/stream/event_code.h"

/* Events may come at the start, or after the resume record that follows a checkpoint. */
enum stage { STAGE_FIRST, STAGE_BOOKS, STAGE_EVENTS };

struct stream_reader {
	struct stream_handler handler;
	struct pack held; /* bytes of an incomplete frame */
	struct stream_hello hello;
	bool greeted;
	bool settled; /* the settings were read */
	bool ended;
	enum stage stage;
	bool moved;           /* a resume record was read; it set: */
	uint64_t resumed;     /* stream offset of the next byte */
	uint64_t number;      /* of the next frame */
	uint64_t position;    /* of the first byte that is held */
	uint64_t events_read; /* number of events */
	uint64_t skipped;
	struct compressor *compressor; /* created on demand */
	struct pack room;              /* a decompressed body */
	struct event_context context;
	struct event_room events;
	int err; /* the first failure */
};

int stream_reader_new(struct stream_reader **ret_reader, const struct stream_handler *handler)
{
	struct stream_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->handler = *handler;
	*ret_reader = reader;
	return 0;
}

void stream_reader_free(struct stream_reader *reader)
{
	if (!reader)
		return;
	pack_free(&reader->held);
	pack_free(&reader->room);
	compressor_free(reader->compressor);
	vec_free(&reader->events.words);
	free(reader);
}

bool stream_is_complete(const struct stream_reader *reader)
{
	return reader->ended && !reader->held.count && !reader->err;
}

const struct stream_hello *stream_hello(const struct stream_reader *reader)
{
	return reader->greeted ? &reader->hello : NULL;
}

uint64_t stream_position(const struct stream_reader *reader)
{
	return reader->position;
}

uint64_t stream_frames(const struct stream_reader *reader)
{
	return reader->number;
}

uint64_t stream_heard(const struct stream_reader *reader)
{
	return reader->events_read;
}

uint64_t stream_wanted(const struct stream_reader *reader)
{
	return reader->position + reader->held.count;
}

uint64_t stream_skipped(const struct stream_reader *reader)
{
	return reader->skipped;
}

/*
 * Frames: each function unpacks one frame and delivers it. Returns 0, -EBADMSG, -ENOMEM, or the
 * handler's error. Ignores fields at the end that a later version has added.
 */

static int take_settings(struct stream_reader *reader, struct unpack *body)
{
	struct stream_settings settings = {0};
	uint64_t bits;

	settings.apis = (uint32_t)unpack_bounded(body, UINT32_MAX);
	bits = unpack_number(body);
	settings.wrappers = bits & SETTING_WRAPPERS;
	settings.sanity = bits & SETTING_SANITY;
	settings.omits = bits & SETTING_OMITS;
	settings.scans = bits & SETTING_SCANS;
	settings.exits_unseen = bits & SETTING_EXITS_UNSEEN;
	settings.page_size = unpack_number(body);
	settings.begun_ns = unpack_number(body);
	settings.begun_at_ms = unpack_number(body);
	settings.version = unpack_text(body);
	settings.backend = unpack_text(body);
	if (unpack_left(body)) {
		settings.sample = unpack_bounded(body, SAMPLE_MEAN_MAX);
		settings.min_size = unpack_number(body);
		settings.max_size = unpack_number(body);
	}
	if (body->bad || reader->settled || settings.page_size & (settings.page_size - 1))
		return -EBADMSG;
	reader->settled = true;
	return reader->handler.settings ? reader->handler.settings(reader->handler.ctx, &settings)
					: 0;
}

static int take_module(struct stream_reader *reader, struct unpack *body)
{
	struct stream_segment segments[STREAM_SEGMENTS_MAX];
	struct stream_module module = {.segments = segments};
	uint64_t bits;

	module.id = (uint32_t)unpack_bounded(body, MODULE_NONE - 1);
	module.path = unpack_text(body);
	module.build_id = unpack_text(body);
	module.size = unpack_number(body);
	module.machine = (uint32_t)unpack_bounded(body, UINT16_MAX);
	bits = unpack_number(body);
	module.elf64 = bits & MODULE_ELF64;
	module.big_endian = bits & MODULE_BIG_ENDIAN;
	module.executable = bits & MODULE_EXECUTABLE;
	module.segment_count = (uint32_t)unpack_bounded(body, STREAM_SEGMENTS_MAX);
	for (uint32_t i = 0; i < module.segment_count; i++) {
		segments[i].offset = unpack_number(body);
		segments[i].vaddr = unpack_number(body);
		segments[i].size = unpack_number(body);
		segments[i].executable = unpack_byte(body) & 1;
	}
	if (body->bad || !module.path)
		return -EBADMSG;
	return reader->handler.module ? reader->handler.module(reader->handler.ctx, &module) : 0;
}

static int take_events(struct stream_reader *reader, struct unpack *body)
{
	struct event event;
	int err = reader->handler.event ? 0 : -EBADMSG;

	memset(&reader->context, 0, sizeof(reader->context));
	while (!err && body->at < body->end) {
		err = event_unpack(body, &reader->context, &reader->events, &event);
		if (err)
			break;
		reader->events_read++;
		err = reader->handler.event(reader->handler.ctx, &event);
	}
	return err;
}

static struct snapshot_sum unpack_sum(struct unpack *body)
{
	struct snapshot_sum sum;

	sum.blocks = unpack_number(body);
	sum.bytes = unpack_number(body);
	return sum;
}

static struct snapshot_example unpack_example(struct unpack *body)
{
	struct snapshot_example example = {.address = unpack_number(body)};

	if (!example.address)
		return example;
	example.size = unpack_number(body);
	example.looked = unpack_byte(body) & 1;
	example.resident = unpack_number(body);
	example.swapped = unpack_number(body);
	example.read = (uint32_t)unpack_bounded(body, EXAMPLE_BYTES);
	unpack_bytes(body, example.bytes, example.read);
	return example;
}

static int take_scan_site(struct stream_reader *reader, struct unpack *body)
{
	struct stream_scan_site site = {0};
	unsigned int classes;

	site.process_number = (uint32_t)unpack_bounded(body, UINT32_MAX);
	site.site = (uint32_t)unpack_bounded(body, UINT32_MAX);
	site.api = unpack_byte(body);
	site.first_seen_ns = unpack_number(body);
	classes = unpack_byte(body);
	for (unsigned int i = 0; i < classes && !body->bad; i++) {
		struct snapshot_sum sum = unpack_sum(body);
		struct snapshot_example example = unpack_example(body);

		if (i >= LEAK_CLASS_COUNT)
			return -EBADMSG; /* blocks that would be in no class */
		site.leaks.classes[i] = sum;
		site.leaks.examples[i] = example;
	}
	site.leaks.oldest_ns = unpack_number(body);
	site.leaks.youngest_ns = unpack_number(body);
	if (body->bad || !reader->handler.scan_site)
		return -EBADMSG;
	return reader->handler.scan_site(reader->handler.ctx, &site);
}

static int take_scan_sites(struct stream_reader *reader, struct unpack *body)
{
	int err = 0;

	while (!err && body->at < body->end)
		err = take_scan_site(reader, body);
	return err;
}

static int take_scan(struct stream_reader *reader, struct unpack *body)
{
	struct stream_scan scan_record = {0};
	struct snapshot_scan *scan = &scan_record.scan;
	unsigned int classes;

	scan_record.process_number = (uint32_t)unpack_bounded(body, UINT32_MAX);
	scan_record.sites = (uint32_t)unpack_bounded(body, UINT32_MAX);
	scan->reason = unpack_text(body);
	scan->live = unpack_byte(body) & SCAN_LIVE;
	scan->passes = (uint32_t)unpack_bounded(body, UINT32_MAX);
	scan->taken_ns = unpack_number(body);
	scan->pause_ns = unpack_number(body);
	scan->duration_ns = unpack_number(body);
	scan->bytes_scanned = unpack_number(body);
	scan->bytes_unreadable = unpack_number(body);
	scan->bytes_between = unpack_number(body);
	scan->bytes_free = unpack_number(body);
	classes = unpack_byte(body);
	if (classes > LEAK_CLASS_COUNT)
		return -EBADMSG;
	for (unsigned int i = 0; i < classes; i++)
		scan->classes[i] = unpack_sum(body);
	if (unpack_left(body))
		scan->tagged = unpack_number(body);
	if (body->bad || !reader->handler.scan)
		return -EBADMSG;
	return reader->handler.scan(reader->handler.ctx, &scan_record);
}

static int take_unprobed(struct stream_reader *reader, struct unpack *body)
{
	(void)body;
	return reader->handler.unprobed ? reader->handler.unprobed(reader->handler.ctx) : -EBADMSG;
}

static int take_model(struct stream_reader *reader, struct unpack *body)
{
	if (reader->stage == STAGE_EVENTS || !reader->handler.checkpoint)
		return -EBADMSG;
	reader->stage = STAGE_BOOKS;
	return reader->handler.checkpoint(reader->handler.ctx, body);
}

static int take_resume(struct stream_reader *reader, struct unpack *body)
{
	struct stream_resume resume = {.offset = unpack_bounded(body, INT64_MAX)};

	resume.frames = unpack_bounded(body, INT64_MAX);
	resume.events = unpack_bounded(body, INT64_MAX);
	resume.last_ns = unpack_number(body);
	resume.first_pid = (uint32_t)unpack_bounded(body, UINT32_MAX);
	if (body->bad || reader->stage != STAGE_BOOKS || !reader->handler.resume)
		return -EBADMSG;
	reader->stage = STAGE_EVENTS;
	reader->number = resume.frames;
	reader->events_read = resume.events;
	reader->moved = true;
	reader->resumed = resume.offset;
	return reader->handler.resume(reader->handler.ctx, &resume);
}

static int take_scanned(struct stream_reader *reader, struct unpack *body)
{
	struct stream_scanned scanned;

	scanned.tag = (uint32_t)unpack_bounded(body, UINT32_MAX);
	scanned.scans = (uint32_t)unpack_bounded(body, UINT32_MAX);
	scanned.why = unpack_text(body);
	if (body->bad || reader->stage == STAGE_BOOKS)
		return -EBADMSG;
	return reader->handler.scanned ? reader->handler.scanned(reader->handler.ctx, &scanned) : 0;
}

static int take_end(struct stream_reader *reader, struct unpack *body)
{
	struct stream_end end = {0};

	end.events = unpack_number(body);
	end.taken_ns = unpack_number(body);
	end.taken_at_ms = unpack_number(body);
	end.failure = unpack_text(body);
	if (body->bad || end.events != reader->events_read || !reader->handler.end)
		return -EBADMSG;
	reader->ended = true;
	return reader->handler.end(reader->handler.ctx, &end);
}

static int (*const takers[])(struct stream_reader *reader, struct unpack *body) = {
	[STREAM_SETTINGS] = take_settings, [STREAM_MODULE] = take_module,
	[STREAM_EVENTS] = take_events,     [STREAM_SCAN_SITES] = take_scan_sites,
	[STREAM_SCAN] = take_scan,         [STREAM_UNPROBED] = take_unprobed,
	[STREAM_END] = take_end,           [STREAM_BOOKS] = take_model,
	[STREAM_RESUME] = take_resume,     [STREAM_SCANNED] = take_scanned,
};
#define TAKERS (sizeof(takers) / sizeof(takers[0]))

/* Events, and the records between them, are not allowed within a checkpoint. */
static bool enter_stage(struct stream_reader *reader, unsigned int kind)
{
	if (kind < STREAM_EVENTS || kind > STREAM_END)
		return true;
	if (reader->stage == STAGE_BOOKS)
		return false;
	reader->stage = STAGE_EVENTS;
	return true;
}

/* Skips kinds from later versions if that is allowed. All known kinds need the settings first. */
static int take_frame(struct stream_reader *reader, const struct frame_head *head,
		      const uint8_t *stored)
{
	struct unpack body;
	int err;

	if (head->kind >= TAKERS || !takers[head->kind]) {
		reader->skipped++;
		return head->flags & FRAME_NEEDED ? -EPROTONOSUPPORT : 0;
	}
	if ((!reader->settled && head->kind != STREAM_SETTINGS) || !enter_stage(reader, head->kind))
		return -EBADMSG;
	err = frame_body(head, stored, &reader->compressor, &reader->room, &body);
	return err ? err : takers[head->kind](reader, &body);
}

/* The bytes. */

static int refuse(const struct stream_reader *reader, int code, struct error *err)
{
	if (code == -EOPNOTSUPP)
		return error_set(err, code,
				 "it is compressed, and this mtrace-bpf was built without zstd");
	if (code == -EPROTONOSUPPORT)
		return error_set(err, code, "it was written by a newer mtrace-bpf");
	if (code == -EBADMSG)
		return error_set(err, code, "it is damaged at byte %llu",
				 (unsigned long long)reader->position);
	return error_set_errno(err, code, "at byte %llu", (unsigned long long)reader->position);
}

/* Takes the next item. *ret_taken is its size, or 0 if it is incomplete. */
static int take_next(struct stream_reader *reader, const uint8_t *bytes, size_t size,
		     size_t *ret_taken, struct error *err)
{
	struct frame_head head;
	int code;

	*ret_taken = 0;
	if (!reader->greeted) {
		if (size < HELLO_SIZE)
			return 0;
		code = hello_unpack(bytes, &reader->hello, err);
		reader->greeted = !code;
		*ret_taken = HELLO_SIZE;
		return code;
	}
	if (reader->ended)
		return error_set(err, -EBADMSG, "there is data after its end");
	if (size < FRAME_HEAD_SIZE)
		return 0;
	code = frame_head_unpack(bytes, &head);
	if (code)
		return refuse(reader, code, err);
	if (size - FRAME_HEAD_SIZE < head.size)
		return 0;
	code = frame_is_whole(bytes, &head, reader->number++) ? 0 : -EBADMSG;
	if (!code)
		code = take_frame(reader, &head, bytes + FRAME_HEAD_SIZE);
	*ret_taken = FRAME_HEAD_SIZE + head.size;
	return code ? refuse(reader, code, err) : 0;
}

bool stream_may_begin(const char *bytes, size_t size)
{
	size_t known = size < STREAM_MAGIC_SIZE ? size : STREAM_MAGIC_SIZE;

	return !memcmp(bytes, STREAM_MAGIC, known);
}

int stream_read(struct stream_reader *reader, const void *bytes, size_t size, struct error *err)
{
	size_t done = 0, taken;

	if (reader->err)
		return error_set(err, reader->err, "reading failed before");
	pack_bytes(&reader->held, bytes, size);
	reader->err = reader->held.err;
	if (reader->err)
		return error_set_errno(err, reader->err, "at byte %llu",
				       (unsigned long long)reader->position);
	/* Fail on a wrong start immediately instead of waiting for a complete hello. */
	if (!reader->greeted && reader->held.count &&
	    !stream_may_begin((const char *)reader->held.bytes, reader->held.count))
		reader->err = error_set(err, -EBADMSG, "it is not an mtrace-bpf recording");
	while (!reader->err && done < reader->held.count) {
		reader->err = take_next(reader, reader->held.bytes + done,
					reader->held.count - done, &taken, err);
		if (reader->err || !taken)
			break;
		done += taken;
		reader->position = reader->moved ? reader->resumed : reader->position + taken;
		reader->moved = false;
	}
	if (done) {
		reader->held.count -= done;
		memmove(reader->held.bytes, reader->held.bytes + done, reader->held.count);
	}
	return reader->err;
}
