/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames as JSON, each distinct one rendered once and then copied: a report of a compiler has
 * millions of frames, and some ten thousand distinct ones.
 */
#ifndef MTRACE_REPORT_JSON_FRAMES_H
#define MTRACE_REPORT_JSON_FRAMES_H

#include "base/map64.h"
#include "base/vec.h"
#include "model/snapshot/snapshot.h"
#include "report/json/writer.h"

/* A frame's text in the stream's. */
struct json_frame {
	struct snapshot_frame frame;
	size_t start;
	size_t length;
};

struct json_frames {
	struct out out; /* into text; no file: nothing is kept */
	char *text;
	size_t size;
	VEC(struct json_frame) known;
	struct map64 by_hash;
};

/* Without memory, frames are written all the same, only slower. */
void json_frames_open(struct json_frames *frames);
void json_frames_put(struct json_frames *frames, struct json_writer *writer,
		     const struct snapshot_frame *frame);
void json_frames_close(struct json_frames *frames);

#endif
