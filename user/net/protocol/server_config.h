/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The limits and settings of a server, and what it counts. */
#ifndef MTRACE_NET_PROTOCOL_SERVER_CONFIG_H
#define MTRACE_NET_PROTOCOL_SERVER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "net/connection/tls.h"
#include "net/protocol/talk.h"

#define HELLO_SECONDS 10
#define STALL_SECONDS 60
#define CLIENTS_MAX   8
#define WAITING_MAX   32
#define ORDERS_MAX    64 /* of one connection; one that sends more is cut off */

/* Why connections ended, and how many. */
enum server_count {
	SERVER_ACCEPTED,
	SERVER_STRANGERS, /* another user's, or a wrong or no proof */
	SERVER_NONSENSE,  /* what they sent is not from mtrace-bpf, or of another version */
	SERVER_SILENT,    /* nothing came in time, or nothing was taken */
	SERVER_CROWDED,   /* too many at once */
	SERVER_LAGGED,    /* what they had not got was let go */
	SERVER_LATE,      /* what they asked for is not kept any more, or of another trace */
	SERVER_DELIVERED, /* got the stream to its end */
	SERVER_COUNTS
};

struct server_config {
	struct loop *loop;
	struct talk_token token; /* copied; size 0: none */
	struct tls *tls;         /* NULL: none; not of UNIX sockets */
	uint64_t limit;          /* bytes that are kept */
	uint64_t books_limit;    /* bytes for books of the rest; 0: none */
	uint64_t hello_ns;       /* 0: HELLO_SECONDS … */
	uint64_t stall_ns;       /* 0: STALL_SECONDS */
	/* A client is there, or has gone: words for people. */
	void (*tell)(void *ctx, const char *peer, const char *what);
	/* The client in control wants the trace to end. */
	void (*end)(void *ctx);
	/* A client, in control or not, wants a scan; NULL: there are none. */
	void (*scan)(void *ctx, const struct talk_order *order, bool control);
	void *ctx;
};

#endif
