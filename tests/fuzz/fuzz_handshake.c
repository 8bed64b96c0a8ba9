// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages from a peer to a server, and from a server to a client. The first byte selects the form
 * of the rest: single messages, or everything that a peer sends over a socket, with or without a
 * valid request before it.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/socket.h>

#include "net/protocol/peer.h"
#include "net/protocol/server.h"

static void on_peer_report(void *ctx, const char *peer, const char *what)
{
	(void)ctx;
	require(peer && what, "there are words");
}

static void on_end(void *ctx)
{
	(void)ctx;
}

static void feed_messages(const uint8_t *data, size_t size)
{
	const struct handshake_token token = {.bytes = "sixteen bytes or", .size = 16};
	uint8_t bytes[REQUEST_SIZE] = {0}, before[REQUEST_SIZE] = {0};
	struct handshake_greeting greeting;
	struct handshake_request request;
	struct handshake_answer answer;
	struct handshake_order order;

	memcpy(bytes, data, size < sizeof(bytes) ? size : sizeof(bytes));
	greeting_unpack(bytes, &greeting);
	if (!request_unpack(bytes, &request))
		require(!request_is_proven(bytes, &token, before), "nobody guesses a proof");
	if (!answer_unpack(bytes, &answer))
		require(handshake_status_text(answer.status), "what it says has words");
	order_unpack(bytes, &order);
}

static struct server *server_make(struct loop *loop)
{
	const struct server_config config = {
		.loop = loop, .limit = 65536, .report_peer = on_peer_report, .end = on_end};
	struct server *server;
	struct error err;

	require(!server_open(&server, &config, &err), "there is memory");
	require(!server_output(server, "0123456789", 10), "there is more");
	return server;
}

static void feed_server(const uint8_t *data, size_t size, bool polite)
{
	const struct address address = {.where = {.ss_family = AF_UNIX}, .size = 2};
	const struct handshake_token none = {.size = 0};
	const struct handshake_request request = {.offset = size % 12};
	uint8_t greeting[GREETING_SIZE] = {0}, bytes[REQUEST_SIZE];
	struct server *server;
	struct loop *loop;
	int ends[2];

	require(!loop_new(&loop), "there is a loop");
	server = server_make(loop);
	require(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends),
		"there are sockets");
	peer_new(server, ends[0], &address);
	request_pack(bytes, &request, &none, greeting);
	if (polite && send(ends[1], bytes, sizeof(bytes), MSG_NOSIGNAL) < 0)
		require(false, "a request can be sent");
	if (size && send(ends[1], data, size < 60000 ? size : 60000, MSG_NOSIGNAL) < 0)
		require(false, "so can others");
	while (loop_once(loop, 0) > 0)
		;
	close(ends[1]);
	while (loop_once(loop, 0) > 0)
		;
	require(!server_clients(server), "who has gone is no client");
	server_close(server);
	loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	if (data[0] % 3 == 0)
		feed_messages(data + 1, size - 1);
	else
		feed_server(data + 1, size - 1, data[0] % 3 == 1);
	return 0;
}
