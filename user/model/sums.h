/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums and losses that a process counts and that a snapshot shows. */
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

/* An example of a block. */
struct snapshot_example {
	uint64_t address; /* 0 if there is none */
	uint64_t size;
	bool looked;       /* the rest is valid: the process still existed and was examined */
	uint64_t resident; /* bytes of it in memory, and bytes swapped out; the rest … */
	uint64_t swapped;  /* … was never written */
	uint8_t bytes[EXAMPLE_BYTES]; /* the first bytes; `read` of them are valid */
	uint32_t read;
};

/* The results of the last leak scan for the blocks of a site; all 0 if there was none. */
struct snapshot_leaks {
	struct snapshot_sum classes[LEAK_CLASS_COUNT];
	uint64_t oldest_ns; /* allocation times of the oldest and the youngest definite block */
	uint64_t youngest_ns;
	/* The largest block of each class except reachable, suppressed or not. */
	struct snapshot_example examples[LEAK_CLASS_COUNT];
	/* Leaks that suppressions match; they are no longer in any class. */
	struct snapshot_sum suppressed;
	const char *suppressed_by; /* name of the first suppression that matched, or NULL */
};

/* A leak scan of a process. */
struct snapshot_scan {
	bool done;
	bool live;          /* while the process was running, not stopped */
	uint32_t passes;    /* number of passes that agree */
	const char *reason; /* why there was no scan although one was wanted, or NULL */
	uint64_t taken_ns;
	uint64_t pause_ns;    /* time for which the process was stopped */
	uint64_t duration_ns; /* total time */
	uint64_t bytes_scanned;
	uint64_t bytes_unreadable;
	uint64_t bytes_between; /* heap memory in no known block: searched for pointers … */
	uint64_t bytes_free;    /* … and, in glibc's malloc, certainly free */
	struct snapshot_sum classes[LEAK_CLASS_COUNT];
	struct snapshot_sum suppressed; /* matched by suppressions; no longer in any class */
	uint64_t tagged; /* LEAK_POSSIBLE blocks, suppressed ones too, found by a tagged pointer */
};

struct snapshot_losses {
	uint64_t events;
	uint64_t stacks;
	uint64_t truncated_stacks;
	uint64_t unmatched_frees;
	uint64_t missed_returns;
	uint64_t unprobed_sites;
	uint64_t gap_ns;
	uint64_t no_allocator; /* 1: no allocation function was found, so nothing was traced */
	uint64_t children;     /* that could not be traced */
	uint64_t collisions;   /* allocations at addresses that were live: a free was missed */
	uint64_t filtered;     /* not a loss: allocations that --min-size and --max-size exclude */
};

/* Returns true if calls are missing, so that not every leak is known. */
bool snapshot_losses_hide_calls(const struct snapshot_losses *losses);
void snapshot_losses_add(struct snapshot_losses *sum, const struct snapshot_losses *losses);

/* Bounds of an estimate: the true value is between them in 95 of 100 traces. */
struct snapshot_bounds {
	uint64_t low;
	uint64_t high;
};

#endif
