// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/serve/serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "base/map64.h"
#include "base/units.h"
#include "net/protocol/server.h"
#include "os/memory/limit.h"

#define BACKLOG_DEFAULT    (64u << 20)
#define CHECKPOINT_DEFAULT (256u << 20)
#define MEMORY_SHARE       8 /* use at most this fraction of the available memory */
#define LEAVE_NS           (10 * 1000000000ULL)

struct given_order {
	struct handshake_order order;
	bool control;
};

struct serve {
	const struct options *options;
	struct loop *loop;
	struct server *server;
	struct tls *tls;
	struct map64 dropped; /* calls, by pid */
	uint64_t dropped_calls;
	bool stopped; /* the wait is over */
	bool reported_full;
	VEC(struct given_order) orders; /* requests not handled yet … */
	struct loop_watch *soon;        /* … they will be in the next turn of the loop */
	serve_order *carry_out;
	void *ctx;
};

static void on_peer_report(void *ctx, const char *peer, const char *what)
{
	(void)ctx;
	log_info("a client %s: %s", what, peer);
}

static void on_soon(void *ctx, uint32_t what)
{
	struct serve *serve = ctx;
	struct given_order given;

	(void)what;
	loop_remove(serve->loop, serve->soon);
	serve->soon = NULL;
	while (serve->orders.count && serve->carry_out) {
		given = serve->orders.items[0];
		memmove(serve->orders.items, serve->orders.items + 1,
			--serve->orders.count * sizeof(given));
		serve->carry_out(serve->ctx, &given.order, given.control);
	}
}

/* Requests that take long or end the loop are not handled while a client's data is read. */
static void give(struct serve *serve, const struct handshake_order *order, bool control)
{
	if (vec_push(&serve->orders, (struct given_order){*order, control}))
		return;
	if (!serve->soon && loop_add_timer(serve->loop, 0, 0, on_soon, serve, &serve->soon))
		serve->soon = NULL;
}

static void on_scan(void *ctx, const struct handshake_order *order, bool control)
{
	give(ctx, order, control);
}

static void on_end(void *ctx)
{
	give(ctx, &(struct handshake_order){.kind = ORDER_END}, true);
}

int serve_arms(const struct options *options, bool server, struct handshake_token *ret_token,
	       struct tls **ret_tls, struct error *err)
{
	const struct tls_files files = {options->tls_cert, options->tls_key, options->tls_ca};
	int code = 0;

	*ret_tls = NULL;
	*ret_token = (struct handshake_token){0};
	if (options->token_file)
		code = token_read(ret_token, options->token_file, err);
	if (code || (!files.cert && !files.key && !files.ca))
		return code;
	if (!files.cert || !files.key || !files.ca)
		return error_set(err, -EINVAL,
				 "TLS needs all of --tls-cert, --tls-key and --tls-ca");
	return tls_new(ret_tls, &files, server, err);
}

/* Any local user can connect to the loopback address, and anybody to other addresses. */
static int check_arms(const struct address *address, const struct server_config *config,
		      struct error *err)
{
	char text[ADDRESS_TEXT_SIZE];

	if (address_is_unix(address) || config->token.size || config->tls)
		return 0;
	return error_set(err, -EPERM,
			 "anyone could read the trace at %s: use --token-file, or --tls-cert, "
			 "--tls-key and --tls-ca, or --listen unix:/path",
			 address_text(address, text));
}

/* Limits the size to what this machine's memory allows. */
static uint64_t fitting(uint64_t bytes)
{
	uint64_t share = memory_limit() / MEMORY_SHARE;

	return share < bytes ? share : bytes;
}

/* A name may have several addresses; listens on those that this machine has. */
static int listen_all(struct serve *serve, const struct server_config *config, struct error *err)
{
	const char *words = serve->options->listen ? serve->options->listen : "localhost";
	unsigned int listening = 0;
	struct addresses places;
	int code = address_find(&places, words, serve->options->port, err);

	for (size_t i = 0; i < places.count && !code; i++)
		code = check_arms(&places.list[i], config, err);
	if (code)
		return code;
	for (size_t i = 0; i < places.count; i++) {
		int failed = server_listen(serve->server, &places.list[i], err);

		listening += !failed;
		code = failed ? failed : code;
	}
	return listening ? 0 : code;
}

static int open_server(struct serve *serve, struct error *err)
{
	const struct options *options = serve->options;
	struct server_config config = {
		.loop = serve->loop,
		.limit = options->backlog_bytes ? options->backlog_bytes : fitting(BACKLOG_DEFAULT),
		.checkpoint_limit = options->checkpoint_given ? options->checkpoint_bytes
							      : fitting(CHECKPOINT_DEFAULT),
		.report_peer = on_peer_report,
		.end = on_end,
		.scan = on_scan,
		.ctx = serve,
	};
	int code = serve_arms(options, true, &config.token, &config.tls, err);

	serve->tls = config.tls;
	if (!code)
		code = server_open(&serve->server, &config, err);
	if (!code)
		code = listen_all(serve, &config, err);
	return code;
}

int serve_open(struct serve **ret_serve, const struct options *options, struct loop *loop,
	       struct recorder **ret_recorder, struct error *err)
{
	struct serve *serve = calloc(1, sizeof(*serve));
	int code;

