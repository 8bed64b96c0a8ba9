/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A snapshot: what the books said at one moment, and all that a format may know. Owns its memory.
 * The field names are those of the JSON report.
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
	uint64_t offset; /* file offset, of address */
	/* Below: filled in by snapshot_resolve; strings belong to the snapshot; NULL if unknown. */
	const char *module;   /* path */
	const char *build_id; /* hex */
	uint64_t vaddr;       /* of address, in the module's own terms (st_value) */
	const char *function; /* demangled */
	const char *file;
	uint32_t line;
	bool inlined;
	bool exact;   /* no call left the frame: address is that of its next instruction */
	bool wrapper; /* an allocation function (operator new) rather than its caller */
};

struct snapshot_stack {
	uint32_t id; /* index in the process's stacks */
	uint32_t frame_count;
	uint32_t depth; /* return addresses that were taken, before inlined calls were expanded */
	struct snapshot_frame *frames;
	uint8_t stop;   /* enum stack_stop, or STOP_NOT_TAKEN: why it ends where it does */
	bool truncated; /* known to go on */
	bool guessed;   /* a frame pointer was believed on the way */
	/* Path of the module in which it ends; by snapshot_resolve, where it is not complete. */
	const char *end_module;
};

struct snapshot_site {
	uint32_t id; /* the same in every snapshot of the image, until its books are reset */
	enum api api;
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes_allocated;
	uint64_t inherited_blocks; /* live when the process was born: the parent allocated them */
	uint64_t inherited_bytes;
	uint64_t live_blocks; /* allocations + inherited_blocks - frees */
	uint64_t live_bytes;
	uint64_t peak_live_bytes;
	uint64_t failed_allocations;
	bool other;             /* stands for all that were too many to be kept; has no frames */
	uint64_t mismatched;    /* releases by what does not go with it, or with a wrong size */
	uint64_t bad_frees;     /* double frees of its blocks */
	uint64_t samples;       /* with sampling: allocations that were told, of all those */
	uint64_t first_seen_ns; /* monotonic */
	uint64_t oldest_ns;     /* time of the oldest live block, 0 if none */
	uint64_t youngest_ns;   /* likewise of the youngest one */
	uint64_t mean_ns;       /* when they were allocated on average */
	uint32_t stack;         /* index in the process's stacks */
	uint64_t at_peak_bytes; /* that lived at the process's peak: see process_at_peak */
	struct lifetimes lifetimes;  /* of those that were freed */
	struct growth growth;        /* zeroed if it is not known */
	const struct series *series; /* its ticks begin at traced_since_ns; NULL: none was kept */
	struct snapshot_sum before; /* that lived at the last report: see snapshot's before_ns … */
	bool told;                  /* … and the change is one of the greatest */
	struct snapshot_leaks leaks;
};

#define INDEX_NONE UINT32_MAX

/* A release that was an error, as often as it came from the same places; see
 * model/process/sanity.h. */
struct snapshot_error {
	enum sanity_kind kind;
	uint64_t count;
	enum api api;          /* what released; of a double free, the second one */
	enum api allocated_by; /* API_NONE if that is not known */
	enum api freed_by;     /* of a double free, what freed first; else API_NONE */
	uint32_t site;         /* id; INDEX_NONE if the block is not of any */
	/* Indices in the process's stacks, or INDEX_NONE: */
	uint32_t allocated_at;
	uint32_t freed_at;
	uint32_t freed_again_at; /* of a double free */
	uint64_t address;        /* of the first one */
	uint64_t size;           /* of that block; 0 if there is none */
	uint64_t told;           /* the size that delete was told, or SIZE_UNTOLD */
	uint64_t first_seen_ns;
};

/* A block that is live, of the heap families. */
struct snapshot_block {
	uint64_t address;
	uint64_t size;
	uint32_t stack; /* index in the process's stacks */
};

/*
 * Of a process whose heap calls were thinned out. With `mean`, all that is said of blocks is an
 * estimate from samples: totals, live, leaks, and the same of sites.
 */
