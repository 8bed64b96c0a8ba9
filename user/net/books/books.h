/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole books in a stream: a checkpoint. It stands for all that made them, and the same events on
 * top of it make the same books, wherever that is: everything that a report or a later event asks
 * for is told, number by number (docs/STREAM.md). What can be found again is not: indices by
 * address, content or place.
 */
#ifndef MTRACE_NET_BOOKS_BOOKS_H
#define MTRACE_NET_BOOKS_BOOKS_H

#include "base/map64.h"
#include "model/model.h"
#include "net/stream/pack.h"
#include "net/stream/stream.h"

/* Tell them. 0 or what the stream says. */
int books_save(const struct model *model, struct stream_writer *writer);

struct books_loader;

/*
 * Put together, from what somebody else has told, in a model without books: whatever the bytes are,
 * it says -EBADMSG, or the books are such that events and reports can be made of them. 0 or -ENOMEM
 * else. `modules`: a module's id there → here; NULL: the same.
 */
int books_loader_new(struct books_loader **ret_loader, struct model *model,
		     const struct map64 *modules);
void books_loader_free(struct books_loader *loader); /* NULL is fine */
int books_load(struct books_loader *loader, struct unpack *body);
/* Is there all of it? 0 or -EBADMSG. */
int books_loaded(const struct books_loader *loader);

#endif
