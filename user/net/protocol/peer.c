// SPDX-License-Identifier: GPL-2.0-or-later
/* One connection of a server, from accept to close. */
#include "net/protocol/peer.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/protocol/checkpoint.h"

#define NS_PER_SECOND 1000000000ULL
#define PUMP_MAX      (1u << 20) /* maximum number of bytes for one peer per turn of the loop */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static void wait_hello(struct peer *peer)
{
	peer->deadline_ns = now_ns() + peer->server->config.hello_ns;
}

static void wait_progress(struct peer *peer)
{
	peer->deadline_ns = now_ns() + peer->server->config.stall_ns;
}

static void count(struct peer *peer, enum server_count what)
{
	peer->server->counts[what]++;
}

static void report_peer(const struct peer *peer, const char *what)
{
	const struct server_config *config = &peer->server->config;

	config->report_peer(config->ctx, peer->name, what);
}

struct peer *peer_in_control(const struct server *server)
{
	struct peer **peer;

	vec_each (peer, &server->peers)
		if ((*peer)->control)
			return *peer;
	return NULL;
}

unsigned int peers_clients(const struct server *server)
{
	unsigned int clients = 0;
	struct peer **peer;

	vec_each (peer, &server->peers)
		clients += (*peer)->state == PEER_CLIENT ||
			   ((*peer)->state == PEER_LEAVING && (*peer)->whole);
	return clients;
}

/* Gives control to the oldest client if nobody has it. */
static void pass_control(struct server *server)
{
	struct peer **peer;

	if (peer_in_control(server))
		return;
	vec_each (peer, &server->peers) {
		if ((*peer)->state == PEER_CLIENT) {
			(*peer)->control = true;
			return;
		}
	}
}

void peer_kill(struct peer *peer)
{
	bool was_client = peer->state == PEER_CLIENT;

	if (peer->state == PEER_DEAD)
		return;
	loop_remove(peer->server->config.loop, peer->watch);
	peer->watch = NULL;
	channel_close(&peer->channel);
	checkpoint_drop(peer->server, peer->checkpoint);
	peer->checkpoint = NULL;
	peer->state = PEER_DEAD;
	peer->control = false;
	if (was_client)
		report_peer(peer, "disconnected");
	pass_control(peer->server);
}

static void refuse(struct peer *peer, enum server_count why)
{
	count(peer, why);
	peer_kill(peer);
}

void peers_bury(struct server *server)
{
	size_t kept = 0;

	for (size_t i = 0; i < server->peers.count; i++) {
		struct peer *peer = server->peers.items[i];

		if (peer->state == PEER_DEAD)
			free(peer);
		else
			server->peers.items[kept++] = peer;
	}
	server->peers.count = kept;
}

/* Everything is sent. Closes our side and waits for the peer to close its side. */
static void leave(struct peer *peer)
{
	peer->state = PEER_LEAVING;
	peer->control = false;
	peer->out_done = peer->out_count; /* from now on, take_input() waits for the end */
	peer->channel.ops->end(&peer->channel);
	wait_hello(peer);
	pass_control(peer->server);
}

/* The requested data is no longer kept. Returns true if a checkpoint can replace it. */
static bool take_model(struct peer *peer, const struct handshake_request *request)
{
	if (!request->takes_model || !peer->server->merged)
		return false;
	peer->checkpoint = checkpoint_take(peer->server);
	return peer->checkpoint;
}

static enum handshake_status handshake_status_of(struct peer *peer,
						 const struct handshake_request *request)
{
	const struct server *server = peer->server;

	if (peer->proves && !request_is_proven(peer->in, &server->config.token, peer->greeting))
		return HANDSHAKE_WRONG_PROOF;
	if (request->trace && request->trace != server->trace)
		return HANDSHAKE_OTHER_TRACE;
	if (peers_clients(server) >= CLIENTS_MAX)
		return HANDSHAKE_FULL;
	if (request->offset > server->backlog.end ||
	    (request->offset < server->backlog.begin && !take_model(peer, request)))
		return HANDSHAKE_GONE;
	return HANDSHAKE_WELCOME;
}

