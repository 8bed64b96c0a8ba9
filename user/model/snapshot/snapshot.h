/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot: the state of the model at one moment, and the only data that report formats see. It
 * owns its memory. The names of fields are those of the JSON report.
 */
#ifndef MTRACE_MODEL_SNAPSHOT_SNAPSHOT_H
#define MTRACE_MODEL_SNAPSHOT_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "model/block/lifetime.h"
#include "model/block/size_class.h"
#include "model/origin.h"
#include "model/sanity_kind.h"
#include "model/site/growth.h"
#include "model/site/stop.h"
#include "model/snapshot/leak.h"
#include "model/sums.h"

struct snapshot_frame {
	uint64_t address; /* return address */
	uint32_t module_id;
	uint64_t offset; /* file offset of address */
	/* Set by snapshot_resolve; strings belong to the snapshot; NULL if unknown. */
	const char *module;   /* path */
	const char *build_id; /* hexadecimal */
	uint64_t vaddr;       /* address in the module (st_value) */
	const char *function; /* demangled */
	const char *file;
	uint32_t line;
	bool inlined;
	bool exact;   /* address is the next instruction of the frame, not a return address */
	bool wrapper; /* the frame is an allocation function (operator new), not its caller */
};

struct snapshot_stack {
	uint32_t id; /* index in the process's stacks */
	uint32_t frame_count;
	uint32_t depth; /* number of return addresses, before inlined calls were expanded */
	struct snapshot_frame *frames;
	uint8_t stop;   /* enum stack_stop, or STOP_NOT_TAKEN: why the stack ends */
	bool truncated; /* known to be incomplete */
	bool guessed;   /* a frame pointer was used on the way */
	/* Path of the module in which an incomplete stack ends; set by snapshot_resolve. */
	const char *end_module;
};

struct snapshot_site {
	uint32_t id; /* the same in every snapshot of the image, until its counts are reset */
	enum api api;
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes_allocated;
	uint64_t inherited_blocks; /* live when the process started: allocated by the parent */
	uint64_t inherited_bytes;
	uint64_t live_blocks; /* allocations + inherited_blocks - frees */
	uint64_t live_bytes;
	uint64_t peak_live_bytes;
	uint64_t failed_allocations;
	bool other;          /* stands for all sites that were too many; has no frames */
	uint64_t mismatched; /* releases that do not match the allocation, or have a wrong size */
	uint64_t bad_frees;  /* double frees of its blocks */
	uint64_t samples;    /* with sampling: recorded allocations, of all those */
	uint64_t first_seen_ns;      /* monotonic */
	uint64_t oldest_ns;          /* time of the oldest live block, 0 if none */
	uint64_t youngest_ns;        /* time of the youngest live block, 0 if none */
	uint64_t mean_ns;            /* average time of their allocation */
	uint32_t stack;              /* index in the process's stacks */
	uint64_t at_peak_bytes;      /* live at the peak of the process: see process_at_peak */
	struct lifetimes lifetimes;  /* of freed blocks */
	struct growth growth;        /* zeroed if unknown */
	const struct series *series; /* ticks start at traced_since_ns; NULL if there is none */
	struct snapshot_sum before;  /* live at the last report: see the snapshot's before_ns … */
	bool reported_change;        /* … and the change is one of the largest */
	struct snapshot_leaks leaks;
};

#define INDEX_NONE UINT32_MAX

/* A wrong release, with the number of times that it happened at the same places; see
 * model/process/sanity.h. */
struct snapshot_error {
	enum sanity_kind kind;
	uint64_t count;
	enum api api;          /* what released; for a double free, the second one */
	enum api allocated_by; /* API_NONE if unknown */
	enum api freed_by;     /* for a double free, the first one; otherwise API_NONE */
	uint32_t site;         /* id; INDEX_NONE if the block has no site */
	/* Indices in the process's stacks, or INDEX_NONE: */
	uint32_t allocated_at;
	uint32_t freed_at;
	uint32_t freed_again_at; /* for a double free */
	uint64_t address;        /* of the first occurrence */
	uint64_t size;           /* of that block; 0 if there is none */
	uint64_t passed_size;    /* size that was passed to delete, or SIZE_UNKNOWN */
	uint64_t first_seen_ns;
};

/* A live block of the heap family. */
struct snapshot_block {
	uint64_t address;
	uint64_t size;
	uint32_t stack; /* index in the process's stacks */
};

/*
 * Sampling and filters of a process. If `mean` is set, everything about blocks is an estimate from
 * samples: totals, live, leaks, and the same of sites.
 */
struct snapshot_sampling {
	uint64_t mean;       /* largest mean: one allocation per this many bytes; 0: every one */
	uint64_t least_mean; /* … and the smallest mean */
	uint64_t min_size;   /* --min-size … */
	uint64_t max_size;   /* … and --max-size; 0: none */
	uint64_t samples;    /* number of sampled allocations … */
	uint64_t live;       /* … and how many of them are live */
	struct snapshot_bounds allocations, bytes_allocated, live_blocks, live_bytes;
};

