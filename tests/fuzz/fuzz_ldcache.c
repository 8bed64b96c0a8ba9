// SPDX-License-Identifier: GPL-2.0-or-later
/* /etc/ld.so.cache of a container: every path that it lists for a name is a string in the file. */
#include "fuzz.h"

#include <string.h>

#include "os/library/ldcache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ldcache cache;
	uint32_t position = 0, found = 0;
	char path[32];
	int fd = fuzz_file(data, size);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!ldcache_open(path, &cache)) {
		for (const char *file; (file = ldcache_next(&cache, "libc.so.6", &position));) {
			require(!*file || (file >= cache.bytes && file < cache.bytes + cache.size),
				"a path is in the file or empty");
			require(strlen(file) <= size, "a path ends in the file");
			require(++found <= cache.count, "an entry is found once");
		}
		ldcache_close(&cache);
	}
	close(fd);
	return 0;
}
