/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection to a server, driven by the event loop: connect(2), handshake, stream. To continue
 * after a lost connection, create a new client that asks for the missing part.
 */
#ifndef MTRACE_NET_PROTOCOL_CLIENT_H
#define MTRACE_NET_PROTOCOL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"
#include "net/connection/address.h"
#include "net/connection/tls.h"
#include "net/protocol/handshake.h"

#define ANSWER_SECONDS 15

struct client;

struct client_config {
	struct loop *loop;
	struct addresses addresses;   /* tried one after the other */
	struct handshake_token token; /* size 0: none; otherwise the server must know it as well */
	struct tls *tls;              /* NULL: no TLS; not used on UNIX sockets */
	const char *host; /* the name that the server's certificate must have; NULL: any */
	uint64_t trace;   /* id of the trace to continue; 0: any */
	uint64_t offset;  /* offset in the stream, in bytes */
	bool takes_model; /* the server may send a checkpoint first */
	/* Called when the connection is established, with the server's answer. */
	void (*open)(void *ctx, const struct handshake_answer *answer);
	/* Called with the next bytes of the stream. Returns 0; -errno closes the connection. */
	int (*bytes)(void *ctx, const void *bytes, size_t size);
	/*
	 * Called once when the connection is over; no other callback follows. The error is -ENODATA
	 * if the server ended the connection, and -EACCES if retrying is pointless. May free the
	 * client.
	 */
	void (*over)(void *ctx, const struct error *why);
	void *ctx;
};

/* Starts to connect at the next turn of the loop. Returns 0 or -ENOMEM. */
int client_new(struct client **ret_client, const struct client_config *config);
void client_free(struct client *client); /* NULL is fine */
/* Sends an order; best effort: one that the connection cannot take is dropped. Use it only after
 * `open`. */
void client_order(struct client *client, const struct handshake_order *order);

#endif
