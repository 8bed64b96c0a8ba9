// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/connection/channel.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static int plain_handshake(struct channel *channel, struct error *err)
{
	(void)channel;
	(void)err;
	return 0;
}

static ssize_t result(ssize_t done)
{
	if (done >= 0)
		return done;
	return errno == EINTR ? -EAGAIN : -errno;
}

static ssize_t plain_read(struct channel *channel, void *bytes, size_t size)
{
	return result(recv(channel->fd, bytes, size, 0));
}

static ssize_t plain_write(struct channel *channel, const void *bytes, size_t size)
{
	return result(send(channel->fd, bytes, size, MSG_NOSIGNAL));
}

static void plain_end(struct channel *channel)
{
	shutdown(channel->fd, SHUT_WR);
}

static void plain_close(struct channel *channel)
{
	close(channel->fd);
}

static const struct channel_ops plain_ops = {
	.handshake = plain_handshake,
	.read = plain_read,
	.write = plain_write,
	.end = plain_end,
	.close = plain_close,
};

struct channel channel_plain(int fd)
{
	return (struct channel){.ops = &plain_ops, .fd = fd};
}

void channel_close(struct channel *channel)
{
	if (channel->ops)
		channel->ops->close(channel);
	*channel = (struct channel){0};
}
