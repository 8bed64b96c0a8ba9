/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The limits, settings and counters of a server. */
#ifndef MTRACE_NET_PROTOCOL_SERVER_CONFIG_H
#define MTRACE_NET_PROTOCOL_SERVER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "net/connection/tls.h"
#include "net/protocol/handshake.h"

#define HELLO_SECONDS 10
#define STALL_SECONDS 60
#define CLIENTS_MAX   8
#define WAITING_MAX   32 /* connections that are not authenticated yet … */
#define WAITING_SHARE 8  /* … and at most that many from one address or user */
#define ORDERS_MAX    64 /* per connection; a client that sends more is disconnected */

/* Number of connections, and reasons why they ended. */
enum server_count {
	SERVER_ACCEPTED,
	SERVER_STRANGERS, /* another user, or a wrong or missing proof */
	SERVER_NONSENSE,  /* not from mtrace-bpf, or another version */
	SERVER_SILENT,    /* sent or took nothing in time */
	SERVER_CROWDED,   /* too many at once, from everywhere or from one address */
	SERVER_LAGGED,    /* data that they needed was discarded */
	SERVER_LATE,      /* asked for data that is no longer kept, or for another trace */
	SERVER_DELIVERED, /* got the whole stream */
	SERVER_COUNTS
};

struct server_config {
	struct loop *loop;
	struct handshake_token token; /* copied; size 0: none */
	struct tls *tls;              /* NULL: no TLS; not used on UNIX sockets */
	uint64_t limit;               /* size of the backlog in bytes */
	uint64_t checkpoint_limit;    /* size of the model of the rest, in bytes; 0: none */
	uint64_t hello_ns;            /* 0: HELLO_SECONDS … */
	uint64_t stall_ns;            /* 0: STALL_SECONDS */
	/* A client has connected or gone. Both strings are for humans. */
	void (*report_peer)(void *ctx, const char *peer, const char *what);
	/* The client in control wants to end the trace. */
	void (*end)(void *ctx);
	/* A client, in control or not, wants a scan. NULL: scans are not supported. */
	void (*scan)(void *ctx, const struct handshake_order *order, bool control);
	void *ctx;
};

#endif
