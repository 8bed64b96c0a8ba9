/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Host header of a request. A web page can point its own name to this machine (DNS rebinding)
 * and so make a visitor's browser read the metrics. Such a request still has the page's name, which
 * is none of ours.
 */
#ifndef MTRACE_NET_HTTP_HOST_H
#define MTRACE_NET_HTTP_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "net/connection/address.h"

#define HOST_NAMES_MAX 32

struct host_names {
	char names[HOST_NAMES_MAX][ADDRESS_HOST_SIZE];
	size_t count;
};

/* Adds a name, if there is room for it. */
void host_names_add(struct host_names *names, const char *name);
/* Adds localhost, this machine's name with and without its domain, and the name in `where`, which
 * is ADDR:PORT or PORT. Asks no server. */
void host_names_find(struct host_names *names, const char *where);
/* Adds the names in `list`, NAME[,NAME…]. Returns 0, or -EINVAL with a message in *err. */
int host_names_allow(struct host_names *names, const char *list, struct error *err);
/* Returns true if the header is an IP address or one of the names, with or without a port. */
bool host_is_ours(const struct host_names *names, const char *header);

#endif