struct snapshot_process {
	uint32_t pid;
	uint32_t ppid;
	uint32_t inner_pid; /* its pid in its own pid namespace, or 0 if that is ours */
	uint64_t start_time_ns;
	uint32_t image; /* 0 for the first image of this process that was seen, +1 for each exec */
	const char *comm;
	const char *exe;
	const char **command; /* NULL-terminated */
	const char *backend;
	const char *arch;
	const char *cgroup;    /* path; NULL for the root */
	const char *container; /* id or name, or NULL */
	enum origin origin;    /* if FORKED: by ppid, from its image at that time; see inherited */
	bool from_start;       /* traced from its first instruction, so every block is known */
	bool exited;
	bool replaced;      /* ended by exec: a later image of the same pid follows */
	bool left;          /* still running, but no longer traced */
	uint32_t exit_code; /* as from wait(2); valid if exited */
	uint64_t traced_since_ns;
	uint64_t traced_until_ns;
	struct {
		uint64_t allocations, frees, bytes_allocated, bytes_freed, peak_live_bytes,
			failed_allocations;
	} totals;
	uint64_t sizes[SIZE_CLASSES];  /* number of totals.allocations in each size_class */
	struct snapshot_sum inherited; /* live when the process started: in live, not in totals */
	struct snapshot_sum live;
	struct {
		uint64_t bytes, ns;
	} peak; /* the time of at_peak_bytes: within 1% of totals.peak_live_bytes */
	struct {
		uint64_t maps, bytes;
	} mappings;
	struct {
		uint64_t frees, munmaps;
	} internal;
	bool paused;          /* the user has paused recording */
	uint64_t unaccounted; /* allocations that were not recorded because of that */
	struct snapshot_losses losses;
	struct snapshot_sampling sampling;
	struct snapshot_scan scan;
	struct snapshot_site *sites;
	size_t site_count;
	struct snapshot_stack *stacks;
	size_t stack_count;
	struct {
		bool done;          /* --sanity was given */
		uint64_t errors;    /* sum of the counts, listed or not */
		uint64_t unlisted;  /* not in the list because it is full */
		uint64_t uncertain; /* frees of addresses that were not live, but may be correct */
	} sanity;
	struct snapshot_error *errors; /* the most serious first */
	size_t error_count;
	struct snapshot_block *blocks; /* by address; only if requested (lists_blocks) */
	size_t block_count;
	uint64_t other_calls; /* calls of sites that were too many: see snapshot_site's other */
};

/* The sum of sections that are not in the snapshot: the least important ones of many that have
 * ended. */
struct snapshot_others {
	uint64_t sections;
	uint64_t processes;       /* sections that were not replaced by exec */
	uint64_t scanned;         /* sections with a leak scan */
	struct snapshot_sum gone; /* of live: what remained when exec replaced the image */
	/* Only sums are set, not identity, sites, stacks or scan; peaks are summed up as well. */
	struct snapshot_process sums;
};

/* The overhead of tracing, as a share of the traced processes' CPU time, in millionths. */
struct snapshot_overhead {
	uint64_t measured;    /* number of measurements; if 0, only the budget is valid */
	uint32_t budget_ppm;  /* --max-overhead; 0: none */
	uint32_t cost_ppm;    /* at the last measurement */
	uint32_t program_ppm; /* of that, in BPF programs */
	uint32_t floor_ppm;   /* of that, what sampling cannot reduce */
	bool hopeless;        /* the floor exceeds the budget */
	uint64_t mean;    /* current mean: one allocation per this many bytes is sampled; 0: all */
	uint64_t changes; /* number of changes of the mean */
};

/* What was left out to keep the model within --max-memory. All 0 if nothing was. */
struct snapshot_limit {
	uint64_t since_ns; /* CLOCK_MONOTONIC; since then only a sample of new blocks is kept … */
	uint64_t mean;     /* … one allocation per this many bytes */
	bool sites;        /* calls from new sites belong to the site `other` */
};

struct snapshot {
	uint64_t taken_ns; /* CLOCK_MONOTONIC */
	int64_t taken_at;  /* seconds since the epoch */
	uint32_t taken_at_ms;
	const char *version;
	const char *incomplete; /* why the input is incomplete, or NULL */
	struct snapshot_process *processes;
	size_t process_count;
	struct snapshot_others others;
	uint64_t dropped;      /* invalid events: see model_event */
	uint64_t before_ns;    /* time of the last report, which this one is compared with; or 0 */
	uint64_t before_bytes; /* total live bytes at that time */
	struct {
		uint64_t model_bytes;    /* memory of the model: blocks, sites, stacks, series */
		uint64_t resident_bytes; /* all of our memory; 0 if unknown */
		uint64_t without_series; /* sites that are not checked for growth because there are
					    too many */
		uint64_t max_bytes;      /* --max-memory; 0: no limit */
		struct snapshot_limit limit;
	} tool;
	struct snapshot_overhead overhead;
	struct snapshot_arena *arena; /* owns all strings and arrays above */
};

