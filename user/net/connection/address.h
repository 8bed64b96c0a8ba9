/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a server listens: unix:/path, host:port, [v6]:port, host, or :port. */
#ifndef MTRACE_NET_CONNECTION_ADDRESS_H
#define MTRACE_NET_CONNECTION_ADDRESS_H

#include <stdbool.h>

#include "base/error.h"
#include "net/connection/address_list.h"

#define ADDRESS_TEXT_SIZE 128

/*
 * What the words mean; names are looked up. port: where none is named. Without a host it is the
 * loopback. 0 or -errno with words.
 */
int address_find(struct addresses *ret_addresses, const char *words, unsigned int port,
		 struct error *err);
/* Whom the words name, without brackets and port; "localhost" if nobody. Returns host. */
#define ADDRESS_HOST_SIZE 256
const char *address_host(const char *words, char host[ADDRESS_HOST_SIZE]);
bool address_is_unix(const struct address *address);
bool address_is_loopback(const struct address *address);
/* "unix:/path", "127.0.0.1:4576", "[::1]:4576". Returns text. */
const char *address_text(const struct address *address, char text[ADDRESS_TEXT_SIZE]);

/*
 * A listening socket, non-blocking: of a UNIX one the file is readable by us alone, and takes the
 * place of one that nobody listens at. *address becomes what it is bound to. 0 or -errno.
 */
int address_listen(struct address *address, int *ret_fd);
/* A non-blocking socket that connects; writable when it has. 0 or -errno. */
int address_connect(const struct address *address, int *ret_fd);
/* Notice a peer that is gone without a word, and send at once. */
void socket_tune(int fd);

#endif
