// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/stream/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/stream/bits.h"
#include "net/stream/event_code.h"

/* Size at which a frame of events is written: large enough to compress well. */
#define EVENTS_FULL (128u << 10)

struct stream_writer {
	stream_output *output;
	void *ctx;
	struct compressor *compressor; /* NULL: frames are not compressed */
	struct pack events;            /* body of the next events frame */
	struct event_context context;
	struct pack body; /* body of any other frame */
	struct pack frame;
	uint64_t number;         /* of the next frame */
	uint64_t events_written; /* number of events */
	bool greeted;
	int err; /* the first failure */
};

int stream_writer_new(struct stream_writer **ret_writer, bool compressed, stream_output *output,
		      void *ctx)
{
	struct stream_writer *writer = calloc(1, sizeof(*writer));
	int err = writer ? 0 : -ENOMEM;

	if (!err && compressed && compressor_is_built_in())
		err = compressor_new(&writer->compressor);
	if (err) {
		free(writer);
		return err;
	}
	writer->output = output;
	writer->ctx = ctx;
	*ret_writer = writer;
	return 0;
}

void stream_writer_free(struct stream_writer *writer)
{
	if (!writer)
		return;
	compressor_free(writer->compressor);
	pack_free(&writer->events);
	pack_free(&writer->body);
	pack_free(&writer->frame);
	free(writer);
}

static int fail(struct stream_writer *writer, int err)
{
	if (err && !writer->err)
		writer->err = err;
	return writer->err;
}

static int greet(struct stream_writer *writer)
{
	struct stream_hello hello = hello_own();
	uint8_t bytes[HELLO_SIZE];

	if (writer->greeted)
		return 0;
	writer->greeted = true;
	hello_pack(bytes, &hello);
	return writer->output(writer->ctx, bytes, sizeof(bytes));
}

static int send_frame(struct stream_writer *writer, enum stream_kind kind, struct pack *body)
{
	int err = writer->err ? writer->err : greet(writer);

	writer->frame.count = 0;
	if (!err)
		err = frame_pack(&writer->frame, kind, writer->number++, body, writer->compressor);
	if (!err)
		err = writer->output(writer->ctx, writer->frame.bytes, writer->frame.count);
	body->count = 0;
	return fail(writer, err);
}

int stream_flush(struct stream_writer *writer)
{
	if (!writer->events.count)
		return writer->err;
	memset(&writer->context, 0, sizeof(writer->context));
	return send_frame(writer, STREAM_EVENTS, &writer->events);
}

/* Writes earlier events first, to keep the order. */
static int send_body(struct stream_writer *writer, enum stream_kind kind)
{
	int err = stream_flush(writer);

	return err ? err : send_frame(writer, kind, &writer->body);
}

int stream_write_event(struct stream_writer *writer, const struct event *event)
{
	int err;

	if (writer->err)
		return writer->err;
	err = event_pack(&writer->events, &writer->context, event);
	if (!err)
		err = writer->events.err;
	if (err)
		return fail(writer, err);
	writer->events_written++;
	return writer->events.count >= EVENTS_FULL ? stream_flush(writer) : 0;
}

uint64_t stream_events(const struct stream_writer *writer)
{
	return writer->events_written;
}

bool stream_is_held(const struct stream_writer *writer)
{
	return writer->events.count > 0;
}

int stream_write_settings(struct stream_writer *writer, const struct stream_settings *settings)
{
	struct pack *body = &writer->body;
	unsigned int bits = 0;

	bits |= settings->wrappers ? SETTING_WRAPPERS : 0;
	bits |= settings->sanity ? SETTING_SANITY : 0;
	bits |= settings->omits ? SETTING_OMITS : 0;
	bits |= settings->scans ? SETTING_SCANS : 0;
	bits |= settings->exits_unseen ? SETTING_EXITS_UNSEEN : 0;
	pack_number(body, settings->apis);
	pack_number(body, bits);
	pack_number(body, settings->page_size);
	pack_number(body, settings->begun_ns);
	pack_number(body, settings->begun_at_ms);
	pack_text(body, settings->version);
	pack_text(body, settings->backend);
	pack_number(body, settings->sample);
	pack_number(body, settings->min_size);
	pack_number(body, settings->max_size);
	return send_body(writer, STREAM_SETTINGS);
}

int stream_write_module(struct stream_writer *writer, const struct stream_module *module)
{
	struct pack *body = &writer->body;
	uint32_t segments = module->segment_count;
	unsigned int bits = 0;

	if (segments > STREAM_SEGMENTS_MAX)
		segments = STREAM_SEGMENTS_MAX;
	bits |= module->elf64 ? MODULE_ELF64 : 0;
	bits |= module->big_endian ? MODULE_BIG_ENDIAN : 0;
	bits |= module->executable ? MODULE_EXECUTABLE : 0;
	pack_number(body, module->id);
	pack_text(body, module->path);
	pack_text(body, module->build_id);
	pack_number(body, module->size);
	pack_number(body, module->machine);
	pack_number(body, bits);
	pack_number(body, segments);
	for (uint32_t i = 0; i < segments; i++) {
		pack_number(body, module->segments[i].offset);
		pack_number(body, module->segments[i].vaddr);
		pack_number(body, module->segments[i].size);
		pack_byte(body, module->segments[i].executable);
	}
	return send_body(writer, STREAM_MODULE);
}

