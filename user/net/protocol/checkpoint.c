// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/protocol/checkpoint.h"

#include <errno.h>
#include <stdlib.h>

#include "net/checkpoint/merged_model.h"

static int checkpoint_output(void *ctx, const void *bytes, size_t size)
{
	struct checkpoint *checkpoint = ctx;

	return checkpoint->bytes.end + size > checkpoint->limit
		       ? -ENOSPC
		       : backlog_add(&checkpoint->bytes, bytes, size);
}

/* Reuses the latest checkpoint as long as the stream after it is still kept. */
struct checkpoint *checkpoint_take(struct server *server)
{
	struct checkpoint *checkpoint = server->latest;

	if (checkpoint && checkpoint->resume >= server->backlog.begin) {
		checkpoint->owners++;
		return checkpoint;
	}
	checkpoint = calloc(1, sizeof(*checkpoint));
	if (!checkpoint)
		return NULL;
	*checkpoint = (struct checkpoint){.owners = 1,
					  .limit = server->config.checkpoint_limit,
					  .resume = merged_model_position(server->merged)};
	if (merged_model_save(server->merged, checkpoint_output, checkpoint)) {
		checkpoint_drop(server, checkpoint);
		return NULL;
	}
	server->latest = checkpoint;
	return checkpoint;
}

void checkpoint_drop(struct server *server, struct checkpoint *checkpoint)
{
	if (!checkpoint || --checkpoint->owners)
		return;
	if (server->latest == checkpoint)
		server->latest = NULL;
	backlog_free(&checkpoint->bytes);
	free(checkpoint);
}
