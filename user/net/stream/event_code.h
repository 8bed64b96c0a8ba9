/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Encodes events as bytes. Most events are calls, and most calls resemble the previous one. So the
 * first byte says what is unchanged, times and addresses are differences, and a place in the
 * program (caller and stack) that occurred earlier in the frame takes one byte.
 */
#ifndef MTRACE_NET_STREAM_EVENT_CODE_H
#define MTRACE_NET_STREAM_EVENT_CODE_H

#include "base/vec.h"
#include "model/event.h"
#include "model/snapshot/snapshot.h"
#include "net/stream/pack.h"

#define EVENT_FRAMES_MAX 256 /* per stack */
#define EVENT_PLACES     255

/* What both sides remember of earlier events in a frame. Zeroed at the start of each frame. */
struct event_context {
	uint32_t pid;
	uint32_t tid;
	uint64_t time_ns;
	uint64_t address;
	uint64_t caller;
	struct {
		uint64_t stack;
		uint64_t caller;
	} places[EVENT_PLACES];
};

/* Storage for what an unpacked event points to. Starts zeroed. */
struct event_room {
	uint64_t frames[EVENT_FRAMES_MAX];
	struct snapshot_losses losses;
	VEC(const char *) words;
};

/* Returns 0, or -EMSGSIZE if a stack has more than EVENT_FRAMES_MAX frames. */
int event_pack(struct pack *out, struct event_context *context, const struct event *event);
/*
 * Unpacks the next event. Its pointers are valid until the next call, and as long as the bytes are.
 * Returns 0, -EBADMSG or -ENOMEM. Values are in range wherever the model does not check that
 * itself.
 */
int event_unpack(struct unpack *view, struct event_context *context, struct event_room *room,
		 struct event *ret_event);

#endif