/* The number of stacks that are complete, and of calls that have such a stack. */
struct stack_quality {
	uint64_t stacks;
	uint64_t complete;  /* reach the outermost frame */
	uint64_t truncated; /* known to be incomplete; all others are undetermined */
	uint64_t guessed;
	uint64_t calls; /* allocations of all sites, including mapped regions */
	uint64_t complete_calls;
	uint64_t by_reason[STOP_REASONS];
};

void snapshot_quality(const struct snapshot_process *process, struct stack_quality *ret_quality);

/*
 * Compares the importance of two sections: by errors, then leaked bytes, then live bytes beyond the
 * inherited, then allocated bytes. Returns > 0 if `a` is more important, < 0 if `b` is.
 */
int snapshot_compare(const struct snapshot_process *a, const struct snapshot_process *b);
/* Adds a section to the sums. */
void snapshot_others_add(struct snapshot_others *others, const struct snapshot_process *section);

/* Creates an empty snapshot. Returns NULL if out of memory. */
struct snapshot *snapshot_new(void);
void snapshot_free(struct snapshot *snapshot); /* NULL is fine */

/* Allocates zeroed memory that is freed with the snapshot. Returns NULL if out of memory. */
void *snapshot_alloc(struct snapshot *snapshot, size_t bytes);
/* Returns the memory use of the snapshot, in bytes. */
size_t snapshot_bytes(const struct snapshot *snapshot);
/* Copies a string, or returns an equal one. Returns NULL if out of memory or if text is NULL. */
const char *snapshot_string(struct snapshot *snapshot, const char *text);

/* One name of a code address. With inlined calls there are several, innermost first. */
struct frame_name {
	const char *function; /* demangled, NULL if unknown */
	const char *file;
	uint32_t line;
	bool inlined;
};

/* Leaked blocks: definite and indirect. */
static inline struct snapshot_sum snapshot_leaked(
	const struct snapshot_sum classes[LEAK_CLASS_COUNT])
{
	const struct snapshot_sum *definite = &classes[LEAK_DEFINITE];
	const struct snapshot_sum *indirect = &classes[LEAK_INDIRECT];

	return (struct snapshot_sum){definite->blocks + indirect->blocks,
				     definite->bytes + indirect->bytes};
}

/* Returns true if every block is reachable. */
static inline bool snapshot_is_clean(const struct snapshot_sum classes[LEAK_CLASS_COUNT])
{
	for (int leak = 0; leak < LEAK_CLASS_COUNT; leak++)
		if (leak != LEAK_REACHABLE && classes[leak].blocks)
			return false;
	return true;
}

/* Returns true if all live blocks of the site were inherited from the parent. */
static inline bool snapshot_is_inherited(const struct snapshot_site *site)
{
	return site->inherited_blocks && site->live_blocks && !site->allocations;
}

/* Returns true if the site has been growing long enough to be worth attention: see suspect.h. */
#define SUSPECT_LEAST_NS 10000000000ULL

static inline bool snapshot_is_suspect(const struct snapshot_site *site)
{
	return site->growth.grows && site->growth.ns >= SUSPECT_LEAST_NS && site->live_blocks &&
	       !site->leaks.suppressed.blocks;
}

/*
 * Call this for the sites of a process in order. Returns true if the site is among the first `top`
 * (0: all) of its family; heap sites and mapped regions are counted separately. Sites with leaked
 * or wrongly released blocks, suspects, and sites whose changes are reported are always included.
 * `ranks` must be zeroed before the first call.
 */
static inline bool snapshot_is_top(uint64_t ranks[FAMILY_COUNT], const struct snapshot_site *site,
				   uint64_t top)
{
	return !top || ranks[api_row(site->api)->family]++ < top ||
	       site->leaks.classes[LEAK_DEFINITE].blocks || site->mismatched || site->bad_frees ||
	       snapshot_is_suspect(site) || site->reported_change;
}

/* Sort keys (--sort). The worst site comes first; ties are broken by id, so the order is stable. */
enum sort_key {
	SORT_USAGE,       /* live bytes */
	SORT_ALLOCATIONS, /* calls */
	SORT_TOTAL,       /* total bytes allocated */
	SORT_AVERAGE,     /* bytes per allocation */
	SORT_LEAKS,       /* definite blocks */
	SORT_BYTES_LEAKED,
	SORT_AGE,        /* oldest live block */
	SORT_MISMATCHED, /* releases that do not match the allocation */
	SORT_BADFREE,    /* double frees */
	SORT_TSC,        /* order of first appearance */
	SORT_GROWTH,     /* bytes per second (model/site/growth.h) */
	SORT_COUNT,
};

const char *sort_key_name(enum sort_key key);
int sort_key_parse(const char *name, enum sort_key *ret_key); /* 0 or -EINVAL */
/* The number by which the key sorts, in descending order. For SORT_TSC it is always 0, so ids
 * determine the order. */
uint64_t sort_key_weight(enum sort_key key, const struct snapshot_site *site);
void snapshot_sort(struct snapshot *snapshot, enum sort_key key);

#endif