struct snapshot_sampling {
	uint64_t mean;       /* one allocation in so many bytes was told, at most; 0: every one */
	uint64_t least_mean; /* … and at least */
	uint64_t min_size;   /* --min-size … */
	uint64_t max_size;   /* … --max-size; 0: none */
	uint64_t samples;    /* allocations that were told … */
	uint64_t live;       /* … and that still live */
	struct snapshot_bounds allocations, bytes_allocated, live_blocks, live_bytes;
};

struct snapshot_process {
	uint32_t pid;
	uint32_t ppid;
	uint32_t inner_pid; /* its number in its own pid namespace, or 0 where that is ours */
	uint64_t start_time_ns;
	uint32_t image; /* 0 for the first image seen of this process, +1 for each exec */
	const char *comm;
	const char *exe;
	const char **command; /* NULL-terminated */
	const char *backend;
	const char *arch;
	const char *cgroup;    /* path; NULL for the root */
	const char *container; /* its id or name, or NULL */
	enum origin
		origin;  /* FORKED: of ppid, and of the image that ppid had then; see inherited */
	bool from_start; /* traced from its first instruction: every block is known */
	bool exited;
	bool replaced;      /* ended by exec: a later image of the same pid follows */
	bool left;          /* runs on, and is not traced any more */
	uint32_t exit_code; /* as wait(2) gives it; valid if exited */
	uint64_t traced_since_ns;
	uint64_t traced_until_ns;
	struct {
		uint64_t allocations, frees, bytes_allocated, bytes_freed, peak_live_bytes,
			failed_allocations;
	} totals;
	uint64_t sizes[SIZE_CLASSES];  /* of totals.allocations, how many of each size_class */
	struct snapshot_sum inherited; /* live when it was born: in live, not in totals */
	struct snapshot_sum live;
	struct {
		uint64_t bytes, ns;
	} peak; /* the moment of at_peak_bytes: within 1% of totals.peak_live_bytes */
	struct {
		uint64_t maps, bytes;
	} mappings;
	struct {
		uint64_t frees, munmaps;
	} internal;
	bool paused;       /* what it allocates now is not booked, because the user wants so */
	uint64_t unbooked; /* allocations that are not for that reason */
	struct snapshot_losses losses;
	struct snapshot_sampling sampling;
	struct snapshot_scan scan;
	struct snapshot_site *sites;
	size_t site_count;
	struct snapshot_stack *stacks;
	size_t stack_count;
	struct {
		bool done;         /* --sanity was given */
		uint64_t errors;   /* sum of their counts, listed or not */
		uint64_t unlisted; /* that found no place in the list */
		uint64_t unjudged; /* frees of what did not live, which nothing can be said of */
	} sanity;
	struct snapshot_error *errors; /* the most serious first */
	size_t error_count;
	struct snapshot_block
		*blocks; /* by address; none unless they were asked for (lists_blocks) */
	size_t block_count;
	uint64_t
		other_calls; /* of sites that were too many to be kept: see snapshot_site's other */
};

/* Sections that are left out of a snapshot, summed up: of many that ended, the least remarkable. */
struct snapshot_others {
	uint64_t sections;
	uint64_t processes;       /* sections that were not replaced by exec */
	uint64_t scanned;         /* sections in which leaks were searched for */
	struct snapshot_sum gone; /* of live: what was left when exec replaced it */
	/* Of identity, sites, stacks and scan nothing is known but the sums; peaks are added, too.
	 */
	struct snapshot_process sums;
};

/* What tracing cost those who are traced, of their time of processors, in millionths. */
struct snapshot_overhead {
	uint64_t measured;    /* how often; 0: the rest is not known, but for the budget */
	uint32_t budget_ppm;  /* --max-overhead; 0: none */
	uint32_t cost_ppm;    /* when it was measured last */
	uint32_t program_ppm; /* of that, in BPF programs */
	uint32_t floor_ppm;   /* of that, what no sampling can reduce */
	bool hopeless;        /* the floor is beyond the budget */
	uint64_t mean;        /* since then one allocation in so many bytes is told; 0: all */
	uint64_t changes;     /* of the mean */
};

