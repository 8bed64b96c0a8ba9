/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The start of a stream, merged into the model that it produces. A server keeps this in place of
 * the data that its backlog has discarded. The model is that of any reader of the stream, without
 * names. Its memory use depends on live blocks and sites rather than on the number of calls, and it
 * is only needed once the backlog has overflowed.
 */
#ifndef MTRACE_NET_BOOKS_FOLD_H
#define MTRACE_NET_BOOKS_FOLD_H

#include "net/stream/stream.h"

struct fold;

/* `limit`: maximum size of the model in bytes. Returns 0 or -ENOMEM. */
int fold_new(struct fold **ret_fold, uint64_t limit);
void fold_free(struct fold *fold); /* NULL is fine */
/* Reads the next bytes of the stream. Returns 0, -ENOSPC if the model is larger than the limit, or
 * the error of stream_read. */
int fold_read(struct fold *fold, const void *bytes, size_t size);
/* Position of the next byte to read. */
uint64_t fold_wanted(const struct fold *fold);
/* Position up to which the model is complete: the end of the last whole frame. */
uint64_t fold_position(const struct fold *fold);
/* Creates a second model with the same contents and the given settings. Returns 0 or -errno. */
int fold_copy(const struct fold *fold, const struct model_config *config, struct model **ret_model);
/* Writes a stream that starts with the model and can be continued from fold_position. Returns 0 or
 * -errno. */
int fold_save(const struct fold *fold, stream_output *output, void *ctx);

#endif
