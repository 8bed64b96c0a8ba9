/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long an answer may take: the time to read the file from a slow disk (50 MB/s), plus some
 * seconds for a busy machine. It is bounded even if a file claims to be huge, because the trace
 * waits for the answer.
 */
#ifndef MTRACE_PARSER_CLIENT_PATIENCE_H
#define MTRACE_PARSER_CLIENT_PATIENCE_H

#include <stdint.h>
#include <sys/stat.h>

#define PATIENCE_NS      15000000000ULL
#define READ_NS_PER_BYTE 20
#define READ_BYTES_MAX   (1ULL << 30)
#define READ_NS_MAX      (READ_NS_PER_BYTE * READ_BYTES_MAX)

static inline uint64_t time_to_read(const struct stat *status)
{
	uint64_t bytes = (uint64_t)status->st_size;

	return READ_NS_PER_BYTE * (bytes < READ_BYTES_MAX ? bytes : READ_BYTES_MAX);
}

#endif
