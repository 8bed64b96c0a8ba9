/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client gets before the stream: the model of all events that are no longer kept. */
#ifndef MTRACE_NET_PROTOCOL_CHECKPOINT_H
#define MTRACE_NET_PROTOCOL_CHECKPOINT_H

#include <stdint.h>

#include "net/protocol/server_state.h"
#include "net/protocol/backlog.h"

struct checkpoint {
	struct backlog bytes;
	uint64_t limit;  /* maximum size in bytes */
	uint64_t resume; /* offset at which the stream continues */
	unsigned int owners;
};

/* Returns a checkpoint for another client, or NULL if none can be made. */
struct checkpoint *checkpoint_take(struct server *server);
void checkpoint_drop(struct server *server, struct checkpoint *checkpoint); /* NULL is fine */

#endif
