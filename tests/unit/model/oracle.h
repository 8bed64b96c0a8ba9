/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A naive model: a few dozen addresses and pages, arrays instead of tables, and every rule as
 * simple as possible. oracle_run sends the same random calls of several threads to the real and the
 * naive model, and compares them. realloc, mmap and similar calls are interleaved, and some never
 * return.
 */
#ifndef MTRACE_TEST_ORACLE_H
#define MTRACE_TEST_ORACLE_H

#include "tests/unit/model_fixture.h"

enum {
	ORACLE_STEPS = 20000,
	ORACLE_LOOK = 250, /* steps between two comparisons */
	ADDRESSES = 48,
	PAGES = 64,
	THREADS = 4,
	STACKS = 6,
	REGIONS = ORACLE_STEPS + 1,
};

#define ORACLE_PAGE 4096ULL

/* Stacks that calls come from. Stack 0 has no ID, stack 1 is never announced. */
struct oracle_stack {
	uint64_t id;
	uint64_t caller;
	bool announced;
};

static const struct oracle_stack oracle_stacks[STACKS] = {
	{0, PROGRAM + 0x100, false}, {99, PROGRAM + 0x200, false}, {1, PROGRAM + 0x300, true},
	{2, PROGRAM + 0x400, true},  {3, OPERATOR_NEW + 4, true},  {4, LIBC + 0x500, true},
};

struct oracle_block {
	bool live;
	uint64_t size;
	uint64_t time;
	int api, stack; /* as counted; API 0: not counted */
};

struct oracle_region {
	uint64_t pages; /* that are still mapped */
	uint64_t time;
	int api, stack;
};

struct oracle_site {
	uint64_t allocations, frees, bytes, live_blocks, live_bytes, peak, failed, first;
	uint64_t inherited_blocks, inherited_bytes;
};

struct oracle_call {
	bool pending;
	bool missed;
	int stack;
	uint64_t old; /* index of the old address, if held */
	struct oracle_block held;
	int held_pages[PAGES]; /* region, 0: none */
};

struct oracle {
	struct model_config config;
	struct oracle_block blocks[ADDRESSES]; /* 0 is never used */
	struct oracle_region regions[REGIONS];
	int region_count;
	int pages[PAGES]; /* region, 0: none */
	struct oracle_call calls[THREADS][API_COUNT];
	int piles[THREADS][API_COUNT]; /* pending APIs, the newest last */
	int heights[THREADS];
	struct oracle_site sites[API_COUNT][STACKS];
	uint32_t pids[THREADS]; /* processes of the threads, 0: none … */
	uint32_t tids[THREADS]; /* … and their IDs */
	uint64_t live, peak, unmatched, internal_frees, munmaps, collisions, missed;
	bool lost_stack; /* stack 1 was used */
	uint64_t lost;
};

static inline uint64_t dice(uint64_t sides)
{
	return (uint64_t)random() % sides;
}

static inline uint64_t oracle_address(uint64_t i)
{
	return i ? 0x600000 + i * 32 : 0;
}

static inline uint64_t oracle_page(uint64_t i)
{
	return 0x30000000 + i * ORACLE_PAGE;
}

static inline bool oracle_is_map(int api)
{
	return api >= API_MMAP;
}

/* The API that a call counts under; 0 if it does not count. Also notes the first use of the
 * unannounced stack. */
static inline int oracle_api(struct oracle *oracle, int api, int stack)
{
	oracle->lost += stack == 1 && !oracle->lost_stack;
	oracle->lost_stack |= stack == 1;
	if (oracle_is_map(api))
		api = stack == 5 ? API_MMAP_LIBC : api;
	else if (stack == 4 && oracle->config.wrappers)
		api = API_NEW;
	return oracle->config.apis >> api & 1 ? api : 0;
}

static inline void oracle_count(struct oracle *oracle, int api, int stack, uint64_t bytes,
				uint64_t now)
{
	struct oracle_site *site = &oracle->sites[api][stack];

	if (!api)
		return;
	site->first = site->first ? site->first : now;
	site->allocations++;
	site->bytes += bytes;
	site->live_blocks++;
	site->live_bytes += bytes;
	site->peak = site->live_bytes > site->peak ? site->live_bytes : site->peak;
	if (oracle_is_map(api))
		return;
	oracle->live += bytes;
	oracle->peak = oracle->live > oracle->peak ? oracle->live : oracle->peak;
}

