/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the tracer process's records to the ring buffer. */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_RECORDS_H
#define MTRACE_SOURCE_PTRACE_TRACER_RECORDS_H

#include "source/ptrace/tracer/tracer.h"
#include "source/record/ring.h"

/* The time for records: nanoseconds of the coarse monotonic clock. */
uint64_t record_time(void);

/* Writes a record in pieces. If there is no room, waits a moment for the reader, then counts the
 * record as dropped and returns false. */
bool tracer_emit(struct tracer *tracer, struct owner *owner, const struct ring_piece *pieces,
		 size_t count);
/* The same for a record whose head has its length: fills in the pid, and the time if it is 0. */
bool tracer_write_record(struct tracer *tracer, struct owner *owner, struct record_head *record);
/* Wakes the reader. */
void tracer_ring(const struct tracer *tracer);

#endif
