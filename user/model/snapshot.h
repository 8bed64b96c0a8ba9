/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot: what the books said at one moment, and all that a sink may know. Owns its memory.
 * The field names are those of the JSON report.
 */
#ifndef MTRACE_MODEL_SNAPSHOT_H
#define MTRACE_MODEL_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

struct snapshot_frame {
	uint64_t address; /* return address; 0 for an inlined frame's continuation is not used */
	uint32_t module_id;
	uint64_t offset; /* file offset, of address */
	/* Below: filled in by snapshot_resolve; strings belong to the snapshot; NULL if unknown. */
	const char *module;   /* path */
	const char *build_id; /* hex */
	const char *function; /* demangled */
	const char *file;
	uint32_t line;
	bool inlined;
	bool wrapper; /* an allocation function (operator new) rather than its caller */
};

struct snapshot_stack {
	uint32_t id; /* index in the process's stacks */
	uint32_t frame_count;
	struct snapshot_frame *frames;
	bool truncated;
};

struct snapshot_site {
	uint32_t id;
	enum api api;
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes_allocated;
	uint64_t live_blocks;
	uint64_t live_bytes;
	uint64_t peak_live_bytes;
	uint64_t failed_allocations;
	uint64_t first_seen_ns; /* monotonic */
	uint64_t oldest_ns;     /* time of the oldest live block, 0 if none */
	uint32_t stack;         /* index in the process's stacks */
};

struct snapshot_losses {
	uint64_t events;
	uint64_t stacks;
	uint64_t truncated_stacks;
	uint64_t unmatched_frees;
	uint64_t missed_returns;
	uint64_t unprobed_sites;
	uint64_t gap_ns;
	uint64_t collisions; /* an allocation at an address that was live: a free was not seen */
};

struct snapshot_process {
	uint32_t pid;
	uint32_t ppid;
	uint64_t start_time_ns;
	uint32_t image; /* 0 for the first image seen of this process, +1 for each exec */
	const char *comm;
	const char *exe;
	const char **command; /* NULL-terminated */
	const char *backend;
	const char *arch;
	bool launched;
	bool exited;
	bool replaced;      /* ended by exec: a later image of the same pid follows */
	uint32_t exit_code; /* as wait(2) gives it; valid if exited */
	uint64_t traced_since_ns;
	uint64_t traced_until_ns;
	struct {
		uint64_t allocations, frees, bytes_allocated, bytes_freed, peak_live_bytes,
			failed_allocations;
	} totals;
	struct {
		uint64_t blocks, bytes;
	} live;
	struct {
		uint64_t maps, bytes;
	} mappings;
	struct {
		uint64_t frees, munmaps;
	} internal;
	struct snapshot_losses losses;
	struct snapshot_site *sites;
	size_t site_count;
	struct snapshot_stack *stacks;
	size_t stack_count;
};

struct snapshot {
	uint64_t taken_ns; /* CLOCK_MONOTONIC */
	int64_t taken_at;  /* seconds since the epoch, for people */
	uint32_t taken_at_ms;
	const char *version;
	struct snapshot_process *processes;
	size_t process_count;
	struct snapshot_arena *arena; /* owns every string and array above */
};

/* An empty snapshot with its arena; NULL if out of memory. */
struct snapshot *snapshot_new(void);
void snapshot_free(struct snapshot *snapshot); /* NULL is fine */

/* Memory that lives as long as the snapshot; zeroed; NULL if out of memory. */
void *snapshot_alloc(struct snapshot *snapshot, size_t bytes);
/* A copy of the string, shared with equal ones; NULL if out of memory or text is NULL. */
const char *snapshot_string(struct snapshot *snapshot, const char *text);

/* One name for a code address; inlined calls give several, innermost first. */
struct frame_name {
	const char *function; /* demangled, NULL if unknown */
	const char *file;
	uint32_t line;
	bool inlined;
};

/* How a snapshot gets its names: the caller's symbolizer, seen from below. */
struct resolver {
	/*
	 * Names of the code at a file offset of a module, innermost first. Returns how many were
	 * stored (at most max), 0 for none. The strings need to live until the next call only.
	 */
	size_t (*names)(void *ctx, uint32_t module_id, uint64_t offset,
			struct frame_name *ret_names, size_t max);
	/* Path and build id (hex, or NULL) of a module. */
	void (*module)(void *ctx, uint32_t module_id, const char **ret_path,
		       const char **ret_build_id);
	/* Called now and then with what is done of the whole; may be NULL. */
	void (*progress)(void *ctx, size_t done, size_t total);
	void *ctx;
};

/*
 * Walking over a process's sites in order: is this one among the first `top` (0: all) of its
 * family? Heap sites and mapped regions have a list each. `ranks` is zeroed before the walk.
 */
static inline bool snapshot_is_top(uint64_t ranks[FAMILY_COUNT], const struct snapshot_site *site,
				   uint64_t top)
{
	return !top || ranks[api_row(site->api)->family]++ < top;
}

/*
 * Fill in the names of every frame of the top sites of each process (snapshot_is_top), expanding
 * inlined calls into frames of their own. Every distinct (module, offset) is asked for once.
 * 0 or -ENOMEM.
 */
int snapshot_resolve(struct snapshot *snapshot, const struct resolver *resolver, size_t top);

/* Sort keys (--sort). Sites end up with the worst first; ties broken by id, so order is stable. */
enum sort_key {
	SORT_USAGE,       /* live bytes */
	SORT_ALLOCATIONS, /* calls */
	SORT_TOTAL,       /* bytes allocated in all */
	SORT_AVERAGE,     /* bytes per allocation */
	SORT_AGE,         /* oldest live block */
	SORT_TSC,         /* order of first appearance */
	SORT_COUNT,
};

const char *sort_key_name(enum sort_key key);
int sort_key_parse(const char *name, enum sort_key *ret_key); /* 0 or -EINVAL */
void snapshot_sort(struct snapshot *snapshot, enum sort_key key);

#endif
