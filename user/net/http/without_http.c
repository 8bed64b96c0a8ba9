/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http/http.h"

#include <errno.h>

int http_open(struct http **ret_http, const struct http_config *config, struct error *err)
{
	(void)ret_http;
	(void)config;
	return error_set(err, -EOPNOTSUPP,
			 "this mtrace-bpf was built without libmicrohttpd, which --prometheus "
			 "needs (use --prometheus-file)");
}

void http_close(struct http *http)
{
	(void)http;
}

const char *http_text(const struct http *http)
{
	(void)http;
	return "";
}
