/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORD_ALIGN 8

int ring_open(struct ring *ret_ring, int map_fd, uint64_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring ring = {.size = size, .page = page};
	uint8_t *kernel;

	ring.consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (ring.consumer == MAP_FAILED)
		return -errno;
	kernel = mmap(NULL, page + 2 * size, PROT_READ, MAP_SHARED, map_fd, (off_t)page);
	if (kernel == MAP_FAILED) {
		munmap(ring.consumer, page);
		return -errno;
	}
	ring.producer = (const void *)kernel;
	ring.data = kernel + page;
	*ret_ring = ring;
	return 0;
}

void ring_close(struct ring *ring)
{
	if (!ring->consumer)
		return;
	munmap(ring->consumer, ring->page);
	munmap((void *)(uintptr_t)ring->producer, ring->page + 2 * ring->size);
	*ring = (struct ring){0};
}

/* Bytes that a record takes in the ring, from its header. */
static uint64_t record_span(uint32_t header)
{
	uint32_t size = header & ~(uint32_t)(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

	return (size + BPF_RINGBUF_HDR_SZ + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

int ring_read(struct ring *ring, int (*record)(void *ctx, const void *data, size_t size), void *ctx)
{
	uint64_t end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	uint64_t position = *ring->consumer, published = position;
	int err = 0;

	while (position < end && err >= 0) {
		const uint8_t *place = ring->data + (position & (ring->size - 1));
		uint32_t header =
			__atomic_load_n((const uint32_t *)(const void *)place, __ATOMIC_ACQUIRE);

		if (header & BPF_RINGBUF_BUSY_BIT)
			break; /* being written; all behind it comes later */
		position += record_span(header);
		if (!(header & BPF_RINGBUF_DISCARD_BIT))
			err = record(ctx, place + BPF_RINGBUF_HDR_SZ, header);
		if (position - published >= RING_BATCH) {
			__atomic_store_n(ring->consumer, position, __ATOMIC_RELEASE);
			published = position;
		}
	}
	__atomic_store_n(ring->consumer, position, __ATOMIC_RELEASE);
	return err < 0 ? err : 0;
}
