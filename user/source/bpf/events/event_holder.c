/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/events/event_holder.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static _Noreturn void event_holder_main(int lifeline)
{
	char byte;

	setsid();
	if (lifeline > 0)
		close_range(0, (unsigned int)lifeline - 1, 0);
	close_range((unsigned int)lifeline + 1, ~0U, 0);
	while (read(lifeline, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

int probe_event_holder_start(struct probe_event_holder *ret_event_holder)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		event_holder_main(ends[0]);
	}
	close(ends[0]);
	*ret_event_holder = (struct probe_event_holder){pid, ends[1]};
	if (pid > 0)
		return 0;
	close(ends[1]);
	return -EAGAIN;
}
