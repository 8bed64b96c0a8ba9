/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a stream tells of besides events, on its way into the model. */
#ifndef MTRACE_NET_BOOKS_TOLD_MODEL_H
#define MTRACE_NET_BOOKS_TOLD_MODEL_H

#include "base/vec.h"
#include "net/stream/stream.h"

/* Zeroed memory is empty. */
struct told_model {
	struct model *model;                /* from the settings on */
	VEC(struct stream_scan_site) sites; /* of a scan that is being told */
};

void told_model_free(struct told_model *told); /* not the model */

/* Calls of a stream's handler, whose ctx begins with a struct told_model. 0 or -ENOMEM. */
int told_model_scan_site(void *ctx, const struct stream_scan_site *site);
/* Into the books, if they are those that it was of. */
int told_model_scan(void *ctx, const struct stream_scan *scan);
int told_model_unprobed(void *ctx);

#endif
