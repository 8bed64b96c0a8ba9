/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Applies to a model what a stream reports besides events. */
#ifndef MTRACE_NET_CHECKPOINT_RECEIVED_MODEL_H
#define MTRACE_NET_CHECKPOINT_RECEIVED_MODEL_H

#include "base/vec.h"
#include "net/stream/stream.h"

/* An all-zero struct is empty. */
struct received_model {
	struct model *model;                /* NULL until the settings are read */
	VEC(struct stream_scan_site) sites; /* sites of the scan that is being read */
};

void received_model_free(struct received_model *received); /* does not free the model */

/* Callbacks for a stream handler whose ctx starts with a struct received_model. Return 0 or
 * -ENOMEM. */
int received_model_scan_site(void *ctx, const struct stream_scan_site *site);
/* Stores the scan in the model if its sites match. */
int received_model_scan(void *ctx, const struct stream_scan *scan);
int received_model_unprobed(void *ctx);

#endif
