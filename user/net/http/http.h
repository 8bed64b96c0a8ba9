/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small HTTP server in the event loop, for those who read metrics: GET and HEAD, one request a
 * connection. What a client can cost is bounded: so many connections, of each so much memory, and
 * all of it for some seconds, whatever it does. Of a program that was built without libmicrohttpd
 * http_open says so.
 */
#ifndef MTRACE_NET_HTTP_HTTP_H
#define MTRACE_NET_HTTP_HTTP_H

#include <stddef.h>

#include "base/error.h"
#include "base/loop.h"
#include "net/http/body.h"

#define HTTP_CONNECTIONS 128
#define HTTP_MEMORY      (16u << 10) /* of a connection, for its request */

struct http;

struct http_answer {
	unsigned int status;
	const char *type;       /* of what it is */
	struct http_body *body; /* the server releases it; NULL: no answer is possible */
};

struct http_config {
	struct loop *loop;
	const char *where;     /* ADDR:PORT, PORT */
	const char *auth_file; /* with the line user:password; NULL: anybody may ask */
	const char *tls_files; /* CERT,KEY; NULL: none */
	/* accept: the header of that name, or "". */
	void (*answer)(void *ctx, const char *path, const char *accept,
		       struct http_answer *ret_answer);
	void *ctx;
};

/* 0 or -errno with words. The config's strings have to outlive it. */
int http_open(struct http **ret_http, const struct http_config *config, struct error *err);
void http_close(struct http *http); /* NULL is fine */
/* "http://127.0.0.1:9100" */
const char *http_text(const struct http *http);

#endif
