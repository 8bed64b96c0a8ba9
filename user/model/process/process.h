/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The books of one image of one process. */
#ifndef MTRACE_MODEL_PROCESS_PROCESS_H
#define MTRACE_MODEL_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/config.h"
#include "model/event.h"
#include "model/process/state.h"

/* Open the books of the process that the event describes. 0 or -ENOMEM. */
int process_new(struct process **ret_process, const struct event *event,
		const struct model_config *config, uint32_t number);
/* Open books for a child: a copy of the parent's, at the cost of what either changes later. */
int process_fork(struct process **ret_process, const struct process *parent,
		 const struct event *event, uint32_t number);

/* The user of the pid; NULL if it uses other books. Valid until users come or go. */
struct user *process_user(const struct process *process, uint32_t pid);
/* What the source has lost, of all users. */
struct snapshot_losses process_told(const struct process *process);
/* Was nothing lost since the first instruction? */
bool process_is_complete(const struct process *process);

/* No event will follow. Keeps the totals and gives back the memory of the tables. */
void process_close(struct process *process, uint64_t now_ns);
void process_free(struct process *process);

/* A time as blocks and regions hold it, and back. */
uint32_t process_time(const struct process *process, uint64_t time_ns);
uint64_t process_block_ns(const struct process *process, uint32_t site, uint32_t time);

/* A site to be changed; NULL if out of memory. */
struct site *process_site_change(struct process *process, uint32_t site);

/*
 * The site under which a call is booked, made if it is new; SITE_NONE if its api is not in the
 * set. 0 or -ENOMEM.
 */
int process_site(struct process *process, const struct event *event, uint32_t *ret_site);

/*
 * For each site how old its live blocks are. Of a child that ended soon after it had inherited many
 * blocks, nobody looked: there they are as old as the site. The array has one entry per site and is
 * the caller's to free. 0 or -ENOMEM.
 */
int process_ages(const struct process *process, struct ages **ret_ages);

#endif
