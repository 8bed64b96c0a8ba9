/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a server and of its connections, which server.c, peer.c and checkpoint.c share. */
#ifndef MTRACE_NET_PROTOCOL_SERVER_STATE_H
#define MTRACE_NET_PROTOCOL_SERVER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/vec.h"
#include "net/books/fold.h"
#include "net/connection/address.h"
#include "net/connection/channel.h"
#include "net/protocol/server_config.h"
#include "net/protocol/spill.h"
#include "net/protocol/talk.h"

enum peer_state {
	PEER_SHAKES,  /* TLS */
	PEER_WAITING, /* for its request */
	PEER_CLIENT,  /* is sent the stream */
	PEER_LEAVING, /* was sent all that it gets; its end is awaited */
	PEER_DEAD,    /* to be buried */
};

struct checkpoint;

struct peer {
	struct server *server;
	struct channel channel;
	struct loop_watch *watch;
	enum peer_state state;
	bool proves;  /* it has to know the token */
	bool secures; /* by TLS; it has not said a word yet */
	bool control;
	bool whole;                    /* it was sent the stream to its end */
	uint64_t number;               /* the how manyth that came */
	uint64_t offset;               /* of the next byte of the stream that it is sent … */
	struct checkpoint *checkpoint; /* … behind this; NULL: at once */
	uint64_t checkpoint_done;      /* bytes of it that were sent */
	uint64_t deadline_ns;          /* … for what its state awaits */
	unsigned int orders;
	uint8_t greeting[GREETING_SIZE];
	uint8_t in[REQUEST_SIZE]; /* a message that is not whole yet */
	size_t in_count;
	uint8_t out[GREETING_SIZE > ANSWER_SIZE ? GREETING_SIZE : ANSWER_SIZE];
	size_t out_count; /* of the message that goes before the stream … */
	size_t out_done;  /* … and how much of it is sent */
	char name[ADDRESS_TEXT_SIZE];
};

struct listener {
	struct server *server;
	struct address address;
	int fd;
	struct loop_watch *watch; /* NULL: no more can be accepted for now */
};

struct server {
	struct server_config config;
	struct spill spill;
	struct fold *fold;         /* the books of what was let go; NULL: none are kept */
	struct checkpoint *latest; /* that somebody is being sent; NULL: none is */
	uint64_t trace;
	bool ended;
	VEC(struct listener *) listeners;
	VEC(struct peer *) peers; /* in the order in which they came */
	struct loop_watch *tick;
	struct loop_watch *soon; /* a pump goes on at the next turn of the loop; else NULL */
	uint64_t counts[SERVER_COUNTS];
	char text[2 * ADDRESS_TEXT_SIZE];
};

#endif
