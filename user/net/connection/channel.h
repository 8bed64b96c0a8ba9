/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One end of a non-blocking connection: a plain socket, or TLS on top of it (tls.h). */
#ifndef MTRACE_NET_CONNECTION_CHANNEL_H
#define MTRACE_NET_CONNECTION_CHANNEL_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct channel;

/* -EAGAIN means that nothing can be done now. When the socket is ready for reading or writing,
 * retry both reads and writes. */
struct channel_ops {
	int (*handshake)(struct channel *channel, struct error *err);
	/* Returns 0 at the end. */
	ssize_t (*read)(struct channel *channel, void *bytes, size_t size);
	ssize_t (*write)(struct channel *channel, const void *bytes, size_t size);
	void (*end)(struct channel *channel); /* announces that nothing more will be written */
	void (*close)(struct channel *channel);
};

struct channel {
	const struct channel_ops *ops; /* NULL if there is no channel */
	int fd;
	void *state;
};

/* Takes ownership of the socket. */
struct channel channel_plain(int fd);
void channel_close(struct channel *channel); /* an all-zero channel is fine */

#endif
