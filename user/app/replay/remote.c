// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/replay/remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/units.h"
#include "net/protocol/client.h"
#include "os/process/proc.h"
#include "source/stream/replay.h"

#define RETRY_NS (500 * 1000000ULL)
#define TURN_MS  50

struct remote {
	struct source source;
	struct session *session;
	struct loop *loop;
	struct replay replay;
	void *reading; /* of replay_stream */
	struct remote_state remote_state;
	struct client_config config;
	char host[ADDRESS_HOST_SIZE];
	struct client *client;
	struct loop_watch *retry;
	uint64_t lost_ns;     /* when the connection was lost; 0: connected */
	bool opened;          /* a connection succeeded before */
	bool comes_back;      /* the server drops slow clients; it sends its model on return */
	struct model *former; /* the model shown while a new one is being received; or NULL */
	bool over;
	struct error broke;     /* why the last connection broke */
	struct error why;       /* why it is over */
	bool scans;             /* the server accepts scan requests */
	uint32_t tag;           /* of the last requested scan … */
	bool answered;          /* … its reply has arrived: */
	uint32_t scanned;       /* number of processes scanned */
	struct error unscanned; /* why the scan failed; code 0: it did not */
	int ready;              /* eventfd: something has changed */
	int failure;            /* first error of the model */
};

static struct remote *remote_of(const struct session *session)
{
	return (struct remote *)session->source;
}

static void wake(struct remote *remote)
{
	const uint64_t one = 1;

	if (write(remote->ready, &one, sizeof(one)) < 0)
		log_debug("cannot wake the loop: %s", strerror(errno));
}

static void be_over(struct remote *remote, const struct error *why)
{
	remote->over = true;
	remote->why = *why;
	wake(remote);
}

/* The last event received gives the current time there. */
static void keep_time(struct remote *remote)
{
	const struct replay *replay = &remote->replay;

	if (replay->model != remote->session->model)
		return; /* this model is from before the reconnect */
	remote->remote_state.now_ns = replay->ended ? replay->taken_ns : replay->last_ns;
	remote->remote_state.taken_at_ms = replay->ended ? replay->taken_at_ms : 0;
}

/*
 * A model that is received as a whole is shown when it is complete. If the connection breaks
 * before, receiving starts over.
 */
static void show_model(struct remote *remote)
{
	const struct replay *replay = &remote->replay;

	remote->config.offset = replay->loading ? 0 : replay->wanted;
	if (!replay->model || replay->loading || remote->session->model == replay->model)
		return;
	remote->session->model = replay->model;
	model_free(remote->former);
	remote->former = NULL;
}

/*
 * Discards what was read and starts over. A model that is being shown stays until it is replaced.
 */
static int read_anew(struct remote *remote)
{
	struct replay *replay = &remote->replay;

	replay_stream.close(remote->reading);
	remote->reading = NULL;
	if (replay->model == remote->session->model)
		remote->former = replay->model;
	else
		model_free(replay->model);
	replay->model = NULL;
	replay->loading = false;
	replay->wanted = 0;
	replay->events = 0;
	replay->first_pid = 0;
	return replay_stream.open(&remote->reading, replay);
}

static int on_bytes(void *ctx, const void *bytes, size_t size)
{
	struct remote *remote = ctx;
	struct error err;
	int code;

	if (remote->failure || remote->over)
		return remote->failure ? remote->failure : -ECANCELED;
	code = replay_stream.read(remote->reading, bytes, size, &err);
	show_model(remote);
	if (!remote->session->report.pid)
		remote->session->report.pid = (pid_t)remote->replay.first_pid;
	keep_time(remote);
	if (code) {
		log_error("cannot read the stream from the server: %s", err.text);
		remote->failure = code;
		return code;
	}
	return remote->replay.damaged ? -EBADMSG : 0;
}

static void order_scan(struct remote *remote, const struct scan_order *order)
{
	const struct handshake_order request = {.kind = ORDER_SCAN,
						.live = order->live,
						.tag = ++remote->tag & HANDSHAKE_TAG_MAX,
						.pid = (uint32_t)order->pid};

	remote->answered = false;
	client_order(remote->client, &request);
}

/* Requests the scan that the options want before the end. */
static void order_end(struct remote *remote)
{
	const struct options *options = remote->session->report.options;
	const struct scan_order scan = {.live = options->scan_mode == SCAN_MODE_LIVE};

	if (options->scan && remote->scans)
		order_scan(remote, &scan);
	client_order(remote->client, &(struct handshake_order){.kind = ORDER_END});
}

