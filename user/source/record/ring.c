/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/record/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORD_ALIGN 8
_Static_assert(RING_HEADER == BPF_RINGBUF_HDR_SZ, "a record is behind its header");

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

/* Maps memory in the kernel's layout: the reader's page, the writer's page, the data, and the data
 * again. It is not a file, because file sizes may be limited (ulimit -f). */
static int map_twice(struct ring *ring)
{
	size_t once = 2 * ring->page + ring->size;
	uint8_t *place = mmap(NULL, once + ring->size, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (place == MAP_FAILED)
		return -errno;
	if (mmap(place, once, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == MAP_FAILED ||
	    mremap(place + 2 * ring->page, 0, ring->size, MREMAP_MAYMOVE | MREMAP_FIXED,
		   place + once) == MAP_FAILED) {
		int err = -errno;

		munmap(place, once + ring->size);
		return err;
	}
	ring->consumer = (void *)place;
	ring->producer = (const void *)(place + ring->page);
	ring->data = place + 2 * ring->page;
	return 0;
}

int ring_new(struct ring *ret_ring, uint64_t size)
{
	struct ring ring = {.size = size, .page = (size_t)sysconf(_SC_PAGESIZE)};
	int err = map_twice(&ring);

	if (!err)
		*ret_ring = ring;
	return err;
}

void ring_close(struct ring *ring)
{
	if (!ring->consumer)
		return;
	munmap(ring->consumer, ring->page);
	munmap((void *)(uintptr_t)ring->producer, ring->page + 2 * ring->size);
	*ring = (struct ring){0};
}

uint64_t ring_size(uint64_t bytes)
{
	uint64_t power = (uint64_t)sysconf(_SC_PAGESIZE);

	while (power < bytes)
		power *= 2;
	return power;
}

/* The bytes that a record occupies in the ring, from its header. */
static uint32_t record_span(uint32_t header)
{
	uint32_t size = header & ~(uint32_t)(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

	return (size + BPF_RINGBUF_HDR_SZ + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN;
}

int ring_read(struct ring *ring, int (*record)(void *ctx, const void *data, size_t size), void *ctx)
{
	unsigned long end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	unsigned long position = *ring->consumer, published = position;
	int err = 0;

	while ((long)(end - position) > 0 && err >= 0) {
		const uint8_t *place = ring->data + (position & (ring->size - 1));
		uint32_t header =
			__atomic_load_n((const uint32_t *)(const void *)place, __ATOMIC_ACQUIRE);

		if (header & BPF_RINGBUF_BUSY_BIT)
			break; /* still being written: stop here */
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

size_t ring_take(struct ring *ring, void *bytes, size_t room)
{
	unsigned long end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	unsigned long begin = *ring->consumer, position = begin;
	const uint8_t *data = ring->data + (begin & (ring->size - 1));

	while ((long)(end - position) > 0) {
		const void *place = data + (position - begin);
		uint32_t header = __atomic_load_n((const uint32_t *)place, __ATOMIC_ACQUIRE);

		if (header & BPF_RINGBUF_BUSY_BIT || position - begin + record_span(header) > room)
			break;
		position += record_span(header);
	}
	memcpy(bytes, data, position - begin);
	__atomic_store_n(ring->consumer, position, __ATOMIC_RELEASE);
	return position - begin;
}

size_t ring_record(const void *place, size_t *ret_size)
{
	uint32_t header;

	memcpy(&header, place, sizeof(header));
	*ret_size = header & BPF_RINGBUF_DISCARD_BIT ? 0 : header;
	return record_span(header);
}

uint64_t ring_waiting(const struct ring *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_RELAXED) -
	       __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE);
}

bool ring_write(const struct ring *ring, const struct ring_piece *pieces, size_t count)
{
	uint8_t *data = (uint8_t *)(uintptr_t)ring->data;
	unsigned long *producer = (unsigned long *)(uintptr_t)ring->producer, position = *producer;
	uint8_t *place = data + (position & (ring->size - 1)), *at = place + BPF_RINGBUF_HDR_SZ;
	uint32_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += (uint32_t)pieces[i].size;
	if (ring_waiting(ring) + record_span(size) > ring->size)
		return false;
	for (size_t i = 0; i < count; i++) {
		memcpy(at, pieces[i].bytes, pieces[i].size);
		at += pieces[i].size;
	}
	memcpy(place, &size, sizeof(size));
	__atomic_store_n(producer, position + record_span(size), __ATOMIC_RELEASE);
	return true;
}
