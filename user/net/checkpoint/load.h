/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rebuilds a model from what checkpoint_save wrote. The bytes are not trusted. */
#ifndef MTRACE_NET_CHECKPOINT_LOAD_H
#define MTRACE_NET_CHECKPOINT_LOAD_H

#include "base/map64.h"
#include "model/model.h"
#include "net/stream/pack.h"

struct checkpoint_loader;

/*
 * Loads into a model that has no processes. For arbitrary bytes, either the loader returns
 * -EBADMSG, or the model can safely take events and create reports. `modules` maps the stream's
 * module ids to ours; NULL if they are the same. Returns 0 or -ENOMEM.
 */
int checkpoint_loader_new(struct checkpoint_loader **ret_loader, struct model *model,
			  const struct map64 *modules);
void checkpoint_loader_free(struct checkpoint_loader *loader); /* NULL is fine */
/* Returns 0, -EBADMSG or -ENOMEM. */
int checkpoint_load(struct checkpoint_loader *loader, struct unpack *body);
/* Checks that the model is complete. Returns 0 or -EBADMSG. */
int checkpoint_loaded(const struct checkpoint_loader *loader);

#endif
