/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slows down guessing of passwords. After five wrong ones from an address, each further one makes
 * it wait twice as long. The table is bounded; a full one forgets the address with the fewest wrong
 * passwords. An all-zero brake is empty. Origins are those of address_origin().
 */
#ifndef MTRACE_NET_HTTP_BRAKE_H
#define MTRACE_NET_HTTP_BRAKE_H

#include <stdint.h>

#define BRAKE_ORIGINS  64
#define BRAKE_FREE     5  /* wrong passwords before the first wait */
#define BRAKE_WAIT_MAX 64 /* seconds */

struct brake_origin {
	uint64_t origin;
	uint64_t last_ns;  /* time of the last wrong password */
	uint64_t until_ns; /* end of the wait */
	unsigned int wrong;
};

struct brake {
	struct brake_origin origins[BRAKE_ORIGINS];
};

/* Returns how many seconds the origin has to wait before its next try; 0: none. */
unsigned int brake_wait(const struct brake *brake, uint64_t origin, uint64_t now_ns);
/* Records a wrong password. */
void brake_wrong(struct brake *brake, uint64_t origin, uint64_t now_ns);

#endif
