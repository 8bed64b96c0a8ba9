/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The header Accept of a request. */
#ifndef MTRACE_NET_HTTP_ACCEPT_H
#define MTRACE_NET_HTTP_ACCEPT_H

/* Does a client that sent this header prefer OpenMetrics to plain text? */
int http_wants_openmetrics(const char *accept);

#endif
