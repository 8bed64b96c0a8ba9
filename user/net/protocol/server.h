/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends a stream to whoever may have it. It keeps the stream from its beginning (spill.h), so a
 * client that comes late, or again, gets all of it, or what it has not got yet; all by the event
 * loop, and nobody is ever waited for.
 *
 * What is kept is bounded. What is beyond the bound is folded into the books that it makes
 * (net/books/fold.h), and who begins behind it, or comes back too late, is sent these first; who is
 * too slow to follow is cut off, and can come back for them. If books are not wanted, or become too
 * large, it lets go what the client in control has got already: that client can still come back,
 * others not begin any more, and those that lag behind it are cut off. What nobody has got is never
 * let go then; server_is_full says that there is too much of it.
 *
 * One client is in control, the one that has been there longest: its orders count.
 *
 * Strangers: of a UNIX socket the peer must be of our user, or root; elsewhere it must prove that
 * it knows the token, or have a certificate. Until then nothing of it is looked at but one message
 * of fixed size, for which it has HELLO_SECONDS; there are at most WAITING_MAX such, the oldest
 * gives way. A client that takes nothing for STALL_SECONDS is cut off.
 */
#ifndef MTRACE_NET_PROTOCOL_SERVER_H
#define MTRACE_NET_PROTOCOL_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/model.h"
#include "net/connection/address.h"
#include "net/protocol/server_config.h"

struct server;

/* 0 or -errno with words. */
int server_open(struct server **ret_server, const struct server_config *config, struct error *err);
void server_close(struct server *server); /* NULL is fine; not from within its callbacks */
/* Where it listens from here on; port 0: any. 0 or -errno with words. */
int server_listen(struct server *server, const struct address *address, struct error *err);
/* "unix:/path", "127.0.0.1:4576 and [::1]:4576". */
const char *server_text(const struct server *server);

/* A stream_output: the next bytes of the stream. 0, -ENOMEM, or -ENOSPC: full, and twice that. */
int server_output(void *server, const void *bytes, size_t size);
/*
 * Books of all that was output, at once and for good: a model of their own, of these settings. It
 * takes time, in which `meanwhile` is called now and then, and may output more, which is in them,
 * too. 0, -ENODATA if it keeps none, or -errno.
 */
int server_books(struct server *server, const struct model_config *config,
		 void (*meanwhile)(void *ctx), void *ctx, struct model **ret_model);
/* Is the bound reached by what nobody has got? */
bool server_is_full(struct server *server);
/* Nothing more will be output. */
void server_end(struct server *server);

/* Clients that are sent the stream. */
unsigned int server_clients(const struct server *server);
uint64_t server_count(const struct server *server, enum server_count count);
/* "3 clients, 2 connections refused: …": what it has seen. */
#define SERVER_TEXT_SIZE 256
const char *server_summary(const struct server *server, char text[SERVER_TEXT_SIZE]);

#endif