static inline void oracle_failed(struct oracle *oracle, int api, int stack, uint64_t now)
{
	struct oracle_site *site;

	api = oracle_api(oracle, api, stack);
	site = &oracle->sites[api][stack];
	if (!api)
		return;
	site->first = site->first ? site->first : now;
	site->failed++;
}

static inline void oracle_block_gone(struct oracle *oracle, const struct oracle_block *block)
{
	struct oracle_site *site = &oracle->sites[block->api][block->stack];

	if (!block->api)
		return;
	site->frees++;
	site->live_blocks--;
	site->live_bytes -= block->size;
	oracle->live -= block->size;
}

static inline void oracle_page_gone(struct oracle *oracle, int region)
{
	struct oracle_region *gone = &oracle->regions[region];
	struct oracle_site *site = &oracle->sites[gone->api][gone->stack];
	bool last = --gone->pages == 0;

	if (!gone->api)
		return;
	site->live_bytes -= ORACLE_PAGE;
	site->live_blocks -= last;
	site->frees += last;
}

static inline void oracle_unmatched(struct oracle *oracle, int stack)
{
	if (stack == 5)
		oracle->internal_frees++;
	else
		oracle->unmatched++;
}

static inline void oracle_alloc(struct oracle *oracle, int api, int stack, uint64_t i,
				uint64_t size, uint64_t now)
{
	struct oracle_block *block = &oracle->blocks[i];
	struct oracle_block fresh = {true, size, now, oracle_api(oracle, api, stack), stack};

	if (block->live) {
		oracle->collisions++;
		oracle_block_gone(oracle, block);
	}
	*block = fresh;
	oracle_count(oracle, fresh.api, stack, size, now);
}

/* During a realloc, the allocator may free the old block with free. */
static inline void oracle_free(struct oracle *oracle, uint64_t thread, int stack, uint64_t i)
{
	const struct oracle_call *calls = oracle->calls[thread];

	if (!i)
		return;
	if (oracle->blocks[i].live)
		oracle_block_gone(oracle, &oracle->blocks[i]);
	else if (!calls[API_REALLOC].pending && !calls[API_REALLOCARRAY].pending)
		oracle_unmatched(oracle, stack);
	oracle->blocks[i].live = false;
}

static inline void oracle_map(struct oracle *oracle, int api, int stack, uint64_t first,
			      uint64_t count, uint64_t now)
{
	struct oracle_region region = {count, now, oracle_api(oracle, api, stack), stack};
	int number = ++oracle->region_count;

	oracle->regions[number] = region;
	for (uint64_t i = first; i < first + count; i++) {
		if (oracle->pages[i])
			oracle_page_gone(oracle, oracle->pages[i]);
		oracle->pages[i] = number;
	}
	oracle_count(oracle, region.api, stack, count * ORACLE_PAGE, now);
}

static inline bool oracle_hold_pages(struct oracle *oracle, struct oracle_call *call,
				     uint64_t first, uint64_t count)
{
	bool touched = false;

	for (uint64_t i = first; i < first + count; i++) {
		if (!oracle->pages[i])
			continue;
		call->held_pages[i] = oracle->pages[i];
		oracle->pages[i] = 0;
		touched = true;
	}
	return touched;
}

/* The call failed, or is assumed to have failed. */
static inline void oracle_undo(struct oracle *oracle, const struct oracle_call *call)
{
	if (call->held.live && oracle->blocks[call->old].live)
		oracle_block_gone(oracle, &call->held);
	else if (call->held.live)
		oracle->blocks[call->old] = call->held;
	for (int i = 0; i < PAGES; i++) {
		if (call->held_pages[i] && oracle->pages[i])
			oracle_page_gone(oracle, call->held_pages[i]);
		else if (call->held_pages[i])
			oracle->pages[i] = call->held_pages[i];
	}
}

