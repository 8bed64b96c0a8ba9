/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/record/ring_reader.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

#define PIECE_BYTES (1u << 20) /* size of a moved piece */
#define NORMAL_PART 8          /* normal fill level (1/8): the reader will come */
#define FULL_PART   4          /* fill level (1/4) at which it is late */

static const struct timespec watch_pause = {.tv_nsec = 5000000};

/* Whole records in ring format. */
struct ring_batch {
	struct ring_batch *next;
	size_t at, size; /* bytes read, and total bytes */
	_Alignas(8) uint8_t bytes[];
};

struct ring_reader {
	struct ring *ring;
	uint64_t limit;
	struct ring_batch *piece; /* being read; what follows comes after it */
	struct ring_batch *batch; /* for records that come from the ring directly */

	pthread_mutex_t lock; /* protects the ring's consumer side and the moved pieces */
	struct ring_batch *first, **last;
	uint64_t moved; /* bytes */

	pthread_t thread;
	int epoll, end;
};

static struct ring_batch *piece_new(size_t room)
{
	return malloc(sizeof(struct ring_batch) + room);
}

/*
 * The thread.
 */

/* Returns false if there was nothing to move, or no room. After unlocking, the piece belongs to the
 * reader. */
static bool move_some(struct ring_reader *reader)
{
	struct ring_batch *piece = piece_new(PIECE_BYTES);
	size_t size = 0;

	if (!piece)
		return false;
	pthread_mutex_lock(&reader->lock);
	if (reader->moved < reader->limit)
		size = ring_take(reader->ring, piece->bytes, PIECE_BYTES);
	piece->next = NULL;
	piece->at = 0;
	piece->size = size;
	if (size) {
		reader->moved += size;
		*reader->last = piece;
		reader->last = &piece->next;
	}
	pthread_mutex_unlock(&reader->lock);
	if (!size)
		free(piece);
	return size;
}

static void watch(struct ring_reader *reader)
{
	const struct ring *ring = reader->ring;

	while (ring_waiting(ring) > ring->size / NORMAL_PART) {
		while (ring_waiting(ring) > ring->size / FULL_PART && move_some(reader))
			;
		nanosleep(&watch_pause, NULL);
	}
}

static bool is_ending(const struct ring_reader *reader)
{
	uint64_t word;

	return read(reader->end, &word, sizeof(word)) == sizeof(word);
}

static void *thread_main(void *ctx)
{
	struct ring_reader *reader = ctx;
	struct epoll_event event;

	while (!is_ending(reader))
		if (epoll_wait(reader->epoll, &event, 1, -1) == 1)
			watch(reader);
	return NULL;
}

/* Edge-triggered for the ring, which is readable as long as it is not empty. */
static int watch_fds(const struct ring_reader *reader, int fd)
{
	struct epoll_event news = {.events = EPOLLIN | EPOLLET}, end = {.events = EPOLLIN};

	return epoll_ctl(reader->epoll, EPOLL_CTL_ADD, fd, &news) ||
			       epoll_ctl(reader->epoll, EPOLL_CTL_ADD, reader->end, &end)
		       ? -errno
		       : 0;
}

static int thread_begin(struct ring_reader *reader, int fd)
{
	int err;

	reader->epoll = epoll_create1(EPOLL_CLOEXEC);
	reader->end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	err = reader->epoll < 0 || reader->end < 0 ? -errno : watch_fds(reader, fd);
	return err ? err : thread_start(&reader->thread, thread_main, reader);
}

static void thread_end(struct ring_reader *reader)
{
	const uint64_t one = 1;

	while (write(reader->end, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(reader->thread, NULL);
}

/*
 * The reader.
 */

int ring_reader_open(struct ring_reader **ret_reader, struct ring *ring, int fd, uint64_t limit)
{
	struct ring_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return -ENOMEM;
	*reader = (struct ring_reader){
		.ring = ring, .limit = limit, .last = &reader->first, .epoll = -1, .end = -1};
	pthread_mutex_init(&reader->lock, NULL);
	reader->batch = piece_new(RING_BATCH);
	if (reader->batch)
		*reader->batch = (struct ring_batch){0};
	err = reader->batch ? thread_begin(reader, fd) : -ENOMEM;
	*ret_reader = reader;
	if (!err)
		return 0;
	*ret_reader = NULL;
	if (reader->epoll >= 0)
		close(reader->epoll);
	if (reader->end >= 0)
		close(reader->end);
	free(reader->batch);
	free(reader);
	return err;
}

void ring_reader_close(struct ring_reader *reader)
{
	struct ring_batch *piece, *next;

	if (!reader)
		return;
	thread_end(reader);
	close(reader->epoll);
	close(reader->end);
	if (reader->piece != reader->batch)
		free(reader->piece);
	free(reader->batch);
	for (piece = reader->first; piece; piece = next) {
		next = piece->next;
		free(piece);
	}
	pthread_mutex_destroy(&reader->lock);
	free(reader);
}

/* Moved pieces first: they are older than the contents of the ring. */
static struct ring_batch *take_piece(struct ring_reader *reader)
{
	struct ring_batch *piece = reader->first;

	if (!piece) {
		piece = reader->batch;
		*piece = (struct ring_batch){
			.size = ring_take(reader->ring, piece->bytes, RING_BATCH)};
		return piece;
	}
	reader->first = piece->next;
	if (!reader->first)
		reader->last = &reader->first;
	reader->moved -= piece->size;
	return piece;
}

/* The piece with the next record, or NULL if there is none. */
static struct ring_batch *next_piece(struct ring_reader *reader)
{
	struct ring_batch *piece = reader->piece;

	if (piece && piece->at < piece->size)
		return piece;
	if (piece != reader->batch)
		free(piece);
	pthread_mutex_lock(&reader->lock);
	reader->piece = take_piece(reader);
	pthread_mutex_unlock(&reader->lock);
	return reader->piece->size ? reader->piece : NULL;
}

static uint64_t waiting(struct ring_reader *reader)
{
	const struct ring_batch *piece = reader->piece;
	uint64_t bytes = piece ? piece->size - piece->at : 0;

	pthread_mutex_lock(&reader->lock);
	bytes += reader->moved + ring_waiting(reader->ring);
	pthread_mutex_unlock(&reader->lock);
	return bytes;
}

int ring_reader_read(struct ring_reader *reader,
		     int (*record)(void *ctx, const void *data, size_t size), void *ctx)
{
	uint64_t left = waiting(reader);
	struct ring_batch *piece;
	int err = 0;

	while (left && err >= 0 && (piece = next_piece(reader))) {
		const uint8_t *place = &piece->bytes[piece->at];
		size_t size, span = ring_record(place, &size);

		piece->at += span;
		left -= span < left ? span : left;
		if (size)
			err = record(ctx, place + RING_HEADER, size);
	}
	return err < 0 ? err : 0;
}
