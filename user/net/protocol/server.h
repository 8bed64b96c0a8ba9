/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends a stream to all authorized clients. The server keeps the stream from its beginning
 * (backlog.h), so a client that connects late, or reconnects, gets all of it or the part that it is
 * missing. Everything runs in the event loop, and nothing ever waits for a client.
 *
 * The backlog is bounded. Data beyond the bound is merged into the model that it produces
 * (net/checkpoint/merged_model.h). A client that starts after that point, or reconnects too late,
 * first gets this model; a client that is too slow is disconnected and can reconnect for it. If no
 * model is wanted, or it becomes too large, the server discards what the client in control has
 * already received: that client can still reconnect, new clients are refused, and clients that lag
 * behind it are disconnected. In this mode, data that nobody has received is never discarded;
 * server_is_full returns true if there is too much of it.
 *
 * One client is in control, the one that has been connected longest: only its orders count.
 *
 * Strangers: on a UNIX socket, the peer must be our user or root; otherwise it must prove that it
 * knows the token, or have a certificate. Until then the server reads only one message of fixed
 * size, for which the peer has HELLO_SECONDS. There are at most WAITING_MAX such peers; the oldest
 * makes room for a new one. A client that takes nothing for STALL_SECONDS is disconnected.
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

/* Returns 0, or -errno with a message in *err. */
int server_open(struct server **ret_server, const struct server_config *config, struct error *err);
void server_close(struct server *server); /* NULL is fine; not from its callbacks */
/* Starts to listen at the address (port 0: any port). Returns 0, or -errno with a message in
 * *err. */
int server_listen(struct server *server, const struct address *address, struct error *err);
/* The addresses, for example "unix:/path" or "127.0.0.1:4576 and [::1]:4576". */
const char *server_text(const struct server *server);

/* A stream_output that takes the next bytes of the stream. Returns 0, -ENOMEM, or -ENOSPC if far
 * more than the limit (about twice as much) is kept. */
int server_output(void *server, const void *bytes, size_t size);
/*
 * Creates a separate model of everything that was output, with the given settings. This takes time,
 * during which `meanwhile` is called occasionally; whatever that outputs is included. Returns 0,
 * -ENODATA if the server keeps no model, or -errno.
 */
int server_model(struct server *server, const struct model_config *config,
		 void (*meanwhile)(void *ctx), void *ctx, struct model **ret_model);
/* Returns true if data that nobody has received reaches the limit. */
bool server_is_full(struct server *server);
/* Announces that nothing more will be output. */
void server_end(struct server *server);

/* Number of clients that get the stream. */
unsigned int server_clients(const struct server *server);
uint64_t server_count(const struct server *server, enum server_count count);
/* Summarizes the counts, such as "3 connections, 2 strangers". Returns `text`. */
#define SERVER_TEXT_SIZE 256
const char *server_summary(const struct server *server, char text[SERVER_TEXT_SIZE]);

#endif