	if (!serve)
		return error_set(err, -ENOMEM, "out of memory");
	*serve = (struct serve){.options = options, .loop = loop};
	code = open_server(serve, err);
	if (!code && recorder_open_to(ret_recorder, server_text(serve->server), server_output,
				      serve->server))
		code = error_set(err, -ENOMEM, "out of memory");
	if (code) {
		serve_close(serve);
		return code;
	}
	log_warn("serving at %s%s", server_text(serve->server),
		 options->wait ? ", and waiting for a client" : "");
	*ret_serve = serve;
	return 0;
}

void serve_close(struct serve *serve)
{
	if (!serve)
		return;
	server_close(serve->server);
	loop_remove(serve->loop, serve->soon);
	vec_free(&serve->orders);
	tls_free(serve->tls);
	map64_free(&serve->dropped);
	free(serve);
}

void serve_on_order(struct serve *serve, serve_order *carry_out, void *ctx)
{
	if (!serve)
		return;
	serve->carry_out = carry_out;
	serve->ctx = ctx;
}

int serve_model(struct serve *serve, const struct model_config *config,
		void (*meanwhile)(void *ctx), void *ctx, struct model **ret_model,
		struct error *err)
{
	int code = server_model(serve->server, config, meanwhile, ctx, ret_model);

	if (code == -ENODATA)
		return error_set(err, code, "the server keeps no model: use --checkpoint");
	return code ? error_set_errno(err, code, "cannot copy the server's model") : 0;
}

static uint32_t dropped_of(const struct serve *serve, uint32_t pid)
{
	uint32_t calls = map64_get(&serve->dropped, pid);

	return calls == MAP64_NONE ? 0 : calls;
}

static bool is_call(const struct event *event)
{
	return event->kind == EVENT_ALLOC || event->kind == EVENT_FREE ||
	       event->kind == EVENT_BEGIN || event->kind == EVENT_END;
}

static int drop(struct serve *serve, const struct event *event)
{
	uint32_t calls = dropped_of(serve, event->pid);

	serve->dropped_calls++;
	if (!serve->reported_full)
		log_warn("the backlog is full: events are dropped until a client reads it");
	serve->reported_full = true;
	return calls < MAP64_NONE - 1 ? map64_set(&serve->dropped, event->pid, calls + 1) : 0;
}

/* Records the source's losses plus those of a full backlog. */
static int write_losses(struct serve *serve, struct recorder *recorder, const struct event *event)
{
	struct snapshot_losses losses = *event->losses;
	struct event own = *event;

	losses.events += dropped_of(serve, event->pid);
	own.losses = &losses;
	return recorder_event(recorder, &own);
}

int serve_event(struct serve *serve, struct recorder *recorder, const struct event *event)
{
	if (is_call(event) && server_is_full(serve->server))
		return drop(serve, event);
	if (event->kind == EVENT_LOSSES && serve->dropped_calls)
		return write_losses(serve, recorder, event);
	if (event->kind == EVENT_EXIT && serve->dropped_calls)
		map64_delete(&serve->dropped, event->pid);
	return recorder_event(recorder, event);
}

static void on_stop(void *ctx, uint32_t what)
{
	struct serve *serve = ctx;

	(void)what;
	serve->stopped = true;
}

int serve_await(struct serve *serve, int interrupts, struct error *err)
{
	struct loop_watch *watch;
	int code = 0;

	if (!serve->options->wait)
		return 0;
	code = loop_add_fd(serve->loop, interrupts, EPOLLIN, on_stop, serve, &watch);
	while (!code && !serve->stopped && !server_clients(serve->server)) {
		int called = loop_once(serve->loop, -1);

		code = called < 0 ? called : 0;
	}
	if (code)
		return error_set_errno(err, code, "cannot wait for a client");
	loop_remove(serve->loop, watch);
	return serve->stopped ? error_set(err, -EINTR, "stopped before a client connected") : 0;
}

static bool is_wanted(const struct serve *serve, bool patient)
{
	if (serve->stopped)
		return false;
	return server_clients(serve->server) ||
	       (patient && !server_count(serve->server, SERVER_DELIVERED));
}

static void linger(struct serve *serve, bool patient)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct loop_watch *watches[4] = {NULL};

	for (size_t i = 0; i < 3; i++)
		loop_add_signal(serve->loop, signals[i], on_stop, serve, &watches[i]);
	if (!patient)
		loop_add_timer(serve->loop, LEAVE_NS, 0, on_stop, serve, &watches[3]);
	if (is_wanted(serve, patient) && !server_clients(serve->server))
		log_warn("the trace has ended, waiting for a client to read it (^C discards it)");
	while (is_wanted(serve, patient) && loop_once(serve->loop, -1) >= 0)
		;
	for (size_t i = 0; i < 4; i++)
		loop_remove(serve->loop, watches[i]);
}

void serve_linger(struct serve *serve, bool patient)
{
	char text[SERVER_TEXT_SIZE], lost[UNITS_TEXT_SIZE];

	if (!serve)
		return;
	serve->stopped = false;
	serve->carry_out = NULL; /* no more requests */
	server_end(serve->server);
	linger(serve, patient);
	if (serve->dropped_calls)
		log_warn("%s events dropped: the backlog was full",
			 count_format(serve->dropped_calls, lost));
	log_info("%s", server_summary(serve->server, text));
}