static void pack_sum(struct pack *body, const struct snapshot_sum *sum)
{
	pack_number(body, sum->blocks);
	pack_number(body, sum->bytes);
}

static void pack_example(struct pack *body, const struct snapshot_example *example)
{
	uint32_t read = example->read < EXAMPLE_BYTES ? example->read : EXAMPLE_BYTES;

	pack_number(body, example->address);
	if (!example->address)
		return;
	pack_number(body, example->size);
	pack_byte(body, example->looked);
	pack_number(body, example->resident);
	pack_number(body, example->swapped);
	pack_byte(body, read);
	pack_bytes(body, example->bytes, read);
}

/* Readers of minor versions before 3 know the first five classes, so others only follow if there
 * are blocks of them. */
static int classes_written(const struct snapshot_sum classes[LEAK_CLASS_COUNT])
{
	return classes[LEAK_STACK].blocks ? LEAK_CLASS_COUNT : LEAK_STACK;
}

/* Collects sites in one frame, like events: a process may have thousands. */
int stream_write_scan_site(struct stream_writer *writer, const struct stream_scan_site *site)
{
	struct pack *body = &writer->body;
	int classes = classes_written(site->leaks.classes);

	pack_number(body, site->process_number);
	pack_number(body, site->site);
	pack_byte(body, site->api);
	pack_number(body, site->first_seen_ns);
	pack_byte(body, (uint8_t)classes);
	for (int leak = 0; leak < classes; leak++) {
		pack_sum(body, &site->leaks.classes[leak]);
		pack_example(body, &site->leaks.examples[leak]);
	}
	pack_number(body, site->leaks.oldest_ns);
	pack_number(body, site->leaks.youngest_ns);
	return body->count >= EVENTS_FULL ? send_body(writer, STREAM_SCAN_SITES)
					  : fail(writer, body->err);
}

int stream_write_scan(struct stream_writer *writer, const struct stream_scan *record)
{
	const struct snapshot_scan *scan = &record->scan;
	struct pack *body = &writer->body;
	int err = body->count ? send_body(writer, STREAM_SCAN_SITES) : 0;
	int classes = classes_written(scan->classes);

	if (err)
		return err;
	pack_number(body, record->process_number);
	pack_number(body, record->sites);
	pack_text(body, scan->reason);
	pack_byte(body, scan->live ? SCAN_LIVE : 0);
	pack_number(body, scan->passes);
	pack_number(body, scan->taken_ns);
	pack_number(body, scan->pause_ns);
	pack_number(body, scan->duration_ns);
	pack_number(body, scan->bytes_scanned);
	pack_number(body, scan->bytes_unreadable);
	pack_number(body, scan->bytes_between);
	pack_number(body, scan->bytes_free);
	pack_byte(body, (uint8_t)classes);
	for (int leak = 0; leak < classes; leak++)
		pack_sum(body, &scan->classes[leak]);
	pack_number(body, scan->tagged);
	return send_body(writer, STREAM_SCAN);
}

int stream_write_checkpoint(struct stream_writer *writer, struct pack *records)
{
	int err = stream_flush(writer);

	return err ? err : send_frame(writer, STREAM_BOOKS, records);
}

int stream_write_resume(struct stream_writer *writer, const struct stream_resume *resume)
{
	struct pack *body = &writer->body;

	pack_number(body, resume->offset);
	pack_number(body, resume->frames);
	pack_number(body, resume->events);
	pack_number(body, resume->last_ns);
	pack_number(body, resume->first_pid);
	return send_body(writer, STREAM_RESUME);
}

int stream_write_scanned(struct stream_writer *writer, const struct stream_scanned *scanned)
{
	struct pack *body = &writer->body;

	pack_number(body, scanned->tag);
	pack_number(body, scanned->scans);
	pack_text(body, scanned->why);
	return send_body(writer, STREAM_SCANNED);
}

int stream_write_unprobed(struct stream_writer *writer)
{
	return send_body(writer, STREAM_UNPROBED);
}

int stream_write_end(struct stream_writer *writer, struct stream_end end)
{
	struct pack *body = &writer->body;

	pack_number(body, writer->events_written);
	pack_number(body, end.taken_ns);
	pack_number(body, end.taken_at_ms);
	pack_text(body, end.failure);
	return send_body(writer, STREAM_END);
}
