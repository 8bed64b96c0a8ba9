/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace/tracer/mailbox.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAKE_AGAIN_MS 1

static void *map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(void *memory, size_t size)
{
	if (memory)
		munmap(memory, size);
}

int shared_open(struct shared *shared, uint64_t ring_bytes)
{
	shared->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (shared->bell < 0)
		return -errno;
	shared->mailbox = map(sizeof(*shared->mailbox));
	shared->rows = map(SHARED_ROWS * sizeof(*shared->rows));
	shared->pages = map(SHARED_PAGES * sizeof(*shared->pages));
	shared->registers = map(SHARED_REGISTERS);
	if (!shared->mailbox || !shared->rows || !shared->pages || !shared->registers)
		return -ENOMEM;
	return ring_new(&shared->ring, ring_bytes);
}

void shared_close(struct shared *shared)
{
	unmap(shared->mailbox, sizeof(*shared->mailbox));
	unmap(shared->rows, SHARED_ROWS * sizeof(*shared->rows));
	unmap(shared->pages, SHARED_PAGES * sizeof(*shared->pages));
	unmap(shared->registers, SHARED_REGISTERS);
	ring_close(&shared->ring);
	if (shared->bell >= 0)
		close(shared->bell);
	*shared = (struct shared){.bell = -1};
}

/* Wakes the tracer process until it replies: a signal just before it waits would be lost. */
static void wake(int socket, pid_t tracer_process)
{
	struct pollfd answer = {.fd = socket, .events = POLLIN};

	do {
		kill(tracer_process, WAKE_SIGNAL);
	} while (!poll(&answer, 1, WAKE_AGAIN_MS));
}

int mailbox_ask(struct mailbox *mailbox, int socket, pid_t tracer_process, enum request request,
		pid_t pid)
{
	char byte = 0;
	ssize_t got;

	mailbox->request = request;
	mailbox->pid = pid;
	__atomic_store_n(&mailbox->ringing, 1, __ATOMIC_RELEASE);
	if (send(socket, &byte, 1, MSG_NOSIGNAL) != 1)
		return -EPIPE;
	wake(socket, tracer_process);
	do {
		got = recv(socket, &byte, 1, 0);
	} while (got < 0 && errno == EINTR);
	return got == 1 ? mailbox->answer : -EPIPE;
}

void mailbox_answer(struct mailbox *mailbox, int socket, int answer)
{
	char byte;

	while (recv(socket, &byte, 1, 0) < 0 && errno == EINTR)
		;
	mailbox->answer = answer;
	__atomic_store_n(&mailbox->ringing, 0, __ATOMIC_RELEASE);
	send(socket, &byte, 1, MSG_NOSIGNAL);
}
