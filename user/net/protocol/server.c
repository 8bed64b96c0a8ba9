// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/protocol/server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/protocol/checkpoint.h"
#include "net/protocol/peer.h"
#include "net/protocol/server_state.h"
#include "os/file/place.h"

#define NS_PER_SECOND 1000000000ULL
#define TICK_NS       NS_PER_SECOND
/* At the limit, calls are dropped. If even other events reach this hard limit, the trace ends. */
#define HARD_LIMIT(limit) (2 * (limit) + (1u << 20))

#define ACCEPT_MAX      16           /* per turn of the loop */
#define CHECKPOINT_TURN (256u << 10) /* bytes merged between calls of `meanwhile` */

static void stop_accepting(struct listener *listener)
{
	loop_remove(listener->server->config.loop, listener->watch);
	listener->watch = NULL;
}

/* An error of accept means that the connection is already gone, or that we are out of resources. */
static void on_accept(void *ctx, uint32_t what)
{
	struct listener *listener = ctx;

	(void)what;
	for (int i = 0; i < ACCEPT_MAX; i++) {
		struct address from = {.size = sizeof(from.where)};
		int fd = accept4(listener->fd, (struct sockaddr *)&from.where, &from.size,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			peer_new(listener->server, fd,
				 address_is_unix(&listener->address) ? &listener->address : &from);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			stop_accepting(listener);
			break;
		} else if (errno == EAGAIN) {
			break;
		}
	}
	peers_bury(listener->server);
}

static int start_accepting(struct listener *listener)
{
	return loop_add_fd(listener->server->config.loop, listener->fd, EPOLLIN, on_accept,
			   listener, &listener->watch);
}

static void on_tick(void *ctx, uint32_t what)
{
	struct server *server = ctx;
	struct listener **listener;

	(void)what;
	for (size_t i = 0; i < server->peers.count; i++)
		peer_expire(server->peers.items[i]);
	vec_each (listener, &server->listeners)
		if (!(*listener)->watch)
			start_accepting(*listener);
	peers_pump(server);
	peers_bury(server);
}

int server_open(struct server **ret_server, const struct server_config *config, struct error *err)
{
	struct server *server = calloc(1, sizeof(*server));
	int code = server ? 0 : -ENOMEM;

	if (!code) {
		server->config = *config;
		if (!config->hello_ns)
			server->config.hello_ns = HELLO_SECONDS * NS_PER_SECOND;
		if (!config->stall_ns)
			server->config.stall_ns = STALL_SECONDS * NS_PER_SECOND;
		if (getrandom(&server->trace, sizeof(server->trace), 0) != sizeof(server->trace))
			code = -EIO;
		server->trace += !server->trace;
	}
	if (!code && config->checkpoint_limit)
		code = merged_model_new(&server->merged, config->checkpoint_limit);
	if (!code)
		code = loop_add_timer(config->loop, TICK_NS, TICK_NS, on_tick, server,
				      &server->tick);
	if (code) {
		if (server)
			merged_model_free(server->merged);
		free(server);
		return error_set_errno(err, code, "cannot serve");
	}
	*ret_server = server;
	return 0;
}

static void listener_close(struct listener *listener)
{
	const struct sockaddr_un *local = (const struct sockaddr_un *)&listener->address.where;

	if (listener->watch)
		stop_accepting(listener);
	if (address_is_unix(&listener->address))
		(void)place_remove(local->sun_path, listener->device, listener->inode);
	close(listener->fd);
	free(listener);
}

void server_close(struct server *server)
{
	struct listener **listener;
	struct peer **peer;

	if (!server)
		return;
	vec_each (peer, &server->peers) {
		loop_remove(server->config.loop, (*peer)->watch);
		channel_close(&(*peer)->channel);
		checkpoint_drop(server, (*peer)->checkpoint);
		free(*peer);
	}
	merged_model_free(server->merged);
	vec_free(&server->peers);
	vec_each (listener, &server->listeners)
		listener_close(*listener);
	vec_free(&server->listeners);
	loop_remove(server->config.loop, server->tick);
	loop_remove(server->config.loop, server->soon);
	backlog_free(&server->backlog);
	free(server);
}

static void name_add(struct server *server, const struct address *address)
{
	char text[ADDRESS_TEXT_SIZE];
	size_t used = strlen(server->text);

	snprintf(server->text + used, sizeof(server->text) - used, "%s%s", used ? " and " : "",
		 address_text(address, text));
}

/* Identifies the socket file, so that listener_close() removes no other. */
static void note_file(struct listener *listener)
{
	const struct sockaddr_un *local = (const struct sockaddr_un *)&listener->address.where;
	struct stat status;

	if (!address_is_unix(&listener->address) || lstat(local->sun_path, &status))
		return;
	listener->device = status.st_dev;
	listener->inode = status.st_ino;
}

