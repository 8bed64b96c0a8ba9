/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLS. Both ends have certificates of the same authority. If the program was built without TLS,
 * tls_new fails and says so.
 */
#ifndef MTRACE_NET_CONNECTION_TLS_H
#define MTRACE_NET_CONNECTION_TLS_H

#include <stdbool.h>

#include "base/error.h"
#include "net/connection/channel.h"

struct tls;

struct tls_files {
	const char *cert; /* PEM: our certificate, followed by the intermediate certificates … */
	const char *key;  /* … our private key … */
	const char *ca;   /* … and the CA certificates that we trust */
};

/* Returns 0, or -errno with a message in *err. */
int tls_new(struct tls **ret_tls, const struct tls_files *files, bool server, struct error *err);
void tls_free(struct tls *tls); /* NULL is fine; close all channels first */

/*
 * Creates a TLS channel on the socket, and takes ownership of the socket even on failure. `host` is
 * the name that the peer's certificate must have; NULL accepts any name. Returns 0 or -ENOMEM.
 */
int tls_channel(struct tls *tls, int fd, const char *host, struct channel *ret_channel);

#endif
