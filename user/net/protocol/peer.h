/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What server.c and peer.c know of each other. */
#ifndef MTRACE_NET_PROTOCOL_PEER_H
#define MTRACE_NET_PROTOCOL_PEER_H

#include "base/vec.h"
#include "net/books/fold.h"
#include "net/protocol/server.h"
#include "net/protocol/spill.h"

enum peer_state {
	PEER_SHAKES,  /* TLS */
	PEER_WAITING, /* for its request */
	PEER_CLIENT,  /* is sent the stream */
	PEER_LEAVING, /* was sent all that it gets; its end is awaited */
	PEER_DEAD,    /* to be buried */
};

/* What a client is sent before the stream: the books of all that came before. */
struct checkpoint {
	struct spill bytes;
	uint64_t limit;  /* of them */
	uint64_t resume; /* where the stream goes on */
	unsigned int owners;
};

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

/* A stranger on this socket, which is the server's from here on. */
void peer_new(struct server *server, int fd, const struct address *address);
/* Send it what it can take. true: there is more, and it could take more. */
bool peer_pump(struct peer *peer);
/* Its time is over. */
void peer_expire(struct peer *peer);
void peer_kill(struct peer *peer);
/* Free those that are dead; not from within a walk of the list. */
void peers_bury(struct server *server);
/* The books of what was let go, for one more client; NULL: they cannot be had. */
struct checkpoint *checkpoint_take(struct server *server);
void checkpoint_drop(struct server *server, struct checkpoint *checkpoint); /* NULL is fine */
/* Who is in control; NULL: nobody. */
struct peer *server_control(const struct server *server);
/* Some peer could take more at once. */
void server_pump_soon(struct server *server);

#endif