static const enum server_count refusals[HANDSHAKE_STATUS_COUNT] = {
	[HANDSHAKE_WRONG_PROOF] = SERVER_STRANGERS,
	[HANDSHAKE_OTHER_TRACE] = SERVER_LATE,
	[HANDSHAKE_GONE] = SERVER_LATE,
	[HANDSHAKE_FULL] = SERVER_CROWDED,
};

static void welcome(struct peer *peer, uint64_t offset, uint64_t wanted)
{
	peer->state = PEER_CLIENT;
	peer->offset = offset;
	pass_control(peer->server);
	wait_progress(peer);
	if (peer->checkpoint)
		report_peer(peer, wanted ? "reconnected and receives the model"
					 : "connected and receives the model");
	else
		report_peer(peer, wanted ? "reconnected" : "connected");
}

static void answer(struct peer *peer, const struct handshake_request *request)
{
	static const struct handshake_token none;
	struct handshake_answer answer = {
		.status = handshake_status_of(peer, request),
		.trace = peer->server->trace,
		.offset = request->offset,
		.comes_back = peer->server->merged,
		.scans = peer->server->config.scan,
	};

	if (peer->checkpoint)
		answer.offset = peer->checkpoint->resume;
	if (answer.status == HANDSHAKE_WELCOME)
		welcome(peer, answer.offset, request->offset);
	answer.control = peer->control;
	answer.has_checkpoint = peer->checkpoint;
	answer_pack(peer->out, &answer, peer->proves ? &peer->server->config.token : &none,
		    peer->in);
	peer->out_count = ANSWER_SIZE;
	peer->out_done = 0;
	peer->in_count = 0;
	if (answer.status == HANDSHAKE_WELCOME)
		return;
	count(peer, refusals[answer.status]);
	if (peer->channel.ops->write(&peer->channel, peer->out, peer->out_count) ==
	    (ssize_t)peer->out_count)
		leave(peer);
	else
		peer_kill(peer);
}

/* A stranger's request is processed only after all of it has arrived. */
static void take_request(struct peer *peer)
{
	struct handshake_request request;

	if (request_unpack(peer->in, &request))
		refuse(peer, SERVER_NONSENSE);
	else
		answer(peer, &request);
}

static void take_order(struct peer *peer)
{
	const struct server_config *config = &peer->server->config;
	struct handshake_order order;

	peer->in_count = 0;
	if (order_unpack(peer->in, &order) || ++peer->orders > ORDERS_MAX)
		refuse(peer, SERVER_NONSENSE);
	else if (order.kind == ORDER_SCAN && config->scan)
		config->scan(config->ctx, &order, peer->control);
	else if (order.kind == ORDER_END && peer->control)
		config->end(config->ctx);
}

static size_t message_size(const struct peer *peer)
{
	return peer->state == PEER_WAITING ? REQUEST_SIZE : ORDER_SIZE;
}

/* The peer has closed its side. By that, a leaving peer confirms that everything has arrived. */
static void take_end(struct peer *peer)
{
	if (peer->whole)
		count(peer, SERVER_DELIVERED);
	peer_kill(peer);
}

/*
 * Reads until nothing is left, but not before the pending message is sent. Input of a leaving peer
 * is discarded, and limited as well.
 */
static void take_input(struct peer *peer)
{
	unsigned int spare = ORDERS_MAX;

	while (peer->state != PEER_DEAD && peer->out_done == peer->out_count && spare--) {
		size_t wanted = message_size(peer) - peer->in_count;
		ssize_t got =
			peer->channel.ops->read(&peer->channel, peer->in + peer->in_count, wanted);

		if (got == -EAGAIN)
			return;
		if (got <= 0) {
			take_end(peer);
			return;
		}
		peer->in_count += (size_t)got;
		if (peer->in_count < message_size(peer))
			continue;
		if (peer->state == PEER_WAITING)
			take_request(peer);
		else if (peer->state == PEER_CLIENT)
			take_order(peer);
		else
			peer->in_count = 0;
	}
	if (peer->state != PEER_DEAD && peer->out_done == peer->out_count)
		refuse(peer, SERVER_NONSENSE);
}

