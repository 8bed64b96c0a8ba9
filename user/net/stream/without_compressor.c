// SPDX-License-Identifier: GPL-2.0-or-later
#include "net/stream/compressor.h"

#include <errno.h>

bool compressor_is_built_in(void)
{
	return false;
}

int compressor_new(struct compressor **ret_compressor)
{
	(void)ret_compressor;
	return -EOPNOTSUPP;
}

void compressor_free(struct compressor *compressor)
{
	(void)compressor;
}

size_t compressed_bound(size_t size)
{
	return size;
}

size_t compress(struct compressor *compressor, void *to, size_t room, const void *from, size_t size)
{
	(void)compressor;
	(void)to;
	(void)room;
	(void)from;
	(void)size;
	return 0;
}

int decompress(struct compressor *compressor, void *to, size_t size, const void *from, size_t room)
{
	(void)compressor;
	(void)to;
	(void)size;
	(void)from;
	(void)room;
	return -EBADMSG;
}
