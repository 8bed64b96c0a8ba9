/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The connections of a server. */
#ifndef MTRACE_NET_PROTOCOL_PEER_H
#define MTRACE_NET_PROTOCOL_PEER_H

#include <stdbool.h>

#include "net/connection/address.h"
#include "net/protocol/server_state.h"

/* Accepts a connection. The server owns the socket from here on. */
void peer_new(struct server *server, int fd, const struct address *address);
/* Sends as much as the peer can take. Returns true if the peer could take more, and there is more
 * to send. */
bool peer_pump(struct peer *peer);
/* Pumps each peer. */
void peers_pump(struct server *server);
/* Pumps again at the next turn of the loop. */
void peers_pump_soon(struct server *server);
/* Acts on a deadline that has passed. */
void peer_expire(struct peer *peer);
void peer_kill(struct peer *peer);
/* Frees dead peers. Must not be called while iterating over the list. */
void peers_bury(struct server *server);
/* Number of clients that get the stream. */
unsigned int peers_clients(const struct server *server);
/* The client in control, or NULL. */
struct peer *peer_in_control(const struct server *server);

#endif
