/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One connection to a server, by the event loop: from connect(2) over the greeting to the stream.
 * Whoever wants to go on after it broke makes another one that asks for what is missing.
 */
#ifndef MTRACE_NET_PROTOCOL_CLIENT_H
#define MTRACE_NET_PROTOCOL_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/loop.h"
#include "net/connection/address.h"
#include "net/connection/tls.h"
#include "net/protocol/talk.h"

#define ANSWER_SECONDS 15

struct client;

struct client_config {
	struct loop *loop;
	struct addresses addresses; /* tried one after the other */
	struct talk_token token;    /* size 0: none. With one, the server has to know it, too */
	struct tls *tls;            /* NULL: none; not of UNIX sockets */
	const char *host;           /* whom its certificate must name; NULL: any */
	uint64_t trace;             /* that is gone on with; 0: any */
	uint64_t offset;            /* in its stream, bytes */
	bool takes_books;           /* the answer may say that these come first */
	/* It is there: what the server answered. */
	void (*open)(void *ctx, const struct talk_answer *answer);
	/* The next bytes of the stream. 0 or -errno, which closes the connection. */
	int (*bytes)(void *ctx, const void *bytes, size_t size);
	/*
	 * It is over, once; nothing comes after. -ENODATA: the server has ended it. -EACCES:
	 * trying again is of no use. The client may be freed from here.
	 */
	void (*over)(void *ctx, const struct error *why);
	void *ctx;
};

/* Connects from the next turn of the loop on. 0 or -ENOMEM. */
int client_new(struct client **ret_client, const struct client_config *config);
void client_free(struct client *client); /* NULL is fine */
/* Once it is open. What it cannot take is dropped with the connection. */
void client_order(struct client *client, const struct talk_order *order);

#endif
