/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Equal frames share their strings (model/snapshot/snapshot.h), so frames are compared by the
 * addresses of their strings. If equal strings are not shared, a frame is rendered twice, which is
 * also correct. Of two frames with the same hash, only the first is kept. The rendered texts follow
 * each other in a memory stream, which costs about 300 bytes per distinct frame.
 */
#include "report/json/frames.h"
#include "base/hash.h"

#include <stdlib.h>

void json_frames_open(struct json_frames *frames)
{
	*frames = (struct json_frames){0};
	frames->out.file = open_memstream(&frames->text, &frames->size);
}

void json_frames_close(struct json_frames *frames)
{
	if (frames->out.file)
		fclose(frames->out.file);
	free(frames->text);
	vec_free(&frames->known);
	map64_free(&frames->by_hash);
}

static void write_frame(struct json_writer *writer, const struct snapshot_frame *frame)
{
	json_open_object(writer, NULL, JSON_INLINE);
	json_put_address(writer, "address", frame->address);
	json_put_string(writer, "module", frame->module);
	json_put_string(writer, "build_id", frame->build_id);
	json_put_address(writer, "offset", frame->offset);
	json_put_string(writer, "function", frame->function);
	json_put_string(writer, "file", frame->file);
	json_put_number(writer, "line", frame->line);
	json_put_bool(writer, "inlined", frame->inlined);
	json_close(writer);
}

static uint64_t frame_hash(const struct snapshot_frame *frame)
{
	const uint64_t parts[] = {
		frame->address,
		frame->offset,
		(uintptr_t)frame->module,
		(uintptr_t)frame->build_id,
		(uintptr_t)frame->function,
		(uintptr_t)frame->file,
		(uint64_t)frame->line << 1 | frame->inlined,
	};

	return hash_bytes(parts, sizeof(parts));
}

static bool frames_equal(const struct snapshot_frame *a, const struct snapshot_frame *b)
{
	return a->address == b->address && a->offset == b->offset && a->module == b->module &&
	       a->build_id == b->build_id && a->function == b->function && a->file == b->file &&
	       a->line == b->line && a->inlined == b->inlined;
}

/* Renders the frame into the stream. Returns NULL if it could not be kept. */
static const struct json_frame *frame_add(struct json_frames *frames, uint64_t hash,
					  const struct snapshot_frame *frame)
{
	struct json_frame known = {.frame = *frame, .start = frames->size};
	struct json_writer writer = {.out = frames->out};

	if (!frames->out.file || frames->out.err)
		return NULL;
	write_frame(&writer, frame);
	frames->out.err = out_finish(&writer.out);
	if (frames->out.err)
		return NULL;
	known.length = frames->size - known.start;
	if (vec_push(&frames->known, known))
		return NULL;
	(void)map64_set(&frames->by_hash, hash, (uint32_t)frames->known.count - 1);
	return &frames->known.items[frames->known.count - 1];
}

void json_frames_put(struct json_frames *frames, struct json_writer *writer,
		     const struct snapshot_frame *frame)
{
	uint64_t hash = frame_hash(frame);
	uint32_t index = map64_get(&frames->by_hash, hash);
	const struct json_frame *known;

	if (index == MAP64_NONE)
		known = frame_add(frames, hash, frame);
	else
		known = &frames->known.items[index];
	if (known && frames_equal(&known->frame, frame))
		json_put_rendered(writer, frames->text + known->start, known->length);
	else
		write_frame(writer, frame);
}
