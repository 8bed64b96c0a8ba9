/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames over a socket pair: a kind, bytes, and optionally an open file. */
#ifndef MTRACE_PARSER_WIRE_CHANNEL_H
#define MTRACE_PARSER_WIRE_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include "parser/wire/wire.h"

#define CHANNEL_FOREVER UINT64_MAX

struct frame {
	uint32_t kind;
	int fd; /* -1 if there is none; close-on-exec */
	struct wire body;
};

/* Opens a socket pair, close-on-exec. Returns 0 or -errno. */
int channel_open(int ends[2]);

/*
 * Both return 0, -EPIPE if the other end is closed, -ETIMEDOUT after the deadline (CLOCK_MONOTONIC,
 * in nanoseconds), or another -errno. After a failure the channel is unusable.
 */
int channel_send(int socket, uint32_t kind, const struct wire *body, int fd, uint64_t deadline_ns);

/* Receives the next frame; free it with frame_free. Returns -EBADMSG if it has more than `max`
 * bytes. */
int channel_receive(int socket, size_t max, uint64_t deadline_ns, struct frame *ret_frame);
void frame_free(struct frame *frame); /* also closes its file */

#endif