/* Finds the next bytes to send. Returns 0 if there are none for now. */
static size_t next_bytes(const struct peer *peer, const uint8_t **ret_bytes)
{
	if (peer->out_done < peer->out_count) {
		*ret_bytes = peer->out + peer->out_done;
		return peer->out_count - peer->out_done;
	}
	if (peer->state != PEER_CLIENT)
		return 0;
	if (peer->checkpoint)
		return backlog_at(&peer->checkpoint->bytes, peer->checkpoint_done, ret_bytes);
	return backlog_at(&peer->server->backlog, peer->offset, ret_bytes);
}

static void checkpoint_sent(struct peer *peer, size_t size)
{
	peer->checkpoint_done += size;
	if (peer->checkpoint_done < peer->checkpoint->bytes.end)
		return;
	checkpoint_drop(peer->server, peer->checkpoint);
	peer->checkpoint = NULL;
}

static void sent(struct peer *peer, size_t size)
{
	if (peer->out_done < peer->out_count)
		peer->out_done += size;
	else if (peer->checkpoint)
		checkpoint_sent(peer, size);
	else
		peer->offset += size;
	if (peer->state == PEER_CLIENT)
		wait_progress(peer);
}

bool peer_pump(struct peer *peer)
{
	const uint8_t *bytes = NULL;
	size_t left = PUMP_MAX, size;

	if (peer->state != PEER_WAITING && peer->state != PEER_CLIENT)
		return false;
	while ((size = next_bytes(peer, &bytes))) {
		ssize_t done;

		if (!left)
			return true;
		done = peer->channel.ops->write(&peer->channel, bytes, size < left ? size : left);
		if (done == -EAGAIN)
			return false;
		if (done < 0) {
			peer_kill(peer);
			return false;
		}
		left -= (size_t)done;
		sent(peer, (size_t)done);
	}
	if (peer->state == PEER_CLIENT)
		wait_progress(peer); /* a peer that has everything cannot be stalled */
	if (peer->state == PEER_CLIENT && peer->server->ended) {
		peer->whole = true;
		leave(peer);
	}
	return false;
}

void peer_expire(struct peer *peer)
{
	bool idle = peer->state == PEER_CLIENT && !peer->checkpoint &&
		    peer->offset == peer->server->backlog.end;

	if (peer->state == PEER_DEAD || idle || now_ns() < peer->deadline_ns)
		return;
	if (peer->state == PEER_LEAVING)
		peer_kill(peer);
	else
		refuse(peer, SERVER_SILENT);
}

/* The peer does not know that it needs TLS. Tells it so; nothing else is ever sent without TLS. */
static void refuse_plain(struct peer *peer)
{
	struct handshake_greeting greeting = {.wants_tls = true};

	greeting_pack(peer->out, &greeting);
	count(peer, SERVER_STRANGERS);
	if (peer->channel.ops->write(&peer->channel, peer->out, GREETING_SIZE) == GREETING_SIZE)
		leave(peer);
	else
		peer_kill(peer);
}

/* Checks the first byte. Returns 0 if the peer speaks TLS; otherwise -EAGAIN, or -EPROTO if it was
 * refused. */
static int secure(struct peer *peer)
{
	int fd = peer->channel.fd;
	ssize_t got;
	uint8_t first;

	got = recv(fd, &first, sizeof(first), MSG_PEEK);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (got == 1 && request_begins(first)) {
		refuse_plain(peer);
		return -EPROTO;
	}
	peer->secures = false;
	peer->channel = (struct channel){0}; /* tls_channel takes over the socket, or closes it */
	if (!tls_channel(peer->server->config.tls, fd, NULL, &peer->channel))
		return 0;
	peer_kill(peer);
	return -EPROTO;
}

static void shake(struct peer *peer)
{
	struct error err;
	int code;

	if (peer->secures && secure(peer))
		return;
	code = peer->channel.ops->handshake(&peer->channel, &err);
	if (!code)
		peer->state = PEER_WAITING;
	else if (code != -EAGAIN)
		refuse(peer, SERVER_STRANGERS);
}

void peers_pump(struct server *server)
{
	bool more = false;

	for (size_t i = 0; i < server->peers.count; i++)
		more |= peer_pump(server->peers.items[i]);
	if (more)
		peers_pump_soon(server);
}

