/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of an answer, shared by those that are sending it. */
#ifndef MTRACE_NET_HTTP_BODY_H
#define MTRACE_NET_HTTP_BODY_H

#include <stddef.h>

/* Never changed; freed with its last user. */
struct http_body {
	char *bytes; /* malloc'd */
	size_t size;
	unsigned int users;
};

/* Takes the bytes. The body has one user. Returns NULL, and frees the bytes, if out of memory. */
struct http_body *http_body_new(char *bytes, size_t size);
struct http_body *http_body_use(struct http_body *body);
void http_body_release(struct http_body *body); /* NULL is fine */

#endif
