/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Socket addresses. */
#ifndef MTRACE_NET_CONNECTION_ADDRESS_LIST_H
#define MTRACE_NET_CONNECTION_ADDRESS_LIST_H

#include <stddef.h>
#include <sys/socket.h>

#define ADDRESSES_MAX 8

struct address {
	struct sockaddr_storage where;
	socklen_t size;
};

/* The addresses of one host, best first. */
struct addresses {
	struct address list[ADDRESSES_MAX];
	size_t count;
};

#endif
