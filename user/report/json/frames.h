/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames as JSON. Each distinct frame is rendered once and then copied: a report about a compiler
 * has millions of frames, but only about ten thousand distinct ones.
 */
#ifndef MTRACE_REPORT_JSON_FRAMES_H
#define MTRACE_REPORT_JSON_FRAMES_H

#include "base/map64.h"
#include "base/vec.h"
#include "model/snapshot/snapshot.h"
#include "report/json/writer.h"

/* Where a frame's text is in json_frames.text. */
struct json_frame {
	struct snapshot_frame frame;
	size_t start;
	size_t length;
};

struct json_frames {
	struct out out; /* writes into text; without a file nothing is kept */
	char *text;
	size_t size;
	VEC(struct json_frame) known;
	struct map64 by_hash;
};

/* If out of memory, frames are still written, only slower. */
void json_frames_open(struct json_frames *frames);
void json_frames_put(struct json_frames *frames, struct json_writer *writer,
		     const struct snapshot_frame *frame);
void json_frames_close(struct json_frames *frames);

#endif