static inline void oracle_done(struct oracle *oracle, int api, const struct oracle_call *call)
{
	if (call->held.live)
		oracle_block_gone(oracle, &call->held);
	for (int i = 0; i < PAGES; i++)
		if (call->held_pages[i])
			oracle_page_gone(oracle, call->held_pages[i]);
	if (call->missed && oracle_is_map(api))
		oracle->munmaps++;
	else if (call->missed)
		oracle_unmatched(oracle, call->stack);
}

/* Drops the thread's pending calls down to that of the API; with `too`, including that one. */
static inline void oracle_drop(struct oracle *oracle, uint64_t thread, int api, bool too)
{
	int *height = &oracle->heights[thread];

	if (!oracle->calls[thread][api].pending)
		return;
	for (;;) {
		int top = oracle->piles[thread][--*height];
		struct oracle_call *call = &oracle->calls[thread][top];

		if (top != api || too) {
			oracle->missed++;
			oracle_undo(oracle, call);
			call->pending = false;
		}
		if (top == api)
			return;
	}
}

static inline struct oracle_call *oracle_begin(struct oracle *oracle, uint64_t thread, int api,
					       int stack)
{
	struct oracle_call *call = &oracle->calls[thread][api];

	oracle_drop(oracle, thread, api, true);
	oracle->piles[thread][oracle->heights[thread]++] = api;
	*call = (struct oracle_call){.pending = true, .stack = stack};
	return call;
}

static inline void random_begin(struct oracle *oracle, struct model_fixture *fixture,
				uint64_t thread, int api, int stack)
{
	struct oracle_call *call = oracle_begin(oracle, thread, api, stack);
	uint64_t first = dice(PAGES - 8), count = 1 + dice(8), to = dice(PAGES - 8), flags = 0;

	if (api == API_REALLOC || api == API_REALLOCARRAY) {
		call->old = dice(ADDRESSES);
		call->held = oracle->blocks[call->old];
		call->missed = call->old && !call->held.live;
		oracle->blocks[call->old].live = false;
		send_begin(fixture, (enum api)api, ARGUMENTS(oracle_address(call->old), 1));
	} else if (api == API_MMAP) {
		flags = dice(2) ? 0x10 : dice(2) ? 0x100010 : 0;
		if (flags == 0x10)
			oracle_hold_pages(oracle, call, first, count);
		send_begin(fixture, API_MMAP,
			   ARGUMENTS(oracle_page(first), count * ORACLE_PAGE, flags));
	} else if (api == API_MUNMAP) {
		call->missed = !oracle_hold_pages(oracle, call, first, count);
		send_begin(fixture, API_MUNMAP, ARGUMENTS(oracle_page(first), count * ORACLE_PAGE));
	} else if (api == API_MREMAP) {
		static const uint64_t choices[] = {0, 1, 3, 5};

		flags = choices[dice(4)];
		count = dice(4) ? count : 0;
		if (count && !(flags & 4))
			call->missed = !oracle_hold_pages(oracle, call, first, count);
		if (flags & 2)
			oracle_hold_pages(oracle, call, to, 3);
		send_begin(fixture, API_MREMAP,
			   ARGUMENTS(oracle_page(first), count * ORACLE_PAGE, 3 * ORACLE_PAGE,
				     flags, oracle_page(to)));
	} else {
		send_begin(fixture, API_POSIX_MEMALIGN, ARGUMENTS(0, 1));
	}
}

