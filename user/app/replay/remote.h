/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace on another machine, as the source of a session here (connect): the session builds its
 * model from the server's stream. A broken connection is retried for the duration of --reconnect
 * and resumes where it was, without a gap.
 */
#ifndef MTRACE_APP_REPLAY_REMOTE_H
#define MTRACE_APP_REPLAY_REMOTE_H

#include "app/cli/options.h"
#include "app/scan/scanner.h"
#include "app/session/session.h"
#include "base/error.h"
#include "base/loop.h"

/*
 * Connects and sets the session's source, whose close function frees it. Returns 0, or -errno with
 * the reason in err: no server answered, or it refused us.
 */
int remote_open(struct session *session, const struct options *options, struct loop *loop,
		struct error *err);
/*
 * Scans for leaks on the server, with its own model, which is not sent. The results arrive in the
 * stream. The same as scanner_scan(), but runs the loop while it waits.
 */
int remote_scan(struct session *session, const struct scan_order *order, size_t *ret_scans,
		struct error *err);
/* Returns true if the trace has ended, or the server is gone and will not be retried. */
bool remote_is_over(const struct session *session);
/*
 * Stops following the trace. Later losses are not reported; earlier ones are in
 * session->remote_state.
 */
void remote_finish(struct session *session);

#endif