struct snapshot {
	uint64_t taken_ns; /* CLOCK_MONOTONIC */
	int64_t taken_at;  /* seconds since the epoch, for people */
	uint32_t taken_at_ms;
	const char *version;
	const char *incomplete; /* what they were made of is not all there, and why; else NULL */
	struct snapshot_process *processes;
	size_t process_count;
	struct snapshot_others others;
	uint64_t dropped;      /* events that made no sense: see model_event */
	uint64_t before_ns;    /* of the last report, which this one is compared with; 0 */
	uint64_t before_bytes; /* that lived then in all */
	struct {
		uint64_t books_bytes;    /* of our memory: blocks, sites, stacks, series */
		uint64_t resident_bytes; /* all of it; 0 if it is not known */
		uint64_t without_series; /* sites that are not watched for growth: too many */
	} tool;
	struct snapshot_overhead overhead;
	struct snapshot_arena *arena; /* owns every string and array above */
};

/* How many of a process's stacks are complete, and how many of its calls have such a stack. */
struct stack_quality {
	uint64_t stacks;
	uint64_t complete;  /* reached the outermost frame */
	uint64_t truncated; /* known to go on; of the others, neither is known */
	uint64_t guessed;
	uint64_t calls; /* allocations of all sites, mapped regions included */
	uint64_t complete_calls;
	uint64_t by_reason[STOP_REASONS];
};

void snapshot_quality(const struct snapshot_process *process, struct stack_quality *ret_quality);

/*
 * Which of two sections matters more: lost bytes first, then live bytes beyond the inherited, then
 * bytes allocated. > 0 if it is `a`, < 0 if it is `b`.
 */
int snapshot_compare(const struct snapshot_process *a, const struct snapshot_process *b);
/* Add a section to the sums. */
void snapshot_others_add(struct snapshot_others *others, const struct snapshot_process *section);

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

/* Blocks that are lost, as their sites' own or with others. */
static inline struct snapshot_sum snapshot_lost(const struct snapshot_sum classes[LEAK_CLASS_COUNT])
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

/* Are all its live blocks those that the parent had when it forked? */
static inline bool snapshot_is_inherited(const struct snapshot_site *site)
{
	return site->inherited_blocks && site->live_blocks && !site->allocations;
}

/* It has grown for so long that it should be looked at: see suspect.h. */
#define SUSPECT_LEAST_NS 10000000000ULL

static inline bool snapshot_is_suspect(const struct snapshot_site *site)
{
	return site->growth.grows && site->growth.ns >= SUSPECT_LEAST_NS && site->live_blocks &&
	       !site->leaks.suppressed.blocks;
}

/*
 * Walking over a process's sites in order: is this one among the first `top` (0: all) of its
 * family? Heap sites and mapped regions have a list each; sites that lost blocks, whose
 * blocks were released wrongly, suspects, and those whose
 * changes are told are always among them. `ranks` is zeroed before the walk.
 */
static inline bool snapshot_is_top(uint64_t ranks[FAMILY_COUNT], const struct snapshot_site *site,
				   uint64_t top)
{
	return !top || ranks[api_row(site->api)->family]++ < top ||
	       site->leaks.classes[LEAK_DEFINITE].blocks || site->mismatched || site->bad_frees ||
	       snapshot_is_suspect(site) || site->told;
}

/* Sort keys (--sort). Sites end up with the worst first; ties broken by id, so order is stable. */
enum sort_key {
	SORT_USAGE,       /* live bytes */
	SORT_ALLOCATIONS, /* calls */
	SORT_TOTAL,       /* bytes allocated in all */
	SORT_AVERAGE,     /* bytes per allocation */
	SORT_LEAKS,       /* definite blocks */
	SORT_BYTES_LEAKED,
	SORT_AGE,        /* oldest live block */
	SORT_MISMATCHED, /* releases by what does not go with it */
	SORT_BADFREE,    /* double frees */
	SORT_TSC,        /* order of first appearance */
	SORT_GROWTH,     /* bytes per second (model/site/growth.h) */
	SORT_COUNT,
};

const char *sort_key_name(enum sort_key key);
int sort_key_parse(const char *name, enum sort_key *ret_key); /* 0 or -EINVAL */
/* What the key counts of a site: the more, the worse; by appearance, ids alone tell. */
uint64_t sort_key_weight(enum sort_key key, const struct snapshot_site *site);
void snapshot_sort(struct snapshot *snapshot, enum sort_key key);

#endif
