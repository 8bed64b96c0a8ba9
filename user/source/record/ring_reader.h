/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of a ring may be busy for longer than the ring has room: parsing the tables of a file,
 * waiting for the kernel to place probes, writing a report, or because other processes use the
 * CPUs. So a thread watches the ring. As soon as a quarter of it is full, the thread moves the
 * contents to other memory, up to a limit, where the reader finds them in order. The thread sleeps
 * until the kernel reports that an eighth is full; most traces never wake it.
 */
#ifndef MTRACE_SOURCE_RECORD_RING_READER_H
#define MTRACE_SOURCE_RECORD_RING_READER_H

#include <stdint.h>

#include "source/record/ring.h"

struct ring_reader;

/* `fd` becomes readable when an eighth of the ring is full; `limit` is the memory in bytes in
 * addition to the ring. Returns 0 or -errno. The ring belongs to the reader until it is closed. */
int ring_reader_open(struct ring_reader **ret_reader, struct ring *ring, int fd, uint64_t limit);
void ring_reader_close(struct ring_reader *reader); /* accepts NULL */

/* Like ring_read(). If the callback ends the reading, the next call continues after that record. */
int ring_reader_read(struct ring_reader *reader,
		     int (*record)(void *ctx, const void *data, size_t size), void *ctx);

#endif