int server_listen(struct server *server, const struct address *address, struct error *err)
{
	struct listener *listener = calloc(1, sizeof(*listener));
	char text[ADDRESS_TEXT_SIZE];
	int code;

	if (!listener)
		return error_set(err, -ENOMEM, "out of memory");
	*listener = (struct listener){.server = server, .address = *address};
	code = address_listen(&listener->address, &listener->fd);
	if (code) {
		free(listener);
		return error_set_errno(err, code, "cannot listen on %s",
				       address_text(address, text));
	}
	note_file(listener);
	code = start_accepting(listener);
	if (!code)
		code = vec_push(&server->listeners, listener);
	if (code) {
		listener_close(listener);
		return error_set_errno(err, code, "cannot serve");
	}
	name_add(server, &listener->address);
	return 0;
}

const char *server_text(const struct server *server)
{
	return server->text;
}

/* Disconnects clients that still needed what was discarded. */
static void cut_laggards(struct server *server)
{
	struct peer **peer;

	vec_each (peer, &server->peers) {
		if ((*peer)->state != PEER_CLIENT || (*peer)->offset >= server->backlog.begin)
			continue;
		server->counts[SERVER_LAGGED]++;
		peer_kill(*peer);
	}
}

/* Keeps half of the limit, in case the client in control has to reconnect. */
static void let_go_read(struct server *server)
{
	const struct peer *control = peer_in_control(server);
	struct backlog *backlog = &server->backlog;
	uint64_t from;

	if (!control)
		return;
	from = backlog->end - server->config.limit / 2;
	backlog_discard(backlog, from < control->offset ? from : control->offset);
}

/* Merges the oldest part into the model, but nothing at or after `until`. */
static void merged_model_oldest(struct server *server, uint64_t until)
{
	struct backlog *backlog = &server->backlog;
	const uint8_t *bytes;
	uint64_t from;
	int code = 0;

	while (!code &&
	       backlog->end - merged_model_position(server->merged) > server->config.limit &&
	       merged_model_wanted(server->merged) < until) {
		size_t size;

		from = merged_model_wanted(server->merged);
		size = backlog_at(backlog, from, &bytes);
		code = merged_model_read(server->merged, bytes,
					 size < until - from ? size : (size_t)(until - from));
	}
	from = backlog->end - server->config.limit;
	backlog_discard(backlog, from < merged_model_position(server->merged)
					 ? from
					 : merged_model_position(server->merged));
	if (!code)
		return;
	merged_model_free(server->merged);
	server->merged = NULL;
}

static void keep_bounds(struct server *server, uint64_t before)
{
	if (server->backlog.end - server->backlog.begin <= server->config.limit)
		return;
	if (server->merged)
		merged_model_oldest(server, before);
	else
		let_go_read(server);
	cut_laggards(server);
}

int server_output(void *ctx, const void *bytes, size_t size)
{
	struct server *server = ctx;
	uint64_t before = server->backlog.end, kept = before - server->backlog.begin;
	int code = kept > HARD_LIMIT(server->config.limit)
			   ? -ENOSPC
			   : backlog_add(&server->backlog, bytes, size);

	if (code)
		return code;
	peers_pump(server);
	keep_bounds(server, before);
	return 0;
}

int server_model(struct server *server, const struct model_config *config,
		 void (*meanwhile)(void *ctx), void *ctx, struct model **ret_model)
{
	const uint8_t *bytes;
	uint64_t read = 0;
	size_t size;
	int code = 0;

	while (!code && server->merged &&
	       (size = backlog_at(&server->backlog, merged_model_wanted(server->merged), &bytes))) {
		code = merged_model_read(server->merged, bytes, size);
		read += size;
		if (!code && read >= CHECKPOINT_TURN) {
			read = 0;
			meanwhile(ctx);
		}
	}
	if (!server->merged)
		return -ENODATA;
	return code ? code : merged_model_copy(server->merged, config, ret_model);
}

/* With a model, there is always room: the oldest part is merged into it. */
bool server_is_full(struct server *server)
{
	return !server->merged &&
	       server->backlog.end - server->backlog.begin >= server->config.limit;
}

void server_end(struct server *server)
{
	server->ended = true;
	peers_pump(server);
}

unsigned int server_clients(const struct server *server)
{
	return peers_clients(server);
}

uint64_t server_count(const struct server *server, enum server_count count)
{
	return server->counts[count];
}

const char *server_summary(const struct server *server, char text[SERVER_TEXT_SIZE])
{
	static const char *const names[SERVER_COUNTS] = {
		[SERVER_ACCEPTED] = "connections",
		[SERVER_STRANGERS] = "unauthorized",
		[SERVER_NONSENSE] = "sent invalid data",
		[SERVER_SILENT] = "timed out",
		[SERVER_CROWDED] = "rejected (too many connections)",
		[SERVER_LAGGED] = "disconnected (too slow)",
		[SERVER_LATE] = "too late",
		[SERVER_DELIVERED] = "received everything",
	};
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < SERVER_COUNTS && used < SERVER_TEXT_SIZE; i++)
		if (server->counts[i])
			used += (size_t)snprintf(text + used, SERVER_TEXT_SIZE - used, "%s%llu %s",
						 used ? ", " : "",
						 (unsigned long long)server->counts[i], names[i]);
	return text;
}
