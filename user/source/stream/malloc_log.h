/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses a line of the log that glibc's mtrace() writes to the file named by MALLOC_TRACE:
 *
 * 	= Start                                             = End, by muntrace()
 * 	@ ./prog:[0x11a7] + 0x5556b64a0 0x64                an allocation; (nil): it failed
 * 	@ ./prog:(main+1c)[0x11c3] - 0x5556b64a0            a free, also by realloc(p, 0)
 * 	@ ./prog:[0x121f] < 0x5556b64a0                     realloc: the old block, and in the next
 * 	@ ./prog:[0x121f] > 0x5556b6610 0x7d0               line the new one
 * 	@ ./prog:[0x1278] ! 0x5556b64a0 0x1000000000000000  a realloc that failed
 *
 * The return address is in brackets, relative to the load address of the object (absolute before
 * glibc 2.35). Without an object there is only the address, and the caller may be missing
 * altogether.
 */
#ifndef MTRACE_SOURCE_STREAM_MALLOC_LOG_H
#define MTRACE_SOURCE_STREAM_MALLOC_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum malloc_log_kind {
	MALLOC_LOG_START,
	MALLOC_LOG_END,
	MALLOC_LOG_ALLOC,
	MALLOC_LOG_FREE,
	MALLOC_LOG_OLD,
	MALLOC_LOG_NEW,
	MALLOC_LOG_FAILED, /* realloc */
};

struct malloc_log_line {
	enum malloc_log_kind kind;
	const char *object; /* path, points into the line; NULL: none */
	size_t object_length;
	uint64_t caller;  /* 0: unknown */
	uint64_t address; /* 0: (nil) */
	uint64_t size;    /* of allocations */
};

/* Parses a line without its newline. Returns 0, or -EBADMSG for an invalid line. */
int malloc_log_parse(const char *line, size_t length, struct malloc_log_line *ret_line);

#endif
