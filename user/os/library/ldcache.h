/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /etc/ld.so.cache: glibc's index from a soname to the files that may serve it. */
#ifndef MTRACE_OS_LIBRARY_LDCACHE_H
#define MTRACE_OS_LIBRARY_LDCACHE_H

#include <stddef.h>
#include <stdint.h>

struct ldcache {
	char *bytes; /* the whole file, NUL behind it; NULL: an empty cache */
	size_t base; /* where the new format starts; strings are relative to it */
	size_t size;
	uint32_t count; /* entries */
};

/* 0, -EINVAL for what is no cache of this host, -errno. */
int ldcache_open(const char *path, struct ldcache *ret_cache);
/*
 * The next file for the soname, of whatever class, machine and hwcaps, from entry *position (0 at
 * first) on; NULL at the end. The path is the cache's.
 */
const char *ldcache_next(const struct ldcache *cache, const char *soname, uint32_t *position);
void ldcache_close(struct ldcache *cache);

#endif
