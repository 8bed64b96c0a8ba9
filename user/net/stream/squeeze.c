// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/stream/squeeze.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

/* The fastest level: events arrive as fast as programs allocate. */
#define LEVEL 1

struct squeeze {
	ZSTD_CCtx *to;
	ZSTD_DCtx *from;
};

bool squeeze_is_known(void)
{
	return true;
}

int squeeze_new(struct squeeze **ret_squeeze)
{
	struct squeeze *squeeze = calloc(1, sizeof(*squeeze));

	if (!squeeze)
		return -ENOMEM;
	squeeze->to = ZSTD_createCCtx();
	squeeze->from = ZSTD_createDCtx();
	if (!squeeze->to || !squeeze->from) {
		squeeze_free(squeeze);
		return -ENOMEM;
	}
	*ret_squeeze = squeeze;
	return 0;
}

void squeeze_free(struct squeeze *squeeze)
{
	if (!squeeze)
		return;
	ZSTD_freeCCtx(squeeze->to);
	ZSTD_freeDCtx(squeeze->from);
	free(squeeze);
}

size_t squeeze_bound(size_t size)
{
	return ZSTD_compressBound(size);
}

size_t squeeze_bytes(struct squeeze *squeeze, void *to, size_t room, const void *from, size_t size)
{
	size_t written = ZSTD_compressCCtx(squeeze->to, to, room, from, size, LEVEL);

	return ZSTD_isError(written) ? 0 : written;
}

int unsqueeze_bytes(struct squeeze *squeeze, void *to, size_t size, const void *from, size_t room)
{
	return ZSTD_decompressDCtx(squeeze->from, to, size, from, room) == size ? 0 : -EBADMSG;
}
