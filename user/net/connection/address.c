// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/connection/address.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/units.h"
#include "net/connection/resolve.h"
#include "os/file/place.h"

#define UNIX_PREFIX  "unix:"
#define HOST_SIZE    ADDRESS_HOST_SIZE
#define SOCKET_FLAGS (SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)

/* A peer that does not respond is considered dead after IDLE + COUNT * INTERVAL seconds. */
#define KEEP_IDLE     10
#define KEEP_INTERVAL 5
#define KEEP_COUNT    4

static int find_unix(struct addresses *ret, const char *path, struct error *err)
{
	struct sockaddr_un where = {.sun_family = AF_UNIX};

	if (!*path || strlen(path) >= sizeof(where.sun_path))
		return error_set(err, -EINVAL, "\"%s\" is not a socket path of 1 to %zu bytes",
				 path, sizeof(where.sun_path) - 1);
	memcpy(where.sun_path, path, strlen(path));
	ret->count = 1;
	ret->list[0].size = sizeof(where);
	memcpy(&ret->list[0].where, &where, sizeof(where));
	return 0;
}

/* Splits "[v6]:port", "[v6]", "host:port", "host", ":port" or "v6". */
static int split(const char *words, char host[HOST_SIZE], const char **ret_port)
{
	const char *end, *colon = strrchr(words, ':');

	*ret_port = NULL;
	if (*words == '[') {
		end = strchr(++words, ']');
		if (!end || (end[1] && end[1] != ':'))
			return -EINVAL;
		*ret_port = end[1] ? end + 2 : NULL;
	} else if (colon && strchr(words, ':') == colon) {
		end = colon;
		*ret_port = colon + 1;
	} else {
		end = words + strlen(words);
	}
	if (end - words >= HOST_SIZE)
		return -EINVAL;
	memcpy(host, words, (size_t)(end - words));
	host[end - words] = '\0';
	return 0;
}

int address_find(struct addresses *ret, const char *words, unsigned int port, struct error *err)
{
	char host[HOST_SIZE];
	const char *named;
	uint64_t known = port;

	*ret = (struct addresses){0};
	if (!strncmp(words, UNIX_PREFIX, strlen(UNIX_PREFIX)))
		return find_unix(ret, words + strlen(UNIX_PREFIX), err);
	if (split(words, host, &named))
		return error_set(err, -EINVAL,
				 "\"%s\" is not of the form unix:/path, host:port or [v6]:port",
				 words);
	if (named && number_parse(named, UINT16_MAX, &known))
		return error_set(err, -EINVAL, "\"%s\": the port is not a number from 0 to 65535",
				 words);
	return resolve(ret, words, host, (uint16_t)known, err);
}

const char *address_host(const char *words, char host[ADDRESS_HOST_SIZE])
{
	const char *port;

	if (split(words, host, &port) || !*host)
		snprintf(host, ADDRESS_HOST_SIZE, "localhost");
	return host;
}

bool address_is_unix(const struct address *address)
{
	return address->where.ss_family == AF_UNIX;
}

bool address_is_loopback(const struct address *address)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)&address->where;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address->where;

	if (address->where.ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return address->where.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

/* IPv6 addresses that begin with ff are multicast, so no peer has one. */
#define FOUR_ORIGIN 0xffffffff00000000ULL
#define USER_ORIGIN 0xfffffffe00000000ULL

uint64_t address_origin(const struct sockaddr *where)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)where;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)where;
	uint64_t network;

	if (where->sa_family == AF_INET)
		return FOUR_ORIGIN | four->sin_addr.s_addr;
	memcpy(&network, &six->sin6_addr, sizeof(network));
	return be64toh(network);
}

uint64_t address_user_origin(uid_t uid)
{
	return USER_ORIGIN | uid;
}

