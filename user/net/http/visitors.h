/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The open connections of the HTTP server. Those of one origin (address_origin()) cannot take all
 * the room: at its limit, a new connection replaces an older one of the same origin.
 */
#ifndef MTRACE_NET_HTTP_VISITORS_H
#define MTRACE_NET_HTTP_VISITORS_H

#include <stdbool.h>
#include <stdint.h>

#define VISITORS_MAX   128
#define VISITORS_SHARE 16 /* connections of one origin */

struct visitor {
	int fd; /* -1 if the slot is free */
	uint64_t origin;
	uint64_t since_ns;
	bool heard; /* the head of its request has arrived */
	bool cut;   /* shut down, but not closed yet */
};

struct visitors {
	struct visitor list[VISITORS_MAX];
};

void visitors_init(struct visitors *visitors);
/* Returns NULL if there is no free slot. Set fd to -1 when the connection is closed. */
struct visitor *visitors_add(struct visitors *visitors, int fd, uint64_t origin, uint64_t now_ns);
/* Makes room for a connection of the origin: shuts down its oldest one that has sent no request,
 * or else its oldest one, if it has VISITORS_SHARE of them. */
void visitors_make_room(struct visitors *visitors, uint64_t origin);
/* Shuts down connections that took too long. */
void visitors_cut_slow(struct visitors *visitors, uint64_t now_ns);

#endif
