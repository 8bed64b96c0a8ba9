/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts by name, or by number only where the program is linked statically (STATIC=1): what libc
 * looks up names with is shared libraries. */
#ifndef MTRACE_NET_CONNECTION_RESOLVE_H
#define MTRACE_NET_CONNECTION_RESOLVE_H

#include <stdint.h>

#include "net/connection/address.h"

/* host: "" is the loopback. words: what the user said. 0 or -errno with words. */
int resolve(struct addresses *ret_addresses, const char *words, const char *host, uint16_t port,
	    struct error *err);

#endif
