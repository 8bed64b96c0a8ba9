/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small HTTP server in the event loop, for clients that read metrics. It supports GET and HEAD,
 * with one request per connection. The cost of clients is bounded: there are limits on the number
 * of connections, on the memory of each and on its duration. If the program was built without
 * libmicrohttpd, http_open fails and says so.
 */
#ifndef MTRACE_NET_HTTP_HTTP_H
#define MTRACE_NET_HTTP_HTTP_H

#include <stddef.h>

#include "base/error.h"
#include "base/loop.h"
#include "net/http/body.h"

#define HTTP_MEMORY (16u << 10) /* per connection, for the request */

struct http;

struct http_answer {
	unsigned int status;
	const char *type;       /* content type */
	struct http_body *body; /* the server releases it; NULL closes the connection */
};

struct http_config {
	struct loop *loop;
	const char *where;     /* ADDR:PORT, or PORT */
	const char *auth_file; /* contains the line user:password; NULL: no authentication */
	const char *tls_files; /* CERT,KEY; NULL: no TLS */
	const char *hosts;     /* NAME,…: more names of ours in the Host header; NULL: none */
	/* accept: the Accept header, or "". */
	void (*answer)(void *ctx, const char *path, const char *accept,
		       struct http_answer *ret_answer);
	void *ctx;
};

/* Returns 0, or -errno with a message in *err. The server uses the strings in the config until it
 * is closed. */
int http_open(struct http **ret_http, const struct http_config *config, struct error *err);
void http_close(struct http *http); /* NULL is fine */
/* The URL, for example "http://127.0.0.1:9100". */
const char *http_text(const struct http *http);

#endif