/* A link-local address needs the interface as well. */
static void six_text(const struct sockaddr_in6 *six, char text[ADDRESS_TEXT_SIZE])
{
	char host[INET6_ADDRSTRLEN] = "?", zone[16] = "";

	inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
	if (six->sin6_scope_id)
		snprintf(zone, sizeof(zone), "%%%u", six->sin6_scope_id);
	snprintf(text, ADDRESS_TEXT_SIZE, "[%s%s]:%u", host, zone, ntohs(six->sin6_port));
}

static void four_text(const struct sockaddr_in *four, char text[ADDRESS_TEXT_SIZE])
{
	char host[INET_ADDRSTRLEN] = "?";

	inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
	snprintf(text, ADDRESS_TEXT_SIZE, "%s:%u", host, ntohs(four->sin_port));
}

const char *address_text(const struct address *address, char text[ADDRESS_TEXT_SIZE])
{
	const struct sockaddr_un *local = (const struct sockaddr_un *)&address->where;

	if (address_is_unix(address))
		snprintf(text, ADDRESS_TEXT_SIZE, UNIX_PREFIX "%.108s",
			 address->size > sizeof(sa_family_t) ? local->sun_path : "");
	else if (address->where.ss_family == AF_INET6)
		six_text((const struct sockaddr_in6 *)&address->where, text);
	else
		four_text((const struct sockaddr_in *)&address->where, text);
	return text;
}

static bool nobody_listens(const struct address *address)
{
	int fd = socket(AF_UNIX, SOCKET_FLAGS, 0);
	bool refused;

	if (fd < 0)
		return false;
	refused = connect(fd, (const struct sockaddr *)&address->where, address->size) &&
		  errno == ECONNREFUSED;
	close(fd);
	return refused;
}

/* Removes our own socket file if nobody listens on it. */
static void remove_left_over(const struct address *address)
{
	const struct sockaddr_un *local = (const struct sockaddr_un *)&address->where;
	struct stat status;

	if (lstat(local->sun_path, &status) || !S_ISSOCK(status.st_mode) ||
	    status.st_uid != geteuid() || !nobody_listens(address))
		return;
	(void)place_remove(local->sun_path, status.st_dev, status.st_ino);
}

/* bind(2) gives the file the mode of the socket (unix_bind_bsd() in net/unix/af_unix.c), so
 * others can never connect, and no chmod(2) by name could hit another file. */
static int bind_unix(int fd, const struct address *address)
{
	remove_left_over(address);
	return fchmod(fd, 0600) || bind(fd, (const struct sockaddr *)&address->where, address->size)
		       ? -errno
		       : 0;
}

static int bind_inet(int fd, const struct address *address)
{
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address->where.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	return bind(fd, (const struct sockaddr *)&address->where, address->size) ? -errno : 0;
}

int address_listen(struct address *address, int *ret_fd)
{
	int fd = socket(address->where.ss_family, SOCKET_FLAGS, 0);
	struct address bound = {.size = sizeof(bound.where)};
	int code;

	if (fd < 0)
		return -errno;
	code = address_is_unix(address) ? bind_unix(fd, address) : bind_inet(fd, address);
	if (!code && listen(fd, SOMAXCONN))
		code = -errno;
	if (!code && getsockname(fd, (struct sockaddr *)&bound.where, &bound.size))
		code = -errno;
	if (code) {
		close(fd);
		return code;
	}
	*address = bound;
	*ret_fd = fd;
	return 0;
}

int address_connect(const struct address *address, int *ret_fd)
{
	int fd = socket(address->where.ss_family, SOCKET_FLAGS, 0);
	int code;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address->where, address->size) &&
	    errno != EINPROGRESS) {
		code = -errno;
		close(fd);
		return code;
	}
	socket_tune(fd);
	*ret_fd = fd;
	return 0;
}

void socket_tune(int fd)
{
	unsigned int patience_ms = 1000 * (KEEP_IDLE + KEEP_COUNT * KEEP_INTERVAL);
	int on = 1, idle = KEEP_IDLE, interval = KEEP_INTERVAL, count = KEEP_COUNT;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience_ms, sizeof(patience_ms));
}
