/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a process, as a scan reads it: only what is there, and none of it is changed. */
#ifndef MTRACE_SCAN_TARGET_H
#define MTRACE_SCAN_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "os/ptrace/freeze.h"
#include "scan/scan.h"

struct scan_target;

struct target_options {
	pid_t pid;         /* or a thread's id: a first thread that has ended has no memory */
	bool read_swapped; /* fetch swapped pages back into memory, rather than not know them */
	bool stopped;      /* all threads are, for as long as the memory is read */
};

/*
 * Look at the mappings and threads as they are now. The registers stay the caller's and must
 * outlive the target. 0 or -errno (-ESRCH, -EACCES).
 */
int target_open(struct scan_target **ret_target, const struct target_options *options,
		const struct thread_registers *threads, size_t thread_count);
void target_close(struct scan_target *target); /* NULL is fine */

/*
 * Is the memory still there that was opened? Once it is gone (exit, exec) it never comes back: so
 * if it is there after a scan, it was there all the time.
 */
bool target_is_there(const struct scan_target *target);

/*
 * What scan_run needs: memory, ranges, images, registers and the word. The rest is left to the
 * caller. Valid until target_close.
 */
void target_describe(const struct scan_target *target, struct scan_input *ret_input);

#endif
