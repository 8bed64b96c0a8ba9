/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resolves hosts by name, or only by number if the program is linked statically (STATIC=1), because
 * libc uses shared libraries to look up names.
 */
#ifndef MTRACE_NET_CONNECTION_RESOLVE_H
#define MTRACE_NET_CONNECTION_RESOLVE_H

#include <stdint.h>

#include "base/error.h"
#include "net/connection/address_list.h"

/* An empty host means the loopback. `words` is what the user wrote, for messages. Returns 0, or
 * -errno with a message in *err. */
int resolve(struct addresses *ret_addresses, const char *words, const char *host, uint16_t port,
	    struct error *err);

#endif
