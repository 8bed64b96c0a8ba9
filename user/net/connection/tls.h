/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLS, both ends of which have certificates of one authority. Of a program that was built without
 * it tls_new says so.
 */
#ifndef MTRACE_NET_CONNECTION_TLS_H
#define MTRACE_NET_CONNECTION_TLS_H

#include <stdbool.h>

#include "base/error.h"
#include "net/connection/channel.h"

struct tls;

struct tls_files {
	const char *cert; /* PEM: our certificate, those that it hangs on behind it … */
	const char *key;  /* … its key … */
	const char *ca;   /* … and whom we believe */
};

/* 0 or -errno with words. */
int tls_new(struct tls **ret_tls, const struct tls_files *files, bool server, struct error *err);
void tls_free(struct tls *tls); /* NULL is fine; after all its channels */

/*
 * On the socket, which is the channel's from here on, also if that fails. `host`: whom the peer's
 * certificate must name; NULL: any name. 0 or -ENOMEM.
 */
int tls_channel(struct tls *tls, int fd, const char *host, struct channel *ret_channel);

#endif
