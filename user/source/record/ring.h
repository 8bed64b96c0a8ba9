/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a BPF ring buffer (kernel/bpf/ringbuf.c; struct bpf_ringbuf). libbpf's reader publishes its
 * position after each record, which causes a cache miss for every traced call on another CPU. This
 * one publishes it once per RING_BATCH bytes. It also stops at the position where the buffer ended
 * when it started, so that a busy target cannot keep it forever.
 */
#ifndef MTRACE_SOURCE_RECORD_RING_H
#define MTRACE_SOURCE_RECORD_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_BATCH  (64u << 10)
#define RING_HEADER 8 /* bytes before each record */

struct ring {
	/* Positions in bytes. They are machine words and wrap around. */
	unsigned long *consumer;       /* written by the reader */
	const unsigned long *producer; /* written by the kernel */
	const uint8_t *data;           /* mapped twice in a row, so that records are contiguous */
	uint64_t size;                 /* bytes, a power of two */
	size_t page;
};

/* Rounds up to a valid size of a ring: a power of two. */
uint64_t ring_size(uint64_t bytes);

/* Maps a ring buffer; `size` is max_entries of the map. Returns 0 or -errno. */
int ring_open(struct ring *ret_ring, int map_fd, uint64_t size);
/* Creates a ring in the kernel's format, for a writer in a process forked later. Returns 0 or
 * -errno. */
int ring_new(struct ring *ret_ring, uint64_t size);
void ring_close(struct ring *ring); /* accepts zeroed memory */

/*
 * Passes every record that is present now to the callback, in order. A negative return value ends
 * the reading, and that record counts as consumed. Returns 0 or the callback's error.
 */
int ring_read(struct ring *ring, int (*record)(void *ctx, const void *data, size_t size),
	      void *ctx);

/* Moves whole records to a buffer in their ring format, each at a multiple of 8 bytes. `room` must
 * fit the largest record; RING_BATCH does. Returns the number of bytes. */
size_t ring_take(struct ring *ring, void *bytes, size_t room);
/* Returns the bytes that such a record occupies, with its header. *ret_size is its own size; 0: it
 * was discarded. */
size_t ring_record(const void *place, size_t *ret_size);

/* Writes a record, in several pieces, to a ring of ring_new(). Single writer only. Returns false if
 * there is no room. */
struct ring_piece {
	const void *bytes;
	size_t size;
};
bool ring_write(const struct ring *ring, const struct ring_piece *pieces, size_t count);
/* The number of bytes pending for the reader. */
uint64_t ring_waiting(const struct ring *ring);

#endif
