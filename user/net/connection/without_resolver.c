// SPDX-License-Identifier: GPL-2.0-or-later
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/units.h"
#include "net/connection/resolve.h"

#define LOOPBACK "localhost"

static void add(struct addresses *addresses, const void *where, size_t size)
{
	struct address *address = &addresses->list[addresses->count++];

	memcpy(&address->where, where, size);
	address->size = (socklen_t)size;
}

/* In the same order as getaddrinfo. */
static void add_loopback(struct addresses *addresses, uint16_t port)
{
	const struct sockaddr_in6 six = {.sin6_family = AF_INET6,
					 .sin6_port = htons(port),
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const struct sockaddr_in four = {.sin_family = AF_INET,
					 .sin_port = htons(port),
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	add(addresses, &six, sizeof(six));
	add(addresses, &four, sizeof(four));
}

static bool add_four(struct addresses *addresses, const char *host, uint16_t port)
{
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};

	if (inet_pton(AF_INET, host, &four.sin_addr) != 1)
		return false;
	add(addresses, &four, sizeof(four));
	return true;
}

/* Parses "fe80::1%2": an address and the number of an interface. */
static bool add_six(struct addresses *addresses, const char *host, uint16_t port)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	size_t length = strcspn(host, "%");
	char text[INET6_ADDRSTRLEN];
	uint64_t zone = 0;

	if (length >= sizeof(text))
		return false;
	memcpy(text, host, length);
	text[length] = '\0';
	if (inet_pton(AF_INET6, text, &six.sin6_addr) != 1)
		return false;
	if (host[length] && number_parse(host + length + 1, UINT32_MAX, &zone))
		return false;
	six.sin6_scope_id = (uint32_t)zone;
	add(addresses, &six, sizeof(six));
	return true;
}

int resolve(struct addresses *ret, const char *words, const char *host, uint16_t port,
	    struct error *err)
{
	if (!*host || !strcmp(host, LOOPBACK)) {
		add_loopback(ret, port);
		return 0;
	}
	if (add_four(ret, host, port) || add_six(ret, host, port))
		return 0;
	return error_set(
		err, -EADDRNOTAVAIL,
		"\"%s\": this mtrace-bpf was built without name resolution (use a numeric address)",
		words);
}
