/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The target side of a trace whose books are kept elsewhere (serve): what would be recorded into a
 * file goes to clients (net/protocol/server.h). When the backlog is full, there are no books of
 * what is before it, and nobody has got it, calls are left out and counted as losses of their
 * processes; what tells of processes, mappings and stacks still goes in, so that the books are
 * right again when somebody has read it.
 */
#ifndef MTRACE_APP_SERVE_SERVE_H
#define MTRACE_APP_SERVE_SERVE_H

#include <stdbool.h>

#include "app/cli/options.h"
#include "app/serve/recorder.h"
#include "base/error.h"
#include "base/loop.h"
#include "net/connection/tls.h"
#include "net/protocol/talk.h"

struct serve;

/* Listens; what the recorder is given, clients get. 0 or -errno with words. */
int serve_open(struct serve **ret_serve, const struct options *options, struct loop *loop,
	       struct recorder **ret_recorder, struct error *err);
void serve_close(struct serve *serve); /* NULL is fine; after the recorder */
/* Who carries out clients' orders, one after the other; not from within what has told them. Those
 * of a client that is not in control are scans, which want an answer. NULL is fine. */
typedef void serve_order(void *ctx, const struct talk_order *order, bool control);
void serve_on_order(struct serve *serve, serve_order *carry_out, void *ctx);
/* Books of all that was recorded, if there are any: see server_books. 0 or -errno with words. */
int serve_books(struct serve *serve, const struct model_config *config,
		void (*meanwhile)(void *ctx), void *ctx, struct model **ret_model,
		struct error *err);

/* 0 or what the recorder says. */
int serve_event(struct serve *serve, struct recorder *recorder, const struct event *event);
/*
 * If that is wanted: until the first client is there. -EINTR, with words, if `interrupts` becomes
 * readable before.
 */
int serve_await(struct serve *serve, int interrupts, struct error *err);
/*
 * The recording has its end. Until all clients have it, too, for a while; and if `patient`, for
 * ever until one has. Signals end that. NULL is fine.
 */
void serve_linger(struct serve *serve, bool patient);

/* How a side of a connection is armed: the token and TLS that the options name. 0 or -errno with
 * words. tls: NULL if there is to be none. */
int serve_arms(const struct options *options, bool server, struct talk_token *ret_token,
	       struct tls **ret_tls, struct error *err);

#endif
