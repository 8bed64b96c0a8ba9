/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a whole model into a stream: a checkpoint, which replaces all events before it. A model
 * that is loaded from it and receives the later events equals one that received all events
 * (docs/STREAM.md). Indices by address, contents or position are not written: the loader rebuilds
 * them.
 */
#ifndef MTRACE_NET_CHECKPOINT_SAVE_H
#define MTRACE_NET_CHECKPOINT_SAVE_H

#include "model/model.h"
#include "net/stream/write.h"

/* Returns 0, or the error that writing to the stream returned. */
int checkpoint_save(const struct model *model, struct stream_writer *writer);

#endif
