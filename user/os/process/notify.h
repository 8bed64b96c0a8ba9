/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notifies the service manager, in the protocol of systemd's sd_notify(3). */
#ifndef MTRACE_OS_PROCESS_NOTIFY_H
#define MTRACE_OS_PROCESS_NOTIFY_H

#include <stdint.h>

/* Sends `state`, such as "READY=1", to the socket that $NOTIFY_SOCKET names. Returns 0 (also if
 * there is none) or -errno. */
int service_notify(const char *state);
/* The period in which the service manager expects "WATCHDOG=1" from this process, or 0. */
uint64_t service_watchdog_ns(void);

#endif
