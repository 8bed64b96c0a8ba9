/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One end of a connection, non-blocking: a socket as it is, or TLS on it (tls.h). */
#ifndef MTRACE_NET_CONNECTION_CHANNEL_H
#define MTRACE_NET_CONNECTION_CHANNEL_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct channel;

/* -EAGAIN: not now; both ways are to be tried again when the socket is ready for anything. */
struct channel_ops {
	int (*handshake)(struct channel *channel, struct error *err);
	ssize_t (*read)(struct channel *channel, void *bytes, size_t size); /* 0: the end */
	ssize_t (*write)(struct channel *channel, const void *bytes, size_t size);
	void (*end)(struct channel *channel); /* nothing more will be written */
	void (*close)(struct channel *channel);
};

struct channel {
	const struct channel_ops *ops; /* NULL: there is none */
	int fd;
	void *state;
};

/* The socket is the channel's from here on. */
struct channel channel_plain(int fd);
void channel_close(struct channel *channel); /* zeroed memory is fine */

#endif
