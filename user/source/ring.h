/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a BPF ring buffer (kernel/bpf/ringbuf.c; struct bpf_ringbuf). libbpf's reader publishes
 * its position after each record, and every traced call on another CPU then misses its cache on
 * it; this one does so once per RING_BATCH bytes. It also reads no further than what was there when
 * it began, so that a busy target cannot keep it forever.
 */
#ifndef MTRACE_SOURCE_RING_H
#define MTRACE_SOURCE_RING_H

#include <stddef.h>
#include <stdint.h>

#define RING_BATCH (64u << 10)

struct ring {
	uint64_t *consumer;       /* position, ours to write */
	const uint64_t *producer; /* position, the kernel's */
	const uint8_t *data;      /* mapped twice in a row, so that no record is broken */
	uint64_t size;            /* bytes, a power of two */
	size_t page;
};

/* size: max_entries of the map. 0 or -errno. */
int ring_open(struct ring *ret_ring, int map_fd, uint64_t size);
void ring_close(struct ring *ring); /* zeroed memory is fine */

/*
 * Every record that is there now, in order. A negative return of the callback ends the reading,
 * with that record consumed. 0 or what the callback returned.
 */
int ring_read(struct ring *ring, int (*record)(void *ctx, const void *data, size_t size),
	      void *ctx);

#endif
