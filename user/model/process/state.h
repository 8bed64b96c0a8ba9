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

/* Properties of an image; shared with children that run the same image. */
struct process_program {
	uint32_t owners;
	char *exe;
	char *arch;
	char *cgroup;
	char *container;
	VEC(char *) command;
};

/* A process that uses this memory. There are several while a child of vfork shares it. */
struct user {
	uint32_t pid;
	uint32_t ppid;
	uint64_t start_time_ns;
	struct snapshot_losses losses; /* losses counted by the source */
	uint32_t inner_pid;
};

struct totals {
	struct weight_sum sampled; /* with sampling: the recorded allocations */
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes_allocated;
	uint64_t bytes_freed;
	uint64_t peak_live_bytes;
	uint64_t failed_allocations;
	uint64_t sizes[SIZE_CLASSES]; /* number of allocations of each class */
};

/* The latest allocation of a thread. */
struct last_call {
	uint32_t tid;
	uint64_t address;
};

#define LAST_CALLS 64 /* number of entries; the index is the tid modulo this */

/* Allocation times of a site's live blocks. */
struct ages {
	uint64_t oldest_ns; /* 0 if there are none */
	uint64_t youngest_ns;
	uint64_t sum_ms; /* sum over all blocks of the time since origin_ns … */
	uint64_t count;  /* … and the number of these blocks */
};

struct process {
	const struct model_config *config;
	uint32_t number;        /* unique in the model */
	VEC(struct user) users; /* the first one determines the pid; one remains when closed */
	uint32_t image;
	char *comm;
	struct process_program *program;
	enum origin origin;
	bool from_start;
	bool partial; /* a copy of a parent's model that was not complete */
	bool exited;
	bool replaced;
	bool left;
	uint32_t exit_code;
	uint64_t origin_ns; /* times of blocks are relative to this */
	uint64_t since_ns;
	uint64_t until_ns; /* valid if closed */
	bool closed;
	bool settled; /* closed, and the tables were freed */

	struct heap heap;
	struct regions regions;
	struct pendings pendings;
	struct map64 ending; /* tids between EVENT_THREAD_EXITS and EVENT_THREAD_GONE */
	struct stacks stacks;
	struct cow_array sites; /* of struct site: see process_site_view */
	struct mappings mappings;
	struct sanity sanity;

	struct totals totals;          /* of the heap family */
	struct snapshot_sum inherited; /* of the heap family: live when the process started */
	uint64_t live_blocks;          /* of the heap family */
	uint64_t live_bytes;
	uint64_t maps; /* the program's own regions, without API_MMAP_LIBC */
	uint64_t map_bytes;
	uint64_t internal_frees;
	uint64_t internal_munmaps;
	bool paused;                    /* new blocks and regions get no site */
	uint64_t unaccounted;           /* number of those */
	struct snapshot_losses found;   /* losses found by the model itself … */
	struct snapshot_losses losses;  /* … and those of former users */
	struct weight_sum live_sampled; /* valid if settled: see weight_live */
	struct ages *ages;              /* by site, valid if settled; NULL: see process_ages */

	uint64_t now_ns;              /* time of the latest call */
	uint64_t tick_end_ns;         /* start of the next tick */
	uint32_t tick;                /* number since since_ns; see model/site/series.h */
	VEC(struct series *) series;  /* by site; mostly NULL */
	struct last_call *last_calls; /* NULL until there is one */
	struct {
		uint32_t number; /* 0 is before the first peak */
		uint64_t bytes;  /* live at the peak */
		uint64_t ns;     /* time of the peak */
	} peak;                  /* see process_at_peak */

	struct snapshot_scan scan;    /* the last leak scan; see model/update/scan.h */
	char *scan_reason;            /* why there was none, or NULL */
	struct snapshot_leaks *leaks; /* findings of the last scan, for `leak_count` sites */
	size_t leak_count;
};

/* Returns true if some heap calls are not recorded. */
static inline bool process_is_filtered(const struct process *process)
{
	const struct model_config *config = process->config;

	return config->sample || config->limit_sample || config->min_size || config->max_size;
}

static inline uint32_t process_pid(const struct process *process)
{
	return process->users.items[0].pid;
}

/* Returns a site for its constant fields only: api, stack, next, first_seen_ns. */
static inline const struct site *process_site_at(const struct process *process, uint32_t site)
{
	return cow_read(&process->sites, site, sizeof(struct site));
}

/*
 * Returns a site as this process sees it. A forked process shares sites with its parent until one
 * of them writes: what another process wrote last counts as inherited.
 */
static inline struct site process_site_view(const struct process *process, uint32_t index)
{
	struct site site = *process_site_at(process, index);

	if (site.process_number != process->number)
		site_inherit(&site);
	return site;
}

/* Called for each call: advances the tick. */
static inline void process_advance(struct process *process, uint64_t now_ns)
{
	process->now_ns = now_ns;
	if (now_ns < process->tick_end_ns)
		return;
	process->tick = (uint32_t)((now_ns - process->since_ns) / SERIES_TICK_NS);
	process->tick_end_ns = process->since_ns + (process->tick + 1ULL) * SERIES_TICK_NS;
}

/* Returns the tick that contains a time. */
static inline uint32_t process_tick(const struct process *process, uint64_t ns)
{
	return ns > process->since_ns ? (uint32_t)((ns - process->since_ns) / SERIES_TICK_NS) : 0;
}

/*
 * Returns the bytes of a site that were live at the peak of the process. A new peak starts when
 * live bytes exceed those of the last one by 1/128. So the reported bytes were all live at one
 * moment, the first one that came within 1% of the maximum. Each site saves its live bytes when it
 * first changes after the peak, so recording a peak costs nothing, and the sites add up to it.
 */
static inline uint64_t process_at_peak(const struct process *process, const struct site *site)
{
	return site->peak == process->peak.number ? site->at_peak_bytes : site->live_bytes;
}

#endif
