// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/stream/compressor.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

/* The fastest level: events arrive as fast as programs allocate. */
#define LEVEL 1

struct compressor {
	ZSTD_CCtx *to;
	ZSTD_DCtx *from;
};

bool compressor_is_built_in(void)
{
	return true;
}

int compressor_new(struct compressor **ret_compressor)
{
	struct compressor *compressor = calloc(1, sizeof(*compressor));

	if (!compressor)
		return -ENOMEM;
	compressor->to = ZSTD_createCCtx();
	compressor->from = ZSTD_createDCtx();
	if (!compressor->to || !compressor->from) {
		compressor_free(compressor);
		return -ENOMEM;
	}
	*ret_compressor = compressor;
	return 0;
}

void compressor_free(struct compressor *compressor)
{
	if (!compressor)
		return;
	ZSTD_freeCCtx(compressor->to);
	ZSTD_freeDCtx(compressor->from);
	free(compressor);
}

size_t compressed_bound(size_t size)
{
	return ZSTD_compressBound(size);
}

size_t compress(struct compressor *compressor, void *to, size_t room, const void *from, size_t size)
{
	size_t written = ZSTD_compressCCtx(compressor->to, to, room, from, size, LEVEL);

	return ZSTD_isError(written) ? 0 : written;
}

int decompress(struct compressor *compressor, void *to, size_t size, const void *from, size_t room)
{
	return ZSTD_decompressDCtx(compressor->from, to, size, from, room) == size ? 0 : -EBADMSG;
}
