/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/http/visitors.h"

#include <stddef.h>
#include <sys/socket.h>

#define NS_PER_SECOND 1000000000ULL
#define CROWD_NS      (NS_PER_SECOND / 4)  /* for a request while all connections are in use */
#define WHOLE_NS      (15 * NS_PER_SECOND) /* for a connection, from its first byte to its last */

void visitors_init(struct visitors *visitors)
{
	for (size_t i = 0; i < VISITORS_MAX; i++)
		visitors->list[i] = (struct visitor){.fd = -1};
}

static struct visitor *find_free(struct visitors *visitors)
{
	for (size_t i = 0; i < VISITORS_MAX; i++)
		if (visitors->list[i].fd < 0)
			return &visitors->list[i];
	return NULL;
}

struct visitor *visitors_add(struct visitors *visitors, int fd, uint64_t origin, uint64_t now_ns)
{
	struct visitor *visitor = find_free(visitors);

	if (visitor)
		*visitor = (struct visitor){.fd = fd, .origin = origin, .since_ns = now_ns};
	return visitor;
}

static void cut(struct visitor *visitor)
{
	shutdown(visitor->fd, SHUT_RDWR);
	visitor->cut = true;
}

static bool yields_before(const struct visitor *one, const struct visitor *other)
{
	return one->heard != other->heard ? other->heard : one->since_ns < other->since_ns;
}

void visitors_make_room(struct visitors *visitors, uint64_t origin)
{
	struct visitor *chosen = NULL;
	unsigned int same = 0;

	for (size_t i = 0; i < VISITORS_MAX; i++) {
		struct visitor *one = &visitors->list[i];

		if (one->fd < 0 || one->cut || one->origin != origin)
			continue;
		same++;
		if (!chosen || yields_before(one, chosen))
			chosen = one;
	}
	if (same >= VISITORS_SHARE)
		cut(chosen);
}

static bool is_too_slow(const struct visitor *visitor, bool crowded, uint64_t now_ns)
{
	uint64_t age = now_ns - visitor->since_ns;

	return visitor->fd >= 0 &&
	       (age > WHOLE_NS || (crowded && !visitor->heard && age > CROWD_NS));
}

void visitors_cut_slow(struct visitors *visitors, uint64_t now_ns)
{
	bool crowded = !find_free(visitors);

	for (size_t i = 0; i < VISITORS_MAX; i++)
		if (is_too_slow(&visitors->list[i], crowded, now_ns))
			cut(&visitors->list[i]);
}