static void on_scanned(void *ctx, const struct stream_scanned *scanned)
{
	struct remote *remote = ctx;

	if (scanned->tag != (remote->tag & HANDSHAKE_TAG_MAX) || remote->answered)
		return;
	remote->answered = true;
	remote->scanned = scanned->scans;
	remote->unscanned.code = 0;
	if (scanned->why)
		error_set(&remote->unscanned, -EREMOTEIO, "%s", scanned->why);
	if (scanned->why && remote->session->report.options->end_trace)
		log_warn("no leak scan: %s", scanned->why);
}

/* Why the server cannot reply, or NULL if it can. */
static const char *absence(const struct remote *remote, const char *lost)
{
	if (remote->replay.ended)
		return "the server has ended its trace";
	return remote->over || remote->lost_ns || !remote->client ? lost : NULL;
}

int remote_scan(struct session *session, const struct scan_order *order, size_t *ret_scans,
		struct error *err)
{
	struct remote *remote = remote_of(session);
	const char *absent = absence(remote, "not connected to the server");

	*ret_scans = 0;
	if (absent)
		return error_set(err, -ENOTCONN, "%s", absent);
	if (!remote->scans)
		return error_set(err, -EOPNOTSUPP, "the server does not scan for its clients");
	order_scan(remote, order);
	while (!remote->answered) {
		if (order->given_up && order->given_up(order->ctx))
			return error_set(err, -ECANCELED, "the scan was interrupted");
		absent = absence(remote, "the connection to the server broke");
		if (absent)
			return error_set(err, -ENOTCONN, "%s", absent);
		if (loop_once(remote->loop, TURN_MS) < 0)
			return error_set(err, -EIO, "cannot wait for the server");
	}
	*ret_scans = remote->scanned;
	*err = remote->unscanned;
	return remote->unscanned.code;
}

static void on_open(void *ctx, const struct handshake_answer *answer)
{
	struct remote *remote = ctx;
	const struct options *options = remote->session->report.options;

	if (remote->lost_ns && !options->reconnect_ns && !answer->has_checkpoint) {
		be_over(remote, &remote->broke); /* we were not disconnected for being slow */
		return;
	}
	if (remote->lost_ns)
		log_warn("reconnected to %s%s", remote->replay.name,
			 answer->has_checkpoint ? ", which sends its model" : "");
	if ((answer->has_checkpoint || !answer->offset) && remote->replay.wanted)
		remote->failure = read_anew(remote);
	remote->comes_back = answer->comes_back;
	remote->lost_ns = 0;
	remote->opened = true;
	remote->scans = answer->scans;
	remote->config.trace = answer->trace;
	if (options->end_trace && answer->control)
		order_end(remote);
	else if (options->end_trace)
		log_warn("cannot end the trace: another client is in control");
}

static int start(struct remote *remote)
{
	client_free(remote->client);
	remote->client = NULL;
	return client_new(&remote->client, &remote->config);
}

static void on_retry(void *ctx, uint32_t what)
{
	struct remote *remote = ctx;
	struct error err;

	(void)what;
	loop_remove(remote->loop, remote->retry);
	remote->retry = NULL;
	if (start(remote)) {
		error_set(&err, -ENOMEM, "out of memory");
		be_over(remote, &err);
	}
}

/*
 * Retries only after a first successful connection, and within --reconnect; or once if the server
 * may have disconnected us for being slow. A damaged stream would be damaged again.
 */
static bool may_retry(const struct remote *remote, const struct error *why, bool was_there)
{
	uint64_t patience_ns = remote->session->report.options->reconnect_ns;

	if (!remote->opened || remote->replay.ended || remote->replay.damaged || remote->failure ||
	    why->code == -EACCES)
		return false;
	return (remote->comes_back && was_there) || clock_now_ns() - remote->lost_ns < patience_ns;
}

static void on_over(void *ctx, const struct error *why)
{
	struct remote *remote = ctx;
	bool was_there = remote->opened && !remote->lost_ns;

	if (remote->over)
		return;
	if (was_there)
		remote->lost_ns = clock_now_ns();
	if (was_there)
		remote->broke = *why;
	if (!may_retry(remote, why, was_there)) {
		be_over(remote, remote->broke.code ? &remote->broke : why);
		return;
	}
	if (was_there && remote->session->report.options->reconnect_ns)
		log_warn("the connection to %s broke: %s; retrying", remote->replay.name,
			 why->text);
	if (loop_add_timer(remote->loop, RETRY_NS, 0, on_retry, remote, &remote->retry))
		be_over(remote, why);
}

/* The source operations. */

static int remote_fd(const struct source *source)
{
	return ((const struct remote *)source)->ready;
}

