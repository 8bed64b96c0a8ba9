/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The beginning of a stream, folded into the books that it makes: what a server keeps of what it
 * has let go. The books are those of any reader of the stream, without names; they take memory for
 * what lives and for sites rather than for calls, and only from when the backlog has run over.
 */
#ifndef MTRACE_NET_BOOKS_FOLD_H
#define MTRACE_NET_BOOKS_FOLD_H

#include "net/stream/stream.h"

struct fold;

/* `limit`: bytes that the books may have. 0 or -ENOMEM. */
int fold_new(struct fold **ret_fold, uint64_t limit);
void fold_free(struct fold *fold); /* NULL is fine */
/* The next bytes of the stream. 0; -ENOSPC: the books are too large; or what stream_read says. */
int fold_read(struct fold *fold, const void *bytes, size_t size);
/* The byte that it reads next. */
uint64_t fold_wanted(const struct fold *fold);
/* Up to where the books are: the end of the last whole frame. */
uint64_t fold_position(const struct fold *fold);
/* The same books once more, of these settings. 0 or -errno. */
int fold_copy(const struct fold *fold, const struct model_config *config, struct model **ret_model);
/* A stream that begins with the books, and that goes on from the position. 0 or -errno. */
int fold_save(const struct fold *fold, stream_output *output, void *ctx);

#endif
