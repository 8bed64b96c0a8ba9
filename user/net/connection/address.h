/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of servers: unix:/path, host:port, [v6]:port, host, or :port. */
#ifndef MTRACE_NET_CONNECTION_ADDRESS_H
#define MTRACE_NET_CONNECTION_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"
#include "net/connection/address_list.h"

#define ADDRESS_TEXT_SIZE 128

/*
 * Parses an address and resolves its name. `port` is the default port. The default host is the
 * loopback. Returns 0, or -errno with a message in *err.
 */
int address_find(struct addresses *ret_addresses, const char *words, unsigned int port,
		 struct error *err);
/* Extracts the host, without brackets and port; "localhost" if there is none. Returns `host`. */
#define ADDRESS_HOST_SIZE 256
const char *address_host(const char *words, char host[ADDRESS_HOST_SIZE]);
bool address_is_unix(const struct address *address);
bool address_is_loopback(const struct address *address);
/* Numbers that limits count by: one for each IPv4 address, for each IPv6 network of 64 bits (a host
 * can choose the other 64), and for each user of a UNIX socket. */
uint64_t address_origin(const struct sockaddr *where);
uint64_t address_user_origin(uid_t uid);
/* Formats an address: "unix:/path", "127.0.0.1:4576", "[::1]:4576". Returns `text`. */
const char *address_text(const struct address *address, char text[ADDRESS_TEXT_SIZE]);

/*
 * Opens a non-blocking listening socket and sets *address to the address that it is bound to. The
 * file of a UNIX socket is accessible only by us; it replaces a file that nobody listens on.
 * Returns 0 or -errno.
 */
int address_listen(struct address *address, int *ret_fd);
/* Starts a non-blocking connect; the socket becomes writable when it is connected. Returns 0 or
 * -errno. */
int address_connect(const struct address *address, int *ret_fd);
/* Enables keepalive (to detect a dead peer) and disables Nagle's algorithm. */
void socket_tune(int fd);

#endif
