/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/process/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int service_notify(const char *state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length = path ? strlen(path) : 0;
	ssize_t sent;
	int fd, code;

	if (!length)
		return 0;
	if (length >= sizeof(address.sun_path) || (*path != '/' && *path != '@'))
		return -EINVAL;
	memcpy(address.sun_path, path, length);
	if (*path == '@') /* an abstract socket name */
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	sent = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	code = sent < 0 ? -errno : 0;
	close(fd);
	return code;
}

uint64_t service_watchdog_ns(void)
{
	const char *period = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t microseconds = period ? strtoull(period, NULL, 10) : 0;

	if (pid && strtol(pid, NULL, 10) != getpid())
		return 0;
	return microseconds < UINT64_MAX / 1000 ? microseconds * 1000 : 0;
}
