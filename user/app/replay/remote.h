/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace that another machine makes, as a source of a session here (connect): what its server
 * tells becomes the session's books. If the connection breaks, it goes on where it was, for as long
 * as --reconnect says; the books have no gap then.
 */
#ifndef MTRACE_APP_REPLAY_REMOTE_H
#define MTRACE_APP_REPLAY_REMOTE_H

#include "app/cli/options.h"
#include "app/scan/scanner.h"
#include "app/session/session.h"
#include "base/error.h"
#include "base/loop.h"

/*
 * Connects, and fills in what the session needs of a source, which its close frees. 0 or -errno
 * with words: no server was there, or it would not have us.
 */
int remote_open(struct session *session, const struct options *options, struct loop *loop,
		struct error *err);
/*
 * Search for leaks where the program runs, with the books that are there: nothing of them is sent.
 * What is found comes with the stream. As scanner_scan; runs the loop meanwhile.
 */
int remote_scan(struct session *session, const struct scan_order *order, size_t *ret_scans,
		struct error *err);
/* Has the trace ended, or is the server lost for good? */
bool remote_is_over(const struct session *session);
/*
 * The trace is not followed any more. Whatever is missing from then on is not ours to tell, but
 * what was missing before is: session->elsewhere has it.
 */
void remote_finish(struct session *session);

#endif
