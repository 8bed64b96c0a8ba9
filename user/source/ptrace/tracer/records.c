/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ptrace/tracer/records.h"

#include <time.h>
#include <unistd.h>

#include "os/process/proc.h"
#include "source/ptrace/tracer/mailbox.h"

#define NS_PER_SECOND 1000000000ULL
#define FULL_WAIT_NS  1000000000ULL /* for the reader if the ring is full */
#define FULL_NAP_NS   200000
#define WAKE_PART     8 /* fraction of the ring at which the reader is woken */

uint64_t record_time(void)
{
	struct timespec now_time;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now_time);
	return (uint64_t)now_time.tv_sec * NS_PER_SECOND + (uint64_t)now_time.tv_nsec;
}

void tracer_ring(const struct tracer *tracer)
{
	const uint64_t one = 1;

	if (write(tracer->shared->bell, &one, sizeof(one)) < 0)
		return; /* it is ringing already */
}

/* Rather keeps the stopped thread waiting than drop a record. But not while a request of the
 * command is pending, because it does not read then. */
static bool wait_for_room(const struct tracer *tracer, uint64_t since_ns)
{
	const struct timespec nap = {.tv_nsec = FULL_NAP_NS};

	tracer_ring(tracer);
	nanosleep(&nap, NULL);
	return !mailbox_is_ringing(tracer->shared->mailbox) && !tracer->detaches &&
	       clock_now_ns() - since_ns < FULL_WAIT_NS;
}

bool tracer_emit(struct tracer *tracer, struct owner *owner, const struct ring_piece *pieces,
		 size_t count)
{
	const struct ring *ring = &tracer->shared->ring;
	uint64_t since_ns = 0;
	bool full;

	while (!ring_write(ring, pieces, count)) {
		since_ns = since_ns ? since_ns : clock_now_ns();
		if (wait_for_room(tracer, since_ns))
			continue;
		owner->losses[LOSS_EVENTS]++;
		return false;
	}
	full = ring_waiting(ring) > ring->size / WAKE_PART;
	if (full && !tracer->rung)
		tracer_ring(tracer);
	tracer->rung = full;
	return true;
}

bool tracer_write_record(struct tracer *tracer, struct owner *owner, struct record_head *record)
{
	const struct ring_piece piece = {record, record->length};

	record->pid = (uint32_t)owner->pid;
	if (!record->time_ns)
		record->time_ns = record_time();
	return tracer_emit(tracer, owner, &piece, 1);
}
