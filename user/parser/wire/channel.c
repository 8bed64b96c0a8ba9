// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/wire/channel.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/vec.h"
#include "os/process/proc.h"

#define NS_PER_MS 1000000ULL

struct channel_head {
	uint32_t kind;
	uint32_t size; /* of the bytes that follow */
};

/* Room for one descriptor. */
union descriptor_message {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int channel_open(int ends[2])
{
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) ? -errno : 0;
}

/* Rounds up, to avoid busy waiting during the last millisecond. */
static int milliseconds_until(uint64_t deadline_ns)
{
	uint64_t now = clock_now_ns(), left;

	if (deadline_ns == CHANNEL_FOREVER)
		return -1;
	left = deadline_ns > now ? (deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS : 0;
	return left < INT32_MAX ? (int)left : INT32_MAX;
}

static int wait_for(int socket, short events, uint64_t deadline_ns)
{
	struct pollfd poll_fd = {.fd = socket, .events = events};
	int count;

	do {
		count = poll(&poll_fd, 1, milliseconds_until(deadline_ns));
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		return -errno;
	return count ? 0 : -ETIMEDOUT;
}

static int failure(void)
{
	return errno == ECONNRESET ? -EPIPE : -errno;
}

/* Returns the number of bytes sent, or -errno. */
static ssize_t send_some(int socket, struct msghdr *message, uint64_t deadline_ns)
{
	for (;;) {
		ssize_t sent = sendmsg(socket, message, MSG_NOSIGNAL | MSG_DONTWAIT);
		int err;

		if (sent >= 0)
			return sent;
		if (errno != EAGAIN && errno != EINTR)
			return failure();
		err = wait_for(socket, POLLOUT, deadline_ns);
		if (err)
			return err;
	}
}

static int send_all(int socket, struct msghdr *message, uint64_t deadline_ns)
{
	struct iovec *part = message->msg_iov;

	while (message->msg_iovlen) {
		ssize_t sent = send_some(socket, message, deadline_ns);
		size_t left = sent > 0 ? (size_t)sent : 0;

		if (sent < 0)
			return (int)sent;
		message->msg_control = NULL; /* the descriptor went with the first byte */
		message->msg_controllen = 0;
		for (; message->msg_iovlen && left >= part->iov_len; message->msg_iovlen--) {
			left -= part->iov_len;
			message->msg_iov = ++part;
		}
		if (message->msg_iovlen) {
			part->iov_base = (char *)part->iov_base + left;
			part->iov_len -= left;
		}
	}
	return 0;
}

static void attach_descriptor(struct msghdr *message, union descriptor_message *control, int fd)
{
	memset(control, 0, sizeof(*control));
	control->head.cmsg_level = SOL_SOCKET;
	control->head.cmsg_type = SCM_RIGHTS;
	control->head.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&control->head), &fd, sizeof(fd));
	message->msg_control = control;
	message->msg_controllen = sizeof(control->bytes);
}

int channel_send(int socket, uint32_t kind, const struct wire *body, int fd, uint64_t deadline_ns)
{
	struct channel_head head = {.kind = kind, .size = body ? (uint32_t)body->count : 0};
	struct iovec parts[] = {{&head, sizeof(head)}, {body ? body->items : NULL, head.size}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = head.size ? 2 : 1};
	union descriptor_message control;

	if (body && (body->failed || body->count > UINT32_MAX))
		return -ENOMEM;
	if (fd >= 0)
		attach_descriptor(&message, &control, fd);
	return send_all(socket, &message, deadline_ns);
}

static void take_descriptor(struct msghdr *message, int *fd)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);

	if (control && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
	    control->cmsg_len == CMSG_LEN(sizeof(int)) && *fd < 0)
		memcpy(fd, CMSG_DATA(control), sizeof(*fd));
}

/* Receives exactly `size` bytes. A descriptor that comes with them is stored in *fd if that is
 * -1. */
static int receive_all(int socket, void *bytes, size_t size, int *fd, uint64_t deadline_ns)
{
	size_t done = 0;

	while (done < size) {
		union descriptor_message control;
		struct iovec part = {(char *)bytes + done, size - done};
		struct msghdr message = {
			.msg_iov = &part,
			.msg_iovlen = 1,
			.msg_control = *fd < 0 ? &control : NULL,
			.msg_controllen = *fd < 0 ? CMSG_LEN(sizeof(int)) : 0, /* only one */
		};
		ssize_t got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (!got)
			return -EPIPE;
		if (got > 0) {
			take_descriptor(&message, fd);
			done += (size_t)got;
		} else if (errno == EAGAIN) {
			int err = wait_for(socket, POLLIN, deadline_ns);

			if (err)
				return err;
		} else if (errno != EINTR) {
			return failure();
		}
	}
	return 0;
}

int channel_receive(int socket, size_t max, uint64_t deadline_ns, struct frame *ret_frame)
{
	struct frame frame = {.fd = -1};
	struct channel_head head;
	int err = receive_all(socket, &head, sizeof(head), &frame.fd, deadline_ns);

	if (!err && head.size > max)
		err = -EBADMSG;
	if (!err && vec_reserve(&frame.body, head.size))
		err = -ENOMEM;
	if (!err)
		err = receive_all(socket, frame.body.items, head.size, &frame.fd, deadline_ns);
	if (err) {
		frame_free(&frame);
		return err;
	}
	frame.kind = head.kind;
	frame.body.count = head.size;
	*ret_frame = frame;
	return 0;
}

void frame_free(struct frame *frame)
{
	if (frame->fd >= 0)
		close(frame->fd);
	wire_free(&frame->body);
	frame->fd = -1;
}
