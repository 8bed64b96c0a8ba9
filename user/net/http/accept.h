/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Accept header of a request. */
#ifndef MTRACE_NET_HTTP_ACCEPT_H
#define MTRACE_NET_HTTP_ACCEPT_H

/* Returns true if the client prefers OpenMetrics to plain text. */
int http_wants_openmetrics(const char *accept);

#endif