static inline void random_end(struct oracle *oracle, struct model_fixture *fixture, uint64_t thread,
			      int api, int stack)
{
	struct oracle_call *call = &oracle->calls[thread][api];
	uint64_t size = dice(4) ? 1 + dice(100) : 0, where = 1 + dice(ADDRESSES - 1);
	uint64_t first = dice(PAGES - 8), pages = 1 + dice(8);
	bool failed = dice(4) == 0, map = oracle_is_map(api);

	if (map)
		size = pages * ORACLE_PAGE - dice(2);
	oracle_drop(oracle, thread, api, false);
	if (api == API_POSIX_MEMALIGN && call->pending)
		size = 1; /* the size at its begin */
	if (failed)
		send_failed(fixture, (enum api)api, size);
	else
		send_end(fixture, (enum api)api, map ? oracle_page(first) : oracle_address(where),
			 size);
	if (call->pending && failed && size)
		oracle_undo(oracle, call);
	else if (call->pending)
		oracle_done(oracle, api, call);
	call->pending = false;
	if (failed && size && api != API_MUNMAP)
		oracle_failed(oracle, api, stack, fixture->now_ns);
	else if (!failed && map && api != API_MUNMAP)
		oracle_map(oracle, api, stack, first, pages, fixture->now_ns);
	else if (!failed && !map)
		oracle_alloc(oracle, api, stack, where, size, fixture->now_ns);
}

static inline void random_call(struct oracle *oracle, struct model_fixture *fixture)
{
	static const int plain[] = {API_MALLOC, API_CALLOC, API_ALIGNED_ALLOC, API_NEW};
	static const int paired[] = {API_REALLOC, API_REALLOCARRAY, API_POSIX_MEMALIGN,
				     API_MMAP,    API_MUNMAP,       API_MREMAP};
	uint64_t thread = dice(THREADS), where = dice(ADDRESSES);
	int stack = (int)dice(STACKS), api = paired[dice(6)];

	if (!oracle->pids[thread])
		return;
	fixture->pid = oracle->pids[thread];
	fixture->tid = oracle->tids[thread];
	fixture->stack = oracle_stacks[stack].id;
	fixture->caller = oracle_stacks[stack].caller;
	switch (dice(6)) {
	case 0:
	case 1:
		api = plain[dice(4)];
		if (dice(10) == 0 || !where) {
			send_call(fixture, EVENT_ALLOC, (enum api)api, EVENT_FLAG_FAILED, 0, where);
			if (where)
				oracle_failed(oracle, api, stack, fixture->now_ns);
			return;
		}
		send_call(fixture, EVENT_ALLOC, (enum api)api, 0, oracle_address(where), where * 3);
		oracle_alloc(oracle, api, stack, where, where * 3, fixture->now_ns);
		return;
	case 2:
	case 3:
		send_free(fixture, oracle_address(where));
		oracle_free(oracle, thread, stack, where);
		return;
	case 4:
		random_begin(oracle, fixture, thread, api, stack);
		return;
	default:
		random_end(oracle, fixture, thread, api, stack);
	}
}

/* The allocation time of a site's oldest block; 0 if it has none. */
static inline void oracle_older(uint64_t *oldest, uint64_t time)
{
	if (!*oldest || time < *oldest)
		*oldest = time;
}

static inline uint64_t oracle_oldest(const struct oracle *oracle, int api, int stack)
{
	uint64_t oldest = 0;

	for (int i = 0; i < ADDRESSES; i++) {
		const struct oracle_block *block = &oracle->blocks[i];

		if (block->live && block->api == api && block->stack == stack)
			oracle_older(&oldest, block->time);
	}
	for (int i = 0; i < THREADS * API_COUNT; i++) {
		const struct oracle_call *call = &oracle->calls[0][0] + i;

		if (call->pending && call->held.live && call->held.api == api &&
		    call->held.stack == stack)
			oracle_older(&oldest, call->held.time);
	}
	for (int i = 1; i <= oracle->region_count; i++) {
		const struct oracle_region *region = &oracle->regions[i];

		if (region->pages && region->api == api && region->stack == stack)
			oracle_older(&oldest, region->time);
	}
	return oldest;
}

static inline int oracle_stack_of(const struct snapshot_stack *stack)
{
	for (int i = 0; i < STACKS; i++)
		if (oracle_stacks[i].caller == stack->frames[0].address)
			return i;
	fail();
	return 0;
}

/* An inherited site without live blocks is unused in the child. */
static inline bool oracle_site_used(const struct oracle_site *site)
{
	return site->allocations || site->failed || site->inherited_blocks;
}

