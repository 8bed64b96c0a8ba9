/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client is sent before the stream: the model of all events that are no longer kept. */
#ifndef MTRACE_NET_PROTOCOL_CHECKPOINT_H
#define MTRACE_NET_PROTOCOL_CHECKPOINT_H

#include <stdint.h>

#include "net/protocol/server_state.h"
#include "net/protocol/spill.h"

struct checkpoint {
	struct spill bytes;
	uint64_t limit;  /* of them */
	uint64_t resume; /* offset where the stream goes on */
	unsigned int owners;
};

/* A checkpoint for one more client, or NULL if there can be none. */
struct checkpoint *checkpoint_take(struct server *server);
void checkpoint_drop(struct server *server, struct checkpoint *checkpoint); /* NULL is fine */

#endif
