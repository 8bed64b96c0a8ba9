// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/connection/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

int resolve(struct addresses *ret, const char *words, const char *host, uint16_t port,
	    struct error *err)
{
	struct addrinfo *found, *one,
		wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	char number[16];
	int code;

	snprintf(number, sizeof(number), "%u", port);
	code = getaddrinfo(*host ? host : NULL, number, &wanted, &found);
	if (code)
		return error_set(err, -EADDRNOTAVAIL, "\"%s\": %s", words, gai_strerror(code));
	for (one = found; one && ret->count < ADDRESSES_MAX; one = one->ai_next) {
		struct address *address = &ret->list[ret->count++];

		memcpy(&address->where, one->ai_addr, one->ai_addrlen);
		address->size = one->ai_addrlen;
	}
	freeaddrinfo(found);
	return 0;
}
