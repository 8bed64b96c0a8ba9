/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The start of a stream, merged into the model that it produces. A server keeps this in place of
 * the data that its backlog has discarded. The model is that of any reader of the stream, without
 * names. Its memory use depends on live blocks and sites rather than on the number of calls, and it
 * is only needed once the backlog has overflowed.
 */
#ifndef MTRACE_NET_CHECKPOINT_MERGED_MODEL_H
#define MTRACE_NET_CHECKPOINT_MERGED_MODEL_H

#include "net/stream/stream.h"

struct merged_model;

/* `limit`: maximum size of the model in bytes. Returns 0 or -ENOMEM. */
int merged_model_new(struct merged_model **ret_merged, uint64_t limit);
void merged_model_free(struct merged_model *merged); /* NULL is fine */
/* Reads the next bytes of the stream. Returns 0, -ENOSPC if the model is larger than the limit, or
 * the error of stream_read. */
int merged_model_read(struct merged_model *merged, const void *bytes, size_t size);
/* Position of the next byte to read. */
uint64_t merged_model_wanted(const struct merged_model *merged);
/* Position up to which the model is complete: the end of the last whole frame. */
uint64_t merged_model_position(const struct merged_model *merged);
/* Creates a second model with the same contents and the given settings. Returns 0 or -errno. */
int merged_model_copy(const struct merged_model *merged, const struct model_config *config,
		      struct model **ret_model);
/* Writes a stream that starts with the model and can be continued from merged_model_position.
 * Returns 0 or -errno. */
int merged_model_save(const struct merged_model *merged, stream_output *output, void *ctx);

#endif
