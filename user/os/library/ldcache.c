/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The format is that of glibc's sysdeps/generic/dl-cache.h: a header, an array of entries, and
 * strings. The file may start with a table from libc5 times; we use only its length to find the new
 * format, which follows it, aligned. String offsets of the new format are relative to its own
 * header.
 *
 * Lookup is a linear search: there are a few thousand entries, and a few dozen lookups per launched
 * program. (Entries are sorted in descending order by ld.so's own comparison. A binary search would
 * have to imitate that comparison, which treats digits specially; a linear search relies on
 * nothing.) Every access is checked against the size of the file.
 */
#include "os/library/ldcache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/file/regular.h"

#define CACHE_SIZE_MAX (64u << 20)

struct old_entry {
	int32_t flags;
	uint32_t key, value;
};

struct old_header {
	char magic[11]; /* "ld.so-1.7.0" */
	uint32_t count;
};

struct new_entry {
	int32_t flags;
	uint32_t key, value; /* offsets of the soname and the path */
	uint32_t os_version;
	uint64_t hwcap;
};

struct new_header {
	char magic[20]; /* "glibc-ld.so.cache1.1" */
	uint32_t count;
	uint32_t string_size;
	uint8_t flags; /* the low two bits are the byte order */
	uint8_t padding[3];
	uint32_t extension_offset;
	uint32_t unused[3];
};

_Static_assert(sizeof(struct old_header) == 16, "as in glibc");
_Static_assert(sizeof(struct new_header) == 48, "as in glibc");

#define BYTE_ORDER_MASK  3
#define BYTE_ORDER_UNSET 0
#define BYTE_ORDER_HOST  (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 2 : 3)

static const char old_magic[] = "ld.so-1.7.0";
static const char new_magic[] = "glibc-ld.so.cache1.1";

static int bytes_read(int fd, size_t size, struct ldcache *cache)
{
	ssize_t got;

	cache->bytes = malloc(size + 1);
	if (!cache->bytes)
		return -ENOMEM;
	got = pread(fd, cache->bytes, size, 0);
	if (got < 0)
		return -errno;
	cache->size = (size_t)got;
	cache->bytes[got] = '\0';
	return 0;
}

/* Returns the offset of the new format. It has the alignment that its entries have on the host that
 * wrote it. */
static size_t new_format_offset(const struct ldcache *cache)
{
	const size_t alignment = __alignof__(struct new_entry);
	struct old_header old;
	uint64_t end;

	if (cache->size < sizeof(old) || memcmp(cache->bytes, old_magic, strlen(old_magic)))
		return 0;
	memcpy(&old, cache->bytes, sizeof(old));
	end = sizeof(old) + (uint64_t)old.count * sizeof(struct old_entry);
	end = (end + alignment - 1) & ~(uint64_t)(alignment - 1);
	return end < cache->size ? (size_t)end : cache->size;
}

static int new_format_check(struct ldcache *cache)
{
	size_t left = cache->size - cache->base;
	struct new_header header;
	int byte_order;

	if (left < sizeof(header))
		return -EINVAL;
	memcpy(&header, cache->bytes + cache->base, sizeof(header));
	byte_order = header.flags & BYTE_ORDER_MASK;
	if (memcmp(header.magic, new_magic, sizeof(header.magic)))
		return -EINVAL;
	if (byte_order != BYTE_ORDER_UNSET && byte_order != BYTE_ORDER_HOST)
		return -EINVAL;
	if (header.count > (left - sizeof(header)) / sizeof(struct new_entry))
		return -EINVAL;
	cache->count = header.count;
	return 0;
}

int ldcache_open(const char *path, struct ldcache *ret_cache)
{
	struct ldcache cache = {0};
	struct stat stat;
	int fd = file_open_regular(path, &stat);
	int err;

	if (fd < 0)
		return fd;
	err = stat.st_size > CACHE_SIZE_MAX ? -EFBIG : bytes_read(fd, (size_t)stat.st_size, &cache);
	close(fd);
	if (!err) {
		cache.base = new_format_offset(&cache);
		err = new_format_check(&cache);
	}
	if (err)
		ldcache_close(&cache);
	else
		*ret_cache = cache;
	return err;
}

/* bytes_read stored a NUL after the file, which ends an unterminated string. */
static const char *cache_string(const struct ldcache *cache, uint32_t offset)
{
	return offset < cache->size - cache->base ? cache->bytes + cache->base + offset : "";
}

const char *ldcache_next(const struct ldcache *cache, const char *soname, uint32_t *position)
{
	while (*position < cache->count) {
		size_t at = sizeof(struct new_header) + *position * sizeof(struct new_entry);
		struct new_entry entry;

		memcpy(&entry, cache->bytes + cache->base + at, sizeof(entry));
		++*position;
		if (!strcmp(cache_string(cache, entry.key), soname))
			return cache_string(cache, entry.value);
	}
	return NULL;
}

void ldcache_close(struct ldcache *cache)
{
	free(cache->bytes);
	*cache = (struct ldcache){0};
}
