/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The books of one image of one process. */
#ifndef MTRACE_MODEL_PROCESS_H
#define MTRACE_MODEL_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map64.h"
#include "base/vec.h"
#include "model/event.h"
#include "model/heap.h"
#include "model/mapping.h"
#include "model/model.h"
#include "model/pending.h"
#include "model/region.h"
#include "model/site.h"
#include "model/stack.h"

struct totals {
	uint64_t allocations;
	uint64_t frees;
	uint64_t bytes_allocated;
	uint64_t bytes_freed;
	uint64_t peak_live_bytes;
	uint64_t failed_allocations;
};

struct process {
	const struct model_config *config;
	uint32_t pid;
	uint32_t ppid;
	uint32_t image;
	uint64_t start_time_ns;
	char *comm;
	char *exe;
	char *arch;
	VEC(char *) command;
	bool launched;
	bool exited;
	bool replaced;
	uint32_t exit_code;
	uint64_t since_ns;
	uint64_t until_ns; /* valid once closed */
	bool closed;

	struct heap heap;
	struct regions regions;
	struct pendings pendings;
	struct map64 ending; /* tids between EVENT_THREAD_ENDS and EVENT_THREAD_GONE */
	struct stacks stacks;
	VEC(struct site) sites;
	struct mappings mappings;

	struct totals totals; /* of the heap family */
	uint64_t live_blocks; /* likewise */
	uint64_t live_bytes;
	uint64_t maps; /* the program's own regions: without API_MMAP_LIBC */
	uint64_t map_bytes;
	uint64_t internal_frees;
	uint64_t internal_munmaps;
	struct snapshot_losses found; /* losses that the books themselves found … */
	struct snapshot_losses told;  /* … and those that the source counted */
	uint64_t *oldest_ns;          /* per site, once closed; else to be computed */

	struct snapshot_scan scan;    /* the last leak scan; see scan_book.h */
	char *scan_reason;            /* why there was none, or NULL */
	struct snapshot_leaks *leaks; /* what it found, for the first `leak_count` sites */
	size_t leak_count;
};

/* Open the books of the process that the event describes. 0 or -ENOMEM. */
int process_new(struct process **ret_process, const struct event *event,
		const struct model_config *config);
/* No event will follow. Keeps the totals and gives back the memory of the tables. */
void process_close(struct process *process, uint64_t now_ns);
void process_free(struct process *process);

/* A time as blocks and regions hold it, and back. */
uint32_t process_time(const struct process *process, uint64_t time_ns);
uint64_t process_block_ns(const struct process *process, uint32_t site, uint32_t time);

/*
 * The site under which a call is booked, made if it is new; SITE_NONE if its api is not in the
 * set. 0 or -ENOMEM.
 */
int process_site(struct process *process, const struct event *event, uint32_t *ret_site);

/*
 * For each site the time of its oldest live block, 0 if it has none. The array has one entry per
 * site and is the caller's to free. 0 or -ENOMEM.
 */
int process_oldest(const struct process *process, uint64_t **ret_oldest_ns);

#endif
