/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mixed COUNT [MIN MAX [SLOTS]]: COUNT allocations of all sizes by several functions. Most are
 * freed again, so that addresses are reused. COUNT 0: until the end of standard input. In addition
 * to the whole truth, it prints the truth of requests of MIN to MAX bytes, and the number of other
 * allocations.
 */
#include <poll.h>

#include "truth.h"

#define SLOTS     4096
#define SLOTS_MAX 1000000

static struct block slots[SLOTS_MAX];
static uint64_t slot_count = SLOTS;
static uint64_t random_state = 88172645463325252ULL;
static uint64_t min_size, max_size = UINT64_MAX;
static uint64_t wanted, wanted_bytes, wanted_live, wanted_live_bytes, others;

NOINLINE static struct block t_malloc(size_t size)
{
	BOOKED(malloc, size, malloc(size));
}

NOINLINE static struct block t_calloc(size_t size)
{
	BOOKED(calloc, size, calloc(1, size));
}

NOINLINE static struct block t_aligned(size_t size)
{
	SITE("posix_memalign");
	void *address = NULL;
	int status = posix_memalign(&address, size % 2 ? 8 : 64, size);

	return truth_allocated(&site, size, status ? NULL : address);
}

NOINLINE static struct block t_realloc(struct block old, size_t size)
{
	SITE("realloc");
	void *address = realloc(old.address, size);

	truth_freed(old);
	return truth_allocated(&site, size, address);
}

NOINLINE static struct block t_reallocarray(struct block old, size_t size)
{
	SITE("reallocarray");
	void *address = reallocarray(old.address, 1, size);

	truth_freed(old);
	return truth_allocated(&site, size, address);
}

/* xorshift64 (Marsaglia 2003) */
static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state >> 8;
}

/* From 16 bytes to a few hundred, and occasionally up to 60,000. */
static size_t any_size(void)
{
	return draw() % 64 ? 16 + draw() % 400 : 16 + draw() % 60000;
}

static int is_wanted(size_t size)
{
	return size >= min_size && size <= max_size;
}

static void count_gone(struct block block)
{
	if (!block.address || !is_wanted(block.size))
		return;
	wanted_live--;
	wanted_live_bytes -= block.size;
}

static void count_made(struct block block)
{
	if (!is_wanted(block.size)) {
		others++;
		return;
	}
	wanted++;
	wanted_live++;
	wanted_bytes += block.size;
	wanted_live_bytes += block.size;
}

static void step(struct block *slot)
{
	size_t size = any_size();
	uint64_t kind = draw() % 16;

	count_gone(*slot);
	if (kind == 0) {
		*slot = t_realloc(*slot, size);
	} else if (kind == 1) {
		*slot = t_reallocarray(*slot, size);
	} else {
		t_free(*slot);
		*slot = kind == 2 ? t_calloc(size) : kind == 3 ? t_aligned(size) : t_malloc(size);
	}
	count_made(*slot);
}

#define AT_ONCE 512

static int is_input_open(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&input, 1, 0) <= 0;
}

int main(int argc, char **argv)
{
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	char extra[512];

	if (argc > 3) {
		min_size = strtoull(argv[2], NULL, 10);
		max_size = strtoull(argv[3], NULL, 10);
	}
	if (argc > 4)
		slot_count = strtoull(argv[4], NULL, 10);
	if (!slot_count || slot_count > SLOTS_MAX)
		return 2;
	for (uint64_t i = 0; i < count; i++)
		step(&slots[draw() % slot_count]);
	while (!count && is_input_open())
		for (int i = 0; i < AT_ONCE; i++)
			step(&slots[draw() % slot_count]);
	snprintf(extra, sizeof(extra),
		 ",\"wanted\":{\"allocations\":%llu,\"bytes_allocated\":%llu,\"live_blocks\":%llu,"
		 "\"live_bytes\":%llu,\"others\":%llu}",
		 (unsigned long long)wanted, (unsigned long long)wanted_bytes,
		 (unsigned long long)wanted_live, (unsigned long long)wanted_live_bytes,
		 (unsigned long long)others);
	truth_tell(1, extra);
	return 0;
}
