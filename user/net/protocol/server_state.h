/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a server and its connections, shared by server.c, peer.c and checkpoint.c. */
#ifndef MTRACE_NET_PROTOCOL_SERVER_STATE_H
#define MTRACE_NET_PROTOCOL_SERVER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "base/vec.h"
#include "net/checkpoint/merged_model.h"
#include "net/connection/address.h"
#include "net/connection/channel.h"
#include "net/protocol/server_config.h"
#include "net/protocol/backlog.h"
#include "net/protocol/handshake.h"

enum peer_state {
	PEER_SHAKES,  /* TLS handshake */
	PEER_WAITING, /* waiting for its request */
	PEER_CLIENT,  /* gets the stream */
	PEER_LEAVING, /* everything is sent; waiting for it to close its side */
	PEER_DEAD,    /* to be freed */
};

struct checkpoint;

struct peer {
	struct server *server;
	struct channel channel;
	struct loop_watch *watch;
	enum peer_state state;
	bool proves;  /* must prove that it knows the token */
	bool secures; /* must use TLS, and has not sent anything yet */
	bool control;
	bool whole;                    /* got the whole stream */
	uint64_t origin;               /* the network or user that it comes from */
	uint64_t number;               /* sequence number of the connection */
	uint64_t offset;               /* offset of the next byte of the stream to send … */
	struct checkpoint *checkpoint; /* … after this checkpoint; NULL if none */
	uint64_t checkpoint_done;      /* bytes of the checkpoint that are sent */
	uint64_t deadline_ns;          /* for what its state waits for */
	unsigned int orders;
	uint8_t greeting[GREETING_SIZE];
	uint8_t in[REQUEST_SIZE]; /* an incomplete message */
	size_t in_count;
	uint8_t out[GREETING_SIZE > ANSWER_SIZE ? GREETING_SIZE : ANSWER_SIZE];
	size_t out_count; /* size of the message to send before the stream … */
	size_t out_done;  /* … and how much of it is sent */
	char name[ADDRESS_TEXT_SIZE];
};

struct listener {
	struct server *server;
	struct address address;
	dev_t device; /* of the file of a UNIX socket */
	ino_t inode;
	int fd;
	struct loop_watch *watch; /* NULL: cannot accept more for now */
};

struct server {
	struct server_config config;
	struct backlog backlog;
	struct merged_model *merged; /* the model of what was discarded; NULL if none is kept */
	struct checkpoint *latest;   /* the newest one that is being sent; NULL if none */
	uint64_t trace;
	bool ended;
	VEC(struct listener *) listeners;
	VEC(struct peer *) peers; /* in order of arrival */
	struct loop_watch *tick;
	struct loop_watch *soon; /* pumps at the next turn of the loop; or NULL */
	uint64_t counts[SERVER_COUNTS];
	char text[2 * ADDRESS_TEXT_SIZE];
};

#endif