static void on_soon(void *ctx, uint32_t what)
{
	struct server *server = ctx;

	(void)what;
	loop_remove(server->config.loop, server->soon);
	server->soon = NULL;
	peers_pump(server);
	peers_bury(server);
}

void peers_pump_soon(struct server *server)
{
	if (!server->soon &&
	    loop_add_timer(server->config.loop, 0, 0, on_soon, server, &server->soon))
		server->soon = NULL; /* the tick will do it */
}

static void on_peer(void *ctx, uint32_t what)
{
	struct peer *peer = ctx;
	struct server *server = peer->server;

	(void)what;
	if (peer->state == PEER_SHAKES)
		shake(peer);
	peer_pump(peer);
	if (peer->state != PEER_SHAKES && peer->state != PEER_DEAD)
		take_input(peer);
	if (peer_pump(peer))
		peers_pump_soon(server);
	peers_bury(server);
}

/* Accepts peers of our own user and root: they could trace the program themselves. */
static bool is_friend(int fd, uint64_t *ret_origin)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return false;
	*ret_origin = address_user_origin(peer.uid);
	return peer.uid == geteuid() || !peer.uid;
}

static int greet(struct peer *peer)
{
	struct handshake_greeting greeting = {.wants_proof = peer->proves};

	if (getrandom(greeting.nonce, sizeof(greeting.nonce), 0) != sizeof(greeting.nonce))
		return -EIO;
	greeting_pack(peer->greeting, &greeting);
	memcpy(peer->out, peer->greeting, GREETING_SIZE);
	peer->out_count = GREETING_SIZE;
	return 0;
}

static bool is_stranger(const struct peer *peer)
{
	return peer->state == PEER_SHAKES || peer->state == PEER_WAITING ||
	       (peer->state == PEER_LEAVING && !peer->whole);
}

/* Most clients need much less than this part of the time limit. */
static bool had_time(const struct peer *peer)
{
	uint64_t limit = peer->server->config.hello_ns;

	return now_ns() + limit - limit / 5 >= peer->deadline_ns;
}

/*
 * Returns true if there is room for one more stranger. The newest is refused, so a flood cannot
 * push out a client in the middle of its handshake. One origin cannot take all the room. It cannot
 * hold its share either: its oldest stranger that had time for a handshake yields.
 */
static bool make_room(struct server *server, uint64_t origin)
{
	unsigned int strangers = 0, same = 0;
	struct peer **peer, *oldest = NULL;

	vec_each (peer, &server->peers) {
		if (!is_stranger(*peer))
			continue;
		strangers++;
		if ((*peer)->origin != origin)
			continue;
		same++;
		oldest = oldest || !had_time(*peer) ? oldest : *peer;
	}
	if (same < WAITING_SHARE)
		return strangers < WAITING_MAX;
	if (!oldest)
		return false;
	refuse(oldest, SERVER_CROWDED);
	return true;
}

void peer_new(struct server *server, int fd, const struct address *address)
{
	bool local = address_is_unix(address);
	uint64_t origin = 0;
	struct peer *peer;

	server->counts[SERVER_ACCEPTED]++;
	if (!local) {
		origin = address_origin((const struct sockaddr *)&address->where);
	} else if (!is_friend(fd, &origin)) {
		server->counts[SERVER_STRANGERS]++;
		close(fd);
		return;
	}
	if (!make_room(server, origin)) {
		server->counts[SERVER_CROWDED]++;
		close(fd);
		return;
	}
	peer = calloc(1, sizeof(*peer));
	if (!peer) {
		close(fd);
		return;
	}
	socket_tune(fd);
	peer->server = server;
	peer->origin = origin;
	peer->number = server->counts[SERVER_ACCEPTED];
	peer->proves = !local && server->config.token.size;
	peer->state = PEER_SHAKES;
	wait_hello(peer);
	address_text(address, peer->name);
	peer->channel = channel_plain(fd);
	peer->secures = !local && server->config.tls;
	if (greet(peer) || vec_push(&server->peers, peer)) {
		channel_close(&peer->channel);
		free(peer);
		return;
	}
	if (loop_add_fd(server->config.loop, fd, EPOLLIN | EPOLLOUT | EPOLLET, on_peer, peer,
			&peer->watch))
		refuse(peer, SERVER_CROWDED);
}
