// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/protocol/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#define NS_PER_SECOND 1000000000ULL
#define READ_SIZE     (64u << 10)
#define READS_MAX     16 /* per turn of the loop */

enum state { CLIENT_CONNECTS, CLIENT_SHAKES, CLIENT_GREETING, CLIENT_ANSWER, CLIENT_STREAM };

struct client {
	struct client_config config;
	enum state state;
	size_t next; /* index of the next address to try */
	struct channel channel;
	int connecting; /* the socket until the channel owns it, else -1 */
	struct loop_watch *watch;
	struct loop_watch *patience;
	struct loop_watch *again; /* a timer that is pending when READS_MAX did not read everything,
				     or at the start */
	uint8_t in[READ_SIZE];
	size_t in_count;
	uint8_t out[REQUEST_SIZE]; /* the request; needed to check the answer */
	size_t out_done;
	struct error err;
};

static void on_ready(void *ctx, uint32_t what);

static void disconnect(struct client *client)
{
	loop_remove(client->config.loop, client->watch);
	loop_remove(client->config.loop, client->again);
	client->watch = client->again = NULL;
	channel_close(&client->channel);
	if (client->connecting >= 0) {
		struct channel channel = channel_plain(client->connecting);

		channel_close(&channel);
		client->connecting = -1;
	}
}

/* The callback may free the client, so do not use it afterwards. */
static void finish(struct client *client)
{
	struct error why = client->err;

	disconnect(client);
	loop_remove(client->config.loop, client->patience);
	client->patience = NULL;
	client->config.over(client->config.ctx, &why);
}

/* Starts to connect to the next address for which that works. Returns 0, or the error of the last
 * one. */
static int connect_next(struct client *client)
{
	int code = client->err.code ? client->err.code : -EADDRNOTAVAIL;

	while (client->next < client->config.addresses.count) {
		const struct address *address = &client->config.addresses.list[client->next++];

		code = address_connect(address, &client->connecting);
		if (!code)
			code = loop_add_fd(client->config.loop, client->connecting,
					   EPOLLIN | EPOLLOUT | EPOLLET, on_ready, client,
					   &client->watch);
		if (!code)
			return 0;
		error_set(&client->err, code, "%s", strerror(-code));
		disconnect(client);
	}
	return code;
}

/* Whatever cannot be sent now is sent with the rest of the request. */
static void send_request_start(struct client *client)
{
	ssize_t done;

	request_begin(client->out);
	done = client->channel.ops->write(&client->channel, client->out, REQUEST_START);
	client->out_done = done > 0 ? (size_t)done : 0;
}

/* Returns 0 or -errno; -EAGAIN if still connecting, possibly to the next address. */
static int take_connection(struct client *client)
{
	const struct address *address = &client->config.addresses.list[client->next - 1];
	int fd = client->connecting, failed = 0, code;
	struct sockaddr_storage peer;
	socklen_t size = sizeof(failed), peer_size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size))
		failed = errno;
	if (!failed && getpeername(fd, (struct sockaddr *)&peer, &peer_size))
		return -EAGAIN;
	if (failed) {
		error_set(&client->err, -failed, "%s", strerror(failed));
		disconnect(client);
		code = connect_next(client);
		return code ? code : -EAGAIN;
	}
	client->connecting = -1;
	client->state = CLIENT_SHAKES;
	if (client->config.tls && !address_is_unix(address))
		return tls_channel(client->config.tls, fd, client->config.host, &client->channel);
	client->channel = channel_plain(fd);
	if (!address_is_unix(address))
		send_request_start(client);
	return 0;
}

static int take_greeting(struct client *client)
{
	struct handshake_request request = {.trace = client->config.trace,
					    .offset = client->config.offset,
					    .takes_model = client->config.takes_model};
	struct handshake_greeting greeting;
	int code = greeting_unpack(client->in, &greeting);

	if (code)
		return error_set(&client->err, -EACCES, "%s",
				 code == -EPROTONOSUPPORT ? "it speaks another protocol version"
							  : "it is not an mtrace-bpf server");
	if (greeting.wants_tls)
		return error_set(&client->err, -EACCES,
				 "it requires TLS (use --tls-cert, --tls-key and --tls-ca)");
	if (greeting.wants_proof && !client->config.token.size)
		return error_set(&client->err, -EACCES, "it requires a token (use --token-file)");
	if (getrandom(request.nonce, sizeof(request.nonce), 0) != sizeof(request.nonce))
		return error_set(&client->err, -EIO, "no random numbers available");
	request_pack(client->out, &request, &client->config.token, client->in);
	client->state = CLIENT_ANSWER;
	return 0;
}

/* Returns true if the server has proven that it knows the token. That is not needed without a token
 * and on a UNIX socket; and a server that rejects our proof sends none. */
static bool is_known(const struct client *client, const struct handshake_answer *answer)
{
	const struct address *address = &client->config.addresses.list[client->next - 1];

	if (!client->config.token.size || address_is_unix(address) ||
	    answer->status == HANDSHAKE_WRONG_PROOF)
		return true;
	return answer_is_proven(client->in, &client->config.token, client->out);
}

