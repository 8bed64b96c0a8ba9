/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of one image of one process. */
#ifndef MTRACE_MODEL_PROCESS_STATE_H
#define MTRACE_MODEL_PROCESS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cow.h"
#include "base/map64.h"
#include "base/vec.h"
#include "model/block/heap.h"
#include "model/block/pending.h"
#include "model/block/region.h"
#include "model/block/size_class.h"
#include "model/config.h"
#include "model/event.h"
#include "model/origin.h"
#include "model/process/mapping.h"
#include "model/process/sanity.h"
#include "model/process/weight.h"
#include "model/site/series.h"
#include "model/site/site.h"
#include "model/site/stack.h"
#include "model/sums.h"

/* What an image is, shared with children that run it as well. */
struct process_program {
	uint32_t owners;
	char *exe;
	char *arch;
	char *cgroup;
	char *container;
	VEC(char *) command;
};

/* A process whose memory the books are of. It has several while a child of vfork shares it. */
struct user {
	uint32_t pid;
	uint32_t ppid;
	uint64_t start_time_ns;
	struct snapshot_losses told; /* that the source counted */
	uint32_t inner_pid;
};

struct totals {
	struct weight_sum sampled; /* with config's sample: allocations that were told */
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes_allocated;
	uint64_t bytes_freed;
	uint64_t peak_live_bytes;
	uint64_t failed_allocations;
	uint64_t sizes[SIZE_CLASSES]; /* allocations of each */
};

/* What a thread allocated last. */
struct last_call {
	uint32_t tid;
	uint64_t address;
};

#define LAST_CALLS 64 /* of so many threads, told apart by the end of their tids */

/* When a site's live blocks were allocated. */
struct ages {
	uint64_t oldest_ns; /* 0: there is none */
	uint64_t youngest_ns;
	uint64_t sum_ms; /* since the books' origin, of all blocks … */
	uint64_t count;  /* … of which there are so many */
};

struct process {
	const struct model_config *config;
	uint32_t number;        /* of these books, among all of the model */
	VEC(struct user) users; /* the first gives the books their pid; one remains when closed */
	uint32_t image;
	char *comm;
	struct process_program *program;
	enum origin origin;
	bool from_start;
	bool partial; /* the parent's books, of which these are a copy, were not complete */
	bool exited;
	bool replaced;
	bool left;
	uint32_t exit_code;
	uint64_t origin_ns; /* of the times of blocks */
	uint64_t since_ns;
	uint64_t until_ns; /* valid once closed */
	bool closed;
	bool settled; /* closed, and the tables are gone */

	struct heap heap;
	struct regions regions;
	struct pendings pendings;
	struct map64 ending; /* tids between EVENT_THREAD_ENDS and EVENT_THREAD_GONE */
	struct stacks stacks;
	struct cow_array sites; /* of struct site: see process_site_view */
	struct mappings mappings;
	struct sanity sanity;

	struct totals totals;          /* of the heap family */
	struct snapshot_sum inherited; /* likewise: live when the process was born */
	uint64_t live_blocks;          /* likewise */
	uint64_t live_bytes;
	uint64_t maps; /* the program's own regions: without API_MMAP_LIBC */
	uint64_t map_bytes;
	uint64_t internal_frees;
	uint64_t internal_munmaps;
	bool paused;                    /* new blocks and regions get no site */
	uint64_t unbooked;              /* of which there were so many */
	struct snapshot_losses found;   /* losses that the books themselves found … */
	struct snapshot_losses told;    /* … and those of users that have gone */
	struct weight_sum live_sampled; /* once settled: see weight_live */
	struct ages *ages;              /* per site, once settled; NULL: see process_ages */

	uint64_t now_ns;              /* of the last call */
	uint64_t tick_end_ns;         /* when the next tick begins */
	uint32_t tick;                /* since since_ns; see model/site/series.h */
	VEC(struct series *) series;  /* by site, NULL for most */
	struct last_call *last_calls; /* NULL: none was made */
	struct {
		uint32_t number; /* 0 is before all */
		uint64_t bytes;  /* that lived then */
		uint64_t ns;     /* when it was */
	} peak;                  /* see process_at_peak */

	struct snapshot_scan scan;    /* the last leak scan; see model/book/scan.h */
	char *scan_reason;            /* why there was none, or NULL */
	struct snapshot_leaks *leaks; /* what it found, for the first `leak_count` sites */
	size_t leak_count;
};

/* Are there heap calls that are not told? */
static inline bool process_is_thinned(const struct process *process)
{
	return process->config->sample || process->config->min_size || process->config->max_size;
}

static inline uint32_t process_pid(const struct process *process)
{
	return process->users.items[0].pid;
}

/* What never changes of a site: api, stack, next, first_seen_ns. */
static inline const struct site *process_site_at(const struct process *process, uint32_t site)
{
	return cow_read(&process->sites, site, sizeof(struct site));
}

/*
 * A site as this process has it. A forked process shares sites with its parent until one of them
 * writes: what another process wrote last counts as inherited.
 */
static inline struct site process_site_view(const struct process *process, uint32_t index)
{
	struct site site = *process_site_at(process, index);

	if (site.books != process->number)
		site_inherit(&site);
	return site;
}

/* A call happens now: time goes on by ticks. */
static inline void process_goes_on(struct process *process, uint64_t now_ns)
{
	process->now_ns = now_ns;
	if (now_ns < process->tick_end_ns)
		return;
	process->tick = (uint32_t)((now_ns - process->since_ns) / SERIES_TICK_NS);
	process->tick_end_ns = process->since_ns + (process->tick + 1ULL) * SERIES_TICK_NS;
}

/* The tick in which a time lies. */
static inline uint32_t process_tick(const struct process *process, uint64_t ns)
{
	return ns > process->since_ns ? (uint32_t)((ns - process->since_ns) / SERIES_TICK_NS) : 0;
}

/*
 * What of a site lived at the peak of the process. A new peak begins where more lives than at the
 * last one by 1/128 of that: so what is told lived at one moment, the first one at which all came
 * within 1% of the highest. Each site notes what lived when it changes for the first time
 * thereafter, so that a peak costs nothing, and all sites add up to it.
 */
static inline uint64_t process_at_peak(const struct process *process, const struct site *site)
{
	return site->peak == process->peak.number ? site->at_peak_bytes : site->live_bytes;
}

#endif
