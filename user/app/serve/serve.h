/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target side of a trace whose model is kept elsewhere (serve): what would be recorded to a
 * file is sent to clients (net/protocol/server.h). When the backlog is full, no model covers its
 * older part and no client has received it, calls are dropped and counted as losses of their
 * processes. Events about processes, mappings and stacks still go in, so that the model is right
 * again once a client catches up.
 */
#ifndef MTRACE_APP_SERVE_SERVE_H
#define MTRACE_APP_SERVE_SERVE_H

#include <stdbool.h>

#include "app/cli/options.h"
#include "app/serve/recorder.h"
#include "base/error.h"
#include "base/loop.h"
#include "net/connection/tls.h"
#include "net/protocol/handshake.h"

struct serve;

/* Listens. Clients receive what the recorder is given. Returns 0 or -errno with a message. */
int serve_open(struct serve **ret_serve, const struct options *options, struct loop *loop,
	       struct recorder **ret_recorder, struct error *err);
void serve_close(struct serve *serve); /* NULL is fine; call it after recorder_close */
/*
 * Sets the function that handles clients' requests: one at a time, and not from within the code
 * that receives them. Clients without control can only request scans, which need an answer. NULL is
 * fine.
 */
typedef void serve_order(void *ctx, const struct handshake_order *order, bool control);
void serve_on_order(struct serve *serve, serve_order *carry_out, void *ctx);
/*
 * A model of everything recorded so far, if there can be one: see server_model. Returns 0 or -errno
 * with a message.
 */
int serve_model(struct serve *serve, const struct model_config *config,
		void (*meanwhile)(void *ctx), void *ctx, struct model **ret_model,
		struct error *err);

/* Returns 0 or the recorder's -errno. */
int serve_event(struct serve *serve, struct recorder *recorder, const struct event *event);
/*
 * With --wait: waits for the first client. Returns -EINTR with a message if `interrupts` becomes
 * readable before.
 */
int serve_await(struct serve *serve, int interrupts, struct error *err);
/*
 * After the end of the recording: waits a while until all clients have received it. If `patient`,
 * waits without limit until one has. Signals end the wait. NULL is fine.
 */
void serve_linger(struct serve *serve, bool patient);

/*
 * The token and TLS settings that the options name for one side of a connection. *ret_tls is NULL
 * without TLS. Returns 0 or -errno with a message.
 */
int serve_arms(const struct options *options, bool server, struct handshake_token *ret_token,
	       struct tls **ret_tls, struct error *err);

#endif
