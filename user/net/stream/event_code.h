/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events as bytes. Most are calls, and most calls resemble the one before: so a byte says what is
 * the same, times and addresses are differences, and a place of the program (caller and stack) that
 * the frame has named before is one byte.
 */
#ifndef MTRACE_NET_STREAM_EVENT_CODE_H
#define MTRACE_NET_STREAM_EVENT_CODE_H

#include "base/vec.h"
#include "model/event.h"
#include "model/snapshot/snapshot.h"
#include "net/stream/pack.h"

#define EVENT_FRAMES_MAX 256 /* of a stack */
#define EVENT_PLACES     255

/* What both sides know of a frame's earlier events; zeroed at its beginning. */
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

/* What an unpacked event points to. Zeroed memory will do. */
struct event_room {
	uint64_t frames[EVENT_FRAMES_MAX];
	struct snapshot_losses losses;
	VEC(const char *) words;
};

/* 0, or -EMSGSIZE for a stack beyond EVENT_FRAMES_MAX. */
int event_pack(struct pack *out, struct event_context *context, const struct event *event);
/*
 * The next event. Its pointers are good until the next one, and as long as the bytes are. 0,
 * -EBADMSG or -ENOMEM. What it says is in bounds where the model does not check that itself.
 */
int event_unpack(struct unpack *view, struct event_context *context, struct event_room *room,
		 struct event *ret_event);

#endif
