/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums and losses that a process keeps and that a snapshot shows. */
#ifndef MTRACE_MODEL_SUMS_H
#define MTRACE_MODEL_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/snapshot/leak.h"

struct snapshot_sum {
	uint64_t blocks;
	uint64_t bytes;
};

#define EXAMPLE_BYTES 16

/* One block, to look at. */
struct snapshot_example {
	uint64_t address; /* 0: there is none */
	uint64_t size;
	bool looked;       /* the rest is known: the process was there to be asked */
	uint64_t resident; /* bytes of it that are in memory, and that are swapped out; the rest */
	uint64_t swapped;  /* was never written */
	uint8_t bytes[EXAMPLE_BYTES]; /* the first ones; as many as were read */
	uint32_t read;
};

/* What the last leak scan said of a site's blocks; all 0 if there was none. */
struct snapshot_leaks {
	struct snapshot_sum classes[LEAK_CLASS_COUNT];
	uint64_t oldest_ns; /* when the oldest and the youngest definite one were allocated */
	uint64_t youngest_ns;
	/* The largest of each class, suppressed or not; of those that are reachable, none. */
	struct snapshot_example examples[LEAK_CLASS_COUNT];
	/* What suppressions excuse; in no class any more. The first of them that excused anything.
	 */
	struct snapshot_sum suppressed;
	const char *suppressed_by; /* its name, or NULL */
};

/* A leak scan of a process. */
struct snapshot_scan {
	bool done;
	bool live;          /* while it ran, rather than frozen */
	uint32_t passes;    /* that agree */
	const char *reason; /* why there was none although one was wanted, else NULL */
	uint64_t taken_ns;
	uint64_t pause_ns;    /* for which the process stood still */
	uint64_t duration_ns; /* of it all */
	uint64_t bytes_scanned;
	uint64_t bytes_unreadable;
	uint64_t bytes_between; /* heap memory in no known block: searched for pointers … */
	uint64_t bytes_free;    /* … and, in glibc's malloc, free for certain */
	struct snapshot_sum classes[LEAK_CLASS_COUNT];
	struct snapshot_sum suppressed; /* what suppressions excuse; in no class any more */
};

struct snapshot_losses {
	uint64_t events;
	uint64_t stacks;
	uint64_t truncated_stacks;
	uint64_t unmatched_frees;
	uint64_t missed_returns;
	uint64_t unprobed_sites;
	uint64_t gap_ns;
	uint64_t no_allocator; /* 1: no allocation function was found, and nothing traced */
	uint64_t children;     /* that could not be followed */
	uint64_t collisions;   /* an allocation at an address that was live: a free was not seen */
	uint64_t filtered;     /* no loss: allocations that --min-size and --max-size leave out */
};

void snapshot_losses_add(struct snapshot_losses *sum, const struct snapshot_losses *losses);

/* An estimate's bounds: the truth lies between them in 95 of 100 traces. */
struct snapshot_bounds {
	uint64_t low;
	uint64_t high;
};

#endif
