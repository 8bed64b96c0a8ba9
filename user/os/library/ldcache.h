/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /etc/ld.so.cache, glibc's index from a soname to the files that may provide it. */
#ifndef MTRACE_OS_LIBRARY_LDCACHE_H
#define MTRACE_OS_LIBRARY_LDCACHE_H

#include <stddef.h>
#include <stdint.h>

struct ldcache {
	char *bytes; /* the whole file, followed by a NUL; NULL if the cache is empty */
	size_t base; /* offset of the new format; string offsets are relative to it */
	size_t size;
	uint32_t count; /* number of entries */
};

/* Returns 0, -EINVAL if the file is not a cache of this host, or -errno. */
int ldcache_open(const char *path, struct ldcache *ret_cache);
/*
 * Returns the next file for the soname, of any class, machine and hwcaps, or NULL at the end.
 * Starts at entry *position (initially 0) and advances it. The cache owns the path.
 */
const char *ldcache_next(const struct ldcache *cache, const char *soname, uint32_t *position);
void ldcache_close(struct ldcache *cache);

#endif