static int remote_drain(struct source *source)
{
	struct remote *remote = (struct remote *)source;
	uint64_t count;

	if (read(remote->ready, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return -errno;
	return remote->failure;
}

static int remote_deliver_losses(struct source *source)
{
	(void)source;
	return 0;
}

static uint32_t remote_live(const struct source *source)
{
	const struct remote *remote = (const struct remote *)source;
	size_t count = 0;
	uint32_t *pids;

	const struct model *model = remote->session->model;

	if (!model || model_pids(model, &pids, &count))
		return 0;
	free(pids);
	return (uint32_t)count;
}

static void remote_detach(struct source *source)
{
	(void)source; /* the server's trace goes on without us */
}

/* The session owns the model, the modules and the parser. */
static void remote_close(struct source *source)
{
	struct remote *remote = (struct remote *)source;

	client_free(remote->client);
	if (remote->replay.model != remote->session->model)
		model_free(remote->replay.model);
	loop_remove(remote->loop, remote->retry);
	tls_free(remote->config.tls);
	if (remote->reading)
		replay_stream.close(remote->reading);
	if (remote->ready >= 0)
		close(remote->ready);
	free(remote);
}

static const struct source_ops remote_ops = {
	.name = "remote",
	.fd = remote_fd,
	.drain = remote_drain,
	.deliver_losses = remote_deliver_losses,
	.live = remote_live,
	.detach = remote_detach,
	.close = remote_close,
};

static int open_replay(struct remote *remote, const struct options *options, struct error *err)
{
	struct session *session = remote->session;
	struct replay *replay = &remote->replay;
	const struct replay_config config = {
		.name = options->program[0],
		.debuginfod = options->debuginfod,
		.sysroot = options->sysroot,
		.binpaths = options->binpaths.items,
		.lists_blocks = report_wants_blocks(options),
	};
	int code = replay_open(replay, &config, err);

	session->modules = replay->modules;
	session->parser = replay->parser;
	session->report.modules = replay->modules;
	session->report.parser = replay->parser;
	session->report.backend = remote_ops.name;
	remote->remote_state.scan = remote_scan;
	session->remote_state = &remote->remote_state;
	replay->scanned = on_scanned;
	replay->ctx = remote;
	remote->answered = true;
	remote->tag = (uint32_t)clock_now_ns() ^ (uint32_t)getpid();
	if (!code && replay_stream.open(&remote->reading, replay))
		code = error_set(err, -ENOMEM, "out of memory");
	return code;
}

static int configure(struct remote *remote, const struct options *options, struct error *err)
{
	struct client_config *config = &remote->config;
	int code;

	config->loop = remote->loop;
	config->open = on_open;
	config->bytes = on_bytes;
	config->over = on_over;
	config->takes_model = true;
	config->host = address_host(options->program[0], remote->host);
	config->ctx = remote;
	code = address_find(&config->addresses, options->program[0], options->port, err);
	return code ? code : serve_arms(options, false, &config->token, &config->tls, err);
}

/* Waits until the connection succeeds or fails. */
static int await(struct remote *remote, struct error *err)
{
	int code = start(remote);

	while (!code && !remote->opened && !remote->over) {
		int called = loop_once(remote->loop, -1);

		code = called < 0 ? called : 0;
	}
	if (!code && remote->opened)
		return 0;
	return error_set(err, code ? code : remote->why.code, "cannot connect to %s: %s",
			 remote->replay.name, code ? strerror(-code) : remote->why.text);
}

int remote_open(struct session *session, const struct options *options, struct loop *loop,
		struct error *err)
{
	struct remote *remote = calloc(1, sizeof(*remote));
	int code;

	if (!remote)
		return error_set(err, -ENOMEM, "out of memory");
	remote->source.ops = &remote_ops;
	remote->session = session;
	remote->loop = loop;
	session->source = &remote->source;
	remote->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = remote->ready < 0 ? error_set_errno(err, -errno, "cannot connect") : 0;
	if (!code)
		code = open_replay(remote, options, err);
	if (!code)
		code = configure(remote, options, err);
	return code ? code : await(remote, err);
}

bool remote_is_over(const struct session *session)
{
	return remote_of(session)->over;
}

void remote_finish(struct session *session)
{
	struct remote *remote = remote_of(session);
	struct replay *replay = &remote->replay;
	char count[UNITS_TEXT_SIZE];
	struct error err;

	if (!session->model)
		return;
	if (remote->reading)
		replay_stream.finish(remote->reading, &err);
	if (!replay->ended && !replay->damaged && remote->over)
		snprintf(replay->incomplete, sizeof(replay->incomplete),
			 "the connection broke after %s events: %s",
			 count_format(replay->events, count), remote->why.text);
	else if (!replay->ended && !replay->damaged)
		replay->incomplete[0] = '\0'; /* we disconnected */
	if (replay->incomplete[0])
		remote->remote_state.incomplete = replay->incomplete;
	keep_time(remote);
}
