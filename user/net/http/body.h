/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The body of a response, shared by the connections that are sending it. */
#ifndef MTRACE_NET_HTTP_BODY_H
#define MTRACE_NET_HTTP_BODY_H

#include <stddef.h>

/* Immutable; freed when the last user releases it. */
struct http_body {
	char *bytes; /* malloc'd */
	size_t size;
	unsigned int users;
};

/* Takes ownership of `bytes`. The new body has one user. If out of memory, frees `bytes` and
 * returns NULL. */
struct http_body *http_body_new(char *bytes, size_t size);
struct http_body *http_body_use(struct http_body *body);
void http_body_release(struct http_body *body); /* NULL is fine */

#endif