static inline void oracle_compare_site(const struct oracle *oracle, int stack,
				       const struct snapshot_site *site)
{
	const struct oracle_site *expected = &oracle->sites[site->api][stack];

	assert_int_equal(site->allocations, expected->allocations);
	assert_int_equal(site->frees, expected->frees);
	assert_int_equal(site->bytes_allocated, expected->bytes);
	assert_int_equal(site->inherited_blocks, expected->inherited_blocks);
	assert_int_equal(site->inherited_bytes, expected->inherited_bytes);
	assert_int_equal(site->live_blocks, expected->live_blocks);
	assert_int_equal(site->live_bytes, expected->live_bytes);
	assert_int_equal(site->peak_live_bytes, expected->peak);
	assert_int_equal(site->failed_allocations, expected->failed);
	assert_int_equal(site->first_seen_ns, expected->first);
	assert_int_equal(site->oldest_ns, oracle_oldest(oracle, site->api, stack));
}

static inline void oracle_compare_section(const struct oracle *oracle,
					  const struct snapshot_process *section)
{
	size_t sites = 0;

	for (size_t i = 0; i < section->site_count; i++)
		oracle_compare_site(oracle,
				    oracle_stack_of(&section->stacks[section->sites[i].stack]),
				    &section->sites[i]);
	for (int i = 0; i < API_COUNT * STACKS; i++)
		sites += oracle_site_used(&oracle->sites[0][0] + i);
	assert_int_equal(section->site_count, sites);
	assert_int_equal(section->totals.peak_live_bytes, oracle->peak);
	assert_int_equal(section->losses.unmatched_frees, oracle->unmatched);
	assert_int_equal(section->losses.collisions, oracle->collisions);
	assert_int_equal(section->losses.missed_returns, oracle->missed);
	assert_int_equal(section->losses.stacks, oracle->lost);
	assert_int_equal(section->internal.frees, oracle->internal_frees);
	assert_int_equal(section->internal.munmaps, oracle->munmaps);
}

static inline void oracle_compare(const struct oracle *oracle, struct model_fixture *fixture)
{
	oracle_compare_section(oracle, look(fixture));
}

/* Drops all pending calls of a thread, the newest first. */
static inline void oracle_drop_thread(struct oracle *oracle, int thread)
{
	while (oracle->heights[thread]) {
		int api = oracle->piles[thread][--oracle->heights[thread]];

		oracle_undo(oracle, &oracle->calls[thread][api]);
		oracle->calls[thread][api].pending = false;
	}
}

/* Calls that are pending at the end have no effect. Drops them thread by thread, the lowest ID
 * first. */
static inline void oracle_close(struct oracle *oracle)
{
	bool dropped[THREADS] = {false};

	for (int i = 0; i < THREADS; i++) {
		int lowest = -1;

		for (int thread = 0; thread < THREADS; thread++)
			if (!dropped[thread] &&
			    (lowest < 0 || oracle->tids[thread] < oracle->tids[lowest]))
				lowest = thread;
		oracle_drop_thread(oracle, lowest);
		dropped[lowest] = true;
	}
}

static inline void send_oracle_stacks(struct model_fixture *fixture)
{
	for (int i = 0; i < STACKS; i++)
		if (oracle_stacks[i].announced)
			send_stack(fixture, oracle_stacks[i].id, &oracle_stacks[i].caller, 1, 0);
}

static inline void oracle_run(struct model_config config, unsigned int seed)
{
	struct oracle *oracle = calloc(1, sizeof(*oracle));
	struct model_fixture fixture = fixture_open(config);

	assert_non_null(oracle);
	srandom(seed);
	oracle->config = config;
	for (uint32_t thread = 0; thread < THREADS; thread++) {
		oracle->pids[thread] = PID;
		oracle->tids[thread] = PID + thread;
	}
	send_oracle_stacks(&fixture);
	for (int step = 1; step <= ORACLE_STEPS; step++) {
		random_call(oracle, &fixture);
		if (step % ORACLE_LOOK == 0)
			oracle_compare(oracle, &fixture);
	}
	send_event(&fixture, (struct event){.kind = EVENT_EXIT});
	oracle_close(oracle);
	oracle_compare(oracle, &fixture); /* what the model keeps of a closed process */
	fixture_close(&fixture);
	free(oracle);
}

#endif
