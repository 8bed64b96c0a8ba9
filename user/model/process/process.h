/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations on the model of one image of one process. */
#ifndef MTRACE_MODEL_PROCESS_PROCESS_H
#define MTRACE_MODEL_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/config.h"
#include "model/event.h"
#include "model/process/state.h"

/* Creates the model of the process that the event describes. Returns 0 or -ENOMEM. */
int process_new(struct process **ret_process, const struct event *event,
		const struct model_config *config, uint32_t number);
/* Creates the model of a child as a copy-on-write copy of its parent's. Returns 0 or -ENOMEM. */
int process_fork(struct process **ret_process, const struct process *parent,
		 const struct event *event, uint32_t number);

/* Returns the user with this pid, or NULL. Valid until users are added or removed. */
struct user *process_user(const struct process *process, uint32_t pid);
/* Losses that the source counted, summed over all users of the address space. */
struct snapshot_losses process_losses(const struct process *process);
/* Returns true if nothing was dropped since the first instruction. */
bool process_is_complete(const struct process *process);

/* Called when no more events will follow. Keeps the totals and frees the tables. */
void process_close(struct process *process, uint64_t now_ns);
void process_free(struct process *process);

/* Convert a time to the form in which blocks and regions store it, and back. */
uint32_t process_time(const struct process *process, uint64_t time_ns);
uint64_t process_block_ns(const struct process *process, uint32_t site, uint32_t time);

/* Returns a site for modification; NULL if out of memory. */
struct site *process_site_change(struct process *process, uint32_t site);

/*
 * Finds or creates the site of a call; SITE_NONE if its api is not in the set, or the process is
 * paused. Returns 0 or -ENOMEM.
 */
int process_site(struct process *process, const struct event *event, uint32_t *ret_site);

/*
 * Computes the ages of the live blocks of each site. For a child that exited soon after it
 * inherited many blocks, they were not examined; then they count as old as the site. The caller
 * frees the array, which has one entry per site. Returns 0 or -ENOMEM.
 */
int process_ages(const struct process *process, struct ages **ret_ages);

#endif
