/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a service manager wants to be told, in the protocol of systemd's sd_notify(3). */
#ifndef MTRACE_OS_PROCESS_NOTIFY_H
#define MTRACE_OS_PROCESS_NOTIFY_H

#include <stdint.h>

/* "READY=1" to the socket that $NOTIFY_SOCKET names. 0, also if there is none, or -errno. */
int service_notify(const char *state);
/* How often it wants to hear "WATCHDOG=1" from this process; 0: not at all. */
uint64_t service_watchdog_ns(void);

#endif
