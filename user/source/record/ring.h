/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a BPF ring buffer (kernel/bpf/ringbuf.c; struct bpf_ringbuf). libbpf's reader publishes
 * its position after each record, and every traced call on another CPU then misses its cache on
 * it; this one does so once per RING_BATCH bytes. It also reads no further than what was there when
 * it began, so that a busy target cannot keep it forever.
 */
#ifndef MTRACE_SOURCE_RECORD_RING_H
#define MTRACE_SOURCE_RECORD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_BATCH  (64u << 10)
#define RING_HEADER 8 /* bytes before each record */

struct ring {
	/* Positions, words of the machine: they begin again where their numbers end. */
	unsigned long *consumer;       /* ours to write */
	const unsigned long *producer; /* the kernel's */
	const uint8_t *data;           /* mapped twice in a row, so that no record is broken */
	uint64_t size;                 /* bytes, a power of two */
	size_t page;
};

/* The next size that a ring can have: a power of two. */
uint64_t ring_size(uint64_t bytes);

/* size: max_entries of the map. 0 or -errno. */
int ring_open(struct ring *ret_ring, int map_fd, uint64_t size);
/* One that is like the kernel's, for a writer in another process that is born later. */
int ring_new(struct ring *ret_ring, uint64_t size);
void ring_close(struct ring *ring); /* zeroed memory is fine */

/*
 * Every record that is there now, in order. A negative return of the callback ends the reading,
 * with that record consumed. 0 or what the callback returned.
 */
int ring_read(struct ring *ring, int (*record)(void *ctx, const void *data, size_t size),
	      void *ctx);

/* Take whole records out, as they lie there, each at a multiple of 8 bytes. `room` is that of the
 * largest record at least: RING_BATCH is more. Returns bytes. */
size_t ring_take(struct ring *ring, void *bytes, size_t room);
/* The bytes that a record so taken spans, with its header; *ret_size: its own, 0: it was discarded.
 */
size_t ring_record(const void *place, size_t *ret_size);

/* Of ring_new, by its only writer. A record of several pieces; false if there is no room. */
struct ring_piece {
	const void *bytes;
	size_t size;
};
bool ring_write(const struct ring *ring, const struct ring_piece *pieces, size_t count);
/* Bytes that wait for the reader. */
uint64_t ring_waiting(const struct ring *ring);

#endif
