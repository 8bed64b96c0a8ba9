/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The memory of a process for a scan. Reads only existing pages and changes none. */
#ifndef MTRACE_SCAN_TARGET_H
#define MTRACE_SCAN_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "os/process/kernel_words.h"
#include "os/ptrace/freeze.h"
#include "scan/scan.h"

struct scan_target;

struct target_options {
	pid_t pid;         /* or a thread's id, if the first thread has exited */
	bool read_swapped; /* fetch swapped pages; otherwise their contents are unknown */
	bool stopped;      /* all threads are stopped while the memory is read */
	const struct kernel_words *kernel_words; /* outlive the target; NULL: none are known */
};

/*
 * Reads the current mappings and threads. The registers belong to the caller and must outlive the
 * target. Returns 0 or -errno (-ESRCH, -EACCES).
 */
int target_open(struct scan_target **ret_target, const struct target_options *options,
		const struct thread_registers *threads, size_t thread_count);
void target_close(struct scan_target *target); /* NULL is fine */

/*
 * Returns true if the memory that was opened is still there. Once it is gone (exit, exec) it never
 * comes back, so if it is there after a scan, it was there all the time.
 */
bool target_is_there(const struct scan_target *target);

/*
 * Sets the input of scan_run: memory, ranges, images, registers, kernel words and the word size.
 * The caller sets the rest. Valid until target_close.
 */
void target_describe(const struct scan_target *target, struct scan_input *ret_input);

#endif
