/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http/brake.h"

#include <stdbool.h>

#define NS_PER_SECOND 1000000000ULL
#define FORGET_NS     (600 * NS_PER_SECOND)

/* A forgotten origin has the lowest rank, an origin with many wrong passwords the highest. */
static unsigned int rank_of(const struct brake_origin *one, uint64_t now_ns)
{
	return now_ns - one->last_ns < FORGET_NS ? one->wrong : 0;
}

static bool yields_before(const struct brake_origin *one, const struct brake_origin *other,
			  uint64_t now_ns)
{
	unsigned int rank = rank_of(one, now_ns), other_rank = rank_of(other, now_ns);

	return rank < other_rank || (rank == other_rank && one->last_ns < other->last_ns);
}

unsigned int brake_wait(const struct brake *brake, uint64_t origin, uint64_t now_ns)
{
	for (int i = 0; i < BRAKE_ORIGINS; i++) {
		const struct brake_origin *one = &brake->origins[i];

		if (one->wrong && one->origin == origin && one->until_ns > now_ns)
			return (unsigned int)((one->until_ns - now_ns + NS_PER_SECOND - 1) /
					      NS_PER_SECOND);
	}
	return 0;
}

static struct brake_origin *find(struct brake *brake, uint64_t origin, uint64_t now_ns)
{
	struct brake_origin *found = &brake->origins[0];

	for (int i = 0; i < BRAKE_ORIGINS; i++) {
		struct brake_origin *one = &brake->origins[i];

		if (one->wrong && one->origin == origin)
			return one;
		if (yields_before(one, found, now_ns))
			found = one;
	}
	found->wrong = 0;
	return found;
}

void brake_wrong(struct brake *brake, uint64_t origin, uint64_t now_ns)
{
	struct brake_origin *one = find(brake, origin, now_ns);
	unsigned int wrong = rank_of(one, now_ns) + 1, wait = 0;

	if (wrong >= BRAKE_FREE)
		wait = wrong - BRAKE_FREE < 6 ? 1u << (wrong - BRAKE_FREE) : BRAKE_WAIT_MAX;
	*one = (struct brake_origin){origin, now_ns, now_ns + wait * NS_PER_SECOND, wrong};
}
