/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rebuilds a model from what books_save wrote. The bytes are not trusted. */
#ifndef MTRACE_NET_BOOKS_LOAD_H
#define MTRACE_NET_BOOKS_LOAD_H

#include "base/map64.h"
#include "model/model.h"
#include "net/stream/pack.h"

struct books_loader;

/*
 * Loads into a model that has no processes. For arbitrary bytes, either the loader returns
 * -EBADMSG, or the model can safely take events and create reports. `modules` maps the stream's
 * module ids to ours; NULL if they are the same. Returns 0 or -ENOMEM.
 */
int books_loader_new(struct books_loader **ret_loader, struct model *model,
		     const struct map64 *modules);
void books_loader_free(struct books_loader *loader); /* NULL is fine */
/* Returns 0, -EBADMSG or -ENOMEM. */
int books_load(struct books_loader *loader, struct unpack *body);
/* Checks that the model is complete. Returns 0 or -EBADMSG. */
int books_loaded(const struct books_loader *loader);

#endif