static int take_answer(struct client *client)
{
	struct handshake_answer answer;
	int code = answer_unpack(client->in, &answer);

	if (code)
		return error_set(&client->err, -EACCES, "its reply is invalid");
	if (!is_known(client, &answer))
		return error_set(&client->err, -EACCES, "it does not know the token");
	if (answer.status != HANDSHAKE_WELCOME)
		return error_set(&client->err, -EACCES, "%s", handshake_status_text(answer.status));
	if ((answer.has_checkpoint ? !client->config.takes_model
				   : answer.offset != client->config.offset) ||
	    !answer.trace || (client->config.trace && answer.trace != client->config.trace))
		return error_set(&client->err, -EACCES, "its reply is invalid");
	client->state = CLIENT_STREAM;
	loop_remove(client->config.loop, client->patience);
	client->patience = NULL;
	client->config.open(client->config.ctx, &answer);
	return 0;
}

/* Number of bytes to read for the next message. The stream is read in any amount. */
static size_t message_room(const struct client *client)
{
	if (client->state == CLIENT_GREETING)
		return GREETING_SIZE - client->in_count;
	return client->state == CLIENT_ANSWER ? ANSWER_SIZE - client->in_count : READ_SIZE;
}

static int take_message(struct client *client)
{
	int code;

	if (client->state == CLIENT_STREAM) {
		code = client->config.bytes(client->config.ctx, client->in, client->in_count);
		if (code && !client->err.code)
			error_set(&client->err, code, "%s", strerror(-code));
	} else if (message_room(client)) {
		return 0;
	} else {
		code = client->state == CLIENT_GREETING ? take_greeting(client)
							: take_answer(client);
	}
	client->in_count = 0;
	return code;
}

static int send_request(struct client *client)
{
	while (client->state == CLIENT_ANSWER && client->out_done < REQUEST_SIZE) {
		ssize_t done =
			client->channel.ops->write(&client->channel, client->out + client->out_done,
						   REQUEST_SIZE - client->out_done);

		if (done < 0)
			return (int)done;
		client->out_done += (size_t)done;
	}
	return 0;
}

static void on_again(void *ctx, uint32_t what)
{
	struct client *client = ctx;

	loop_remove(client->config.loop, client->again);
	client->again = NULL;
	on_ready(client, what);
}

/* Returns -EAGAIN when there is nothing more for now. */
static int read_all(struct client *client)
{
	int code = 0;

	for (int i = 0; i < READS_MAX && !code; i++) {
		ssize_t got;

		code = send_request(client);
		if (code && code != -EAGAIN)
			return code;
		got = client->channel.ops->read(&client->channel, client->in + client->in_count,
						message_room(client));
		if (got < 0)
			return (int)got;
		if (!got)
			return client->state == CLIENT_STREAM ? -ENODATA : -ECONNRESET;
		client->in_count += (size_t)got;
		code = take_message(client);
	}
	if (!code && !client->again)
		code = loop_add_timer(client->config.loop, 0, 0, on_again, client, &client->again);
	return code ? code : -EAGAIN;
}

static int go_on(struct client *client)
{
	int code = 0;

	if (client->state == CLIENT_CONNECTS)
		code = take_connection(client);
	if (!code && client->state == CLIENT_SHAKES) {
		code = client->channel.ops->handshake(&client->channel, &client->err);
		if (!code)
			client->state = CLIENT_GREETING;
	}
	return code ? code : read_all(client);
}

static void on_ready(void *ctx, uint32_t what)
{
	struct client *client = ctx;
	int code = go_on(client);

	(void)what;
	if (code == -EAGAIN)
		return;
	/* In TLS 1.3, the server checks our certificate after our own handshake is complete. */
	if (code == -EPROTO && client->state < CLIENT_STREAM)
		code = error_set(&client->err, -EACCES, "it does not accept our certificate");
	else if (client->err.code != code)
		error_set(&client->err, code, "%s",
			  code == -ENODATA ? "the server closed the connection" : strerror(-code));
	finish(client);
}

static void on_patience_over(void *ctx, uint32_t what)
{
	struct client *client = ctx;

	(void)what;
	error_set(&client->err, -ETIMEDOUT, "no reply");
	finish(client);
}

static void on_start(void *ctx, uint32_t what)
{
	struct client *client = ctx;

	(void)what;
	loop_remove(client->config.loop, client->again);
	client->again = NULL;
	if (connect_next(client))
		finish(client);
}

int client_new(struct client **ret_client, const struct client_config *config)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return -ENOMEM;
	client->config = *config;
	client->connecting = -1;
	if (loop_add_timer(config->loop, ANSWER_SECONDS * NS_PER_SECOND, 0, on_patience_over,
			   client, &client->patience) ||
	    loop_add_timer(config->loop, 0, 0, on_start, client, &client->again)) {
		client_free(client);
		return -ENOMEM;
	}
	*ret_client = client;
	return 0;
}

void client_free(struct client *client)
{
	if (!client)
		return;
	disconnect(client);
	loop_remove(client->config.loop, client->patience);
	free(client);
}

void client_order(struct client *client, const struct handshake_order *order)
{
	uint8_t bytes[ORDER_SIZE];

	order_pack(bytes, order);
	if (client->channel.ops)
		client->channel.ops->write(&client->channel, bytes, sizeof(bytes));
}
