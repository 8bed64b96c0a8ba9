/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http/host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

void host_names_add(struct host_names *names, const char *name)
{
	if (*name && strlen(name) < ADDRESS_HOST_SIZE && names->count < HOST_NAMES_MAX)
		strcpy(names->names[names->count++], name);
}

/* The machine's name, and that name in each of the domains that the resolver searches. */
static void add_machine(struct host_names *names)
{
	char host[ADDRESS_HOST_SIZE] = "", full[2 * ADDRESS_HOST_SIZE];

	if (gethostname(host, sizeof(host) - 1))
		return;
	host_names_add(names, host);
	host[strcspn(host, ".")] = '\0';
	host_names_add(names, host);
	if (res_init())
		return;
	for (int i = 0; i < MAXDNSRCH && _res.dnsrch[i] && *host; i++) {
		snprintf(full, sizeof(full), "%s.%s", host, _res.dnsrch[i]);
		host_names_add(names, full);
	}
}

void host_names_find(struct host_names *names, const char *where)
{
	char host[ADDRESS_HOST_SIZE];

	host_names_add(names, "localhost");
	if (strchr(where, ':'))
		host_names_add(names, address_host(where, host));
	add_machine(names);
}

/* Service names may have underscores. A final dot is left out, as that of a header. */
static int allow_name(struct host_names *names, char *name, struct error *err)
{
	static const char characters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_."
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t length = strlen(name), count = names->count;

	if (length && name[length - 1] == '.')
		name[length - 1] = '\0';
	if (!*name || name[strspn(name, characters)])
		return error_set(err, -EINVAL,
				 "--prometheus-host: \"%.80s\" is not a host name (without a port)",
				 name);
	host_names_add(names, name);
	return names->count > count
		       ? 0
		       : error_set(err, -EINVAL, "--prometheus-host: names too long or too many");
}

int host_names_allow(struct host_names *names, const char *list, struct error *err)
{
	char name[ADDRESS_HOST_SIZE + 1];
	size_t size;
	int code = 0;

	for (bool more = true; more && !code; list += size + more) {
		size = strcspn(list, ",");
		more = list[size] == ',';
		snprintf(name, sizeof(name), "%.*s", (int)size, list);
		code = allow_name(names, name, err);
	}
	return code;
}

static bool is_port(const char *text)
{
	return !*text || (*text == ':' && !text[1 + strspn(text + 1, "0123456789")]);
}

static bool is_six(const char *text)
{
	struct in6_addr six;

	return inet_pton(AF_INET6, text, &six) == 1;
}

static bool is_name(const struct host_names *names, const char *text)
{
	for (size_t i = 0; i < names->count; i++)
		if (!strcasecmp(names->names[i], text))
			return true;
	return false;
}

bool host_is_ours(const struct host_names *names, const char *header)
{
	bool bracket = *header == '[';
	size_t size = strcspn(header += bracket, bracket ? "]" : ":");
	const char *port = header + size + (bracket && header[size]);
	char host[ADDRESS_HOST_SIZE];
	struct in_addr four;

	if (size >= sizeof(host) || (bracket && !header[size]) || !is_port(port))
		return false;
	memcpy(host, header, size);
	host[size] = '\0';
	if (bracket)
		return is_six(host);
	if (size && host[size - 1] == '.')
		host[size - 1] = '\0';
	return inet_pton(AF_INET, host, &four) == 1 || is_name(names, host);
}
