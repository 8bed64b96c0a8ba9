/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http/body.h"

#include <stdlib.h>

struct http_body *http_body_new(char *bytes, size_t size)
{
	struct http_body *body = malloc(sizeof(*body));

	if (body)
		*body = (struct http_body){bytes, size, 1};
	else
		free(bytes);
	return body;
}

struct http_body *http_body_use(struct http_body *body)
{
	body->users++;
	return body;
}

void http_body_release(struct http_body *body)
{
	if (!body || --body->users)
		return;
	free(body->bytes);
	free(body);
}
