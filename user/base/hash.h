/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hashes of byte strings, using xxHash (https://xxhash.com, see doc/xxhash_spec.md there). */
#ifndef MTRACE_BASE_HASH_H
#define MTRACE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* XXH3, 64 bits. */
uint64_t hash_bytes(const void *bytes, size_t size);
uint64_t hash_bytes_seeded(const void *bytes, size_t size, uint64_t seed);
/* XXH64: also fast on 32-bit machines. Recordings use it as their checksum. */
uint64_t hash_check(const void *bytes, size_t size, uint64_t seed);

#endif
