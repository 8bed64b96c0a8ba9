/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Worker functions of parsers that misbehave if the first file they get is called "bad", and
 * otherwise work normally.
 */
#ifndef MTRACE_TESTS_BAD_PARSERS_H
#define MTRACE_TESTS_BAD_PARSERS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parser/server/server.h"
#include "parser/wire/channel.h"
#include "parser/wire/protocol.h"

static bool is_bad(int socket)
{
	char bytes[4096];
	struct iovec part = {bytes, sizeof(bytes)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t got = recvmsg(socket, &message, MSG_PEEK);

	return got > 0 && memmem(bytes, (size_t)got, "/bad", sizeof("/bad"));
}

static void take_request(int socket)
{
	struct frame frame;

	if (channel_receive(socket, PROTOCOL_REQUEST_MAX, CHANNEL_FOREVER, &frame))
		_exit(EXIT_FAILURE);
	frame_free(&frame);
}

static void work_crash(int socket)
{
	if (is_bad(socket))
		_exit(EXIT_FAILURE);
	server_run(socket);
}

/* Killed by the kernel for a forbidden system call. */
static void work_intrude(int socket)
{
	if (is_bad(socket))
		syscall(SYS_execve, "/bin/true", NULL, NULL);
	server_run(socket);
}

static void work_hang(int socket)
{
	while (is_bad(socket))
		poll(NULL, 0, -1);
	server_run(socket);
}

static void work_half(int socket)
{
	if (is_bad(socket))
		while (write(socket, "\0\0", 2) == 2) /* never a whole frame of a valid length */
			;
	server_run(socket);
}

static void work_endless_answer(int socket)
{
	const uint32_t head[] = {FRAME_DONE, UINT32_MAX};

	if (is_bad(socket)) {
		take_request(socket);
		if (write(socket, head, sizeof(head)) == sizeof(head))
			poll(NULL, 0, -1);
	}
	server_run(socket);
}

static void work_senseless(int socket)
{
	struct wire wire = {0};

	if (is_bad(socket)) {
		take_request(socket);
		wire_put_string(&wire, "what?", 9);
		channel_send(socket, FRAME_DONE, &wire, -1, CHANNEL_FOREVER);
		poll(NULL, 0, -1);
	}
	server_run(socket);
}

/* A needless request for a debug file is not answered. */
static void work_want(int socket)
{
	const struct debug_want want = {.link = "/etc/passwd"};
	struct wire wire = {0};

	if (is_bad(socket)) {
		take_request(socket);
		want_put(&wire, &want);
		channel_send(socket, FRAME_WANT, &wire, -1, CHANNEL_FOREVER);
		poll(NULL, 0, -1);
	}
	server_run(socket);
}

static void (*const works[])(int socket) = {work_crash, work_intrude,        work_hang,
					    work_half,  work_endless_answer, work_senseless,
					    work_want};

#endif
