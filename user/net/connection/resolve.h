/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up hosts by name, or by number only where the program is linked statically (STATIC=1),
 * because libc looks up names with shared libraries.
 */
#ifndef MTRACE_NET_CONNECTION_RESOLVE_H
#define MTRACE_NET_CONNECTION_RESOLVE_H

#include <stdint.h>

#include "base/error.h"
#include "net/connection/address_list.h"

/* host: "" is the loopback. words: what the user wrote. Returns 0 or -errno with a message. */
int resolve(struct addresses *ret_addresses, const char *words, const char *host, uint16_t port,
	    struct error *err);

#endif
