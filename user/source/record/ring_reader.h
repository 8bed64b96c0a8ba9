/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who reads a ring may be busy with something else for longer than the ring has room: with a file
 * whose tables are parsed, with probes that the kernel takes its time for, with a report, or since
 * others have the processors. So a thread watches over the ring. As soon as a quarter of it is full
 * it moves what is there to other memory, up to a limit, and the reader finds it there, in order.
 * The thread sleeps until the kernel says that an eighth is full; most traces never wake it.
 */
#ifndef MTRACE_SOURCE_RECORD_RING_READER_H
#define MTRACE_SOURCE_RECORD_RING_READER_H

#include <stdint.h>

#include "source/record/ring.h"

struct ring_reader;

/* fd: becomes readable when the ring has filled up by an eighth. limit: bytes besides the ring.
 * 0 or -errno. The ring is the reader's until it is closed. */
int ring_reader_open(struct ring_reader **ret_reader, struct ring *ring, int fd, uint64_t limit);
void ring_reader_close(struct ring_reader *reader); /* NULL is fine */

/* As ring_read. What is behind a record that ends the reading comes next time. */
int ring_reader_read(struct ring_reader *reader,
		     int (*record)(void *ctx, const void *data, size_t size), void *ctx);

#endif
