// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/stream/squeeze.h"

#include <errno.h>

bool squeeze_is_known(void)
{
	return false;
}

int squeeze_new(struct squeeze **ret_squeeze)
{
	(void)ret_squeeze;
	return -EOPNOTSUPP;
}

void squeeze_free(struct squeeze *squeeze)
{
	(void)squeeze;
}

size_t squeeze_bound(size_t size)
{
	return size;
}

size_t squeeze_bytes(struct squeeze *squeeze, void *to, size_t room, const void *from, size_t size)
{
	(void)squeeze;
	(void)to;
	(void)room;
	(void)from;
	(void)size;
	return 0;
}

int unsqueeze_bytes(struct squeeze *squeeze, void *to, size_t size, const void *from, size_t room)
{
	(void)squeeze;
	(void)to;
	(void)size;
	(void)from;
	(void)room;
	return -EBADMSG;
}
