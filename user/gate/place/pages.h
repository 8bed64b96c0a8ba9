/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pages of a program's code that get jumps. Each is moved away (mremap) and replaced by a page
 * of the gates' file that has the same bytes and the jumps, at the same offset as in the program's
 * file. So the program's pages are never written, and come back as they were.
 *
 * Writing the jumps into the program's own pages would be simpler, and kill it as soon as another
 * tool places a uprobe at a function with a gate: the kernel executes the instruction that the file
 * has there, and continues behind it, in the middle of the jump (kernel/events/uprobes.c). It
 * places none in pages of another file.
 */
#ifndef MTRACE_GATE_PLACE_PAGES_H
#define MTRACE_GATE_PLACE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "gate/place/layout.h"
#include "gate/place/patch.h"
#include "os/ptrace/remote_call.h"

/* Neighbouring pages. */
struct gate_run {
	uint64_t address;
	uint64_t size;   /* bytes */
	uint64_t offset; /* in the program's file, and in the gates' */
	uint64_t parked; /* where the program's own pages are meanwhile */
	uint8_t *bytes;  /* those of the program's file; NULL if they are not needed */
};

struct gate_runs {
	VEC(struct gate_run) list;
};

/*
 * Finds the pages of the patches, and reads them from the files that are mapped there. `pid` is a
 * living thread. Returns 0; -ENOTSUP if the code is not mapped from a file in the usual way; or
 * another -errno. Sets *err.
 */
int gate_runs_find(struct gate_runs *runs, pid_t pid, const struct gate_image *image,
		   const struct gate_patch *patches, size_t count, struct error *err);
/* Finds those that have been replaced and not yet restored. Returns 0 or -errno. */
int gate_runs_find_replaced(struct gate_runs *runs, pid_t pid, const struct gate_image *image);
void gate_runs_free(struct gate_runs *runs);

/*
 * For a stopped process: returns 0 if the code in memory is that of the file. Otherwise another
 * tool has changed or probed it: -EBUSY, with a message. `memory` is a descriptor of /proc/PID/mem.
 */
int gate_runs_check(const struct gate_runs *runs, int memory, pid_t pid, struct error *err);
/* Writes the jumps into `bytes`. */
void gate_runs_patch(struct gate_runs *runs, const struct gate_patch *patches, size_t count);
/* Returns true if the address is in one of them: code there cannot be executed while they move. */
bool gate_runs_contain(const struct gate_runs *runs, uint64_t address);

/* Replaces the pages by those of the gates' file, a descriptor of the process. Returns 0 or -errno;
 * then nothing has changed. */
int gate_runs_replace(const struct gate_runs *runs, struct remote_thread *remote, int file);
/* Moves the program's pages back. Returns 0 or -errno. */
int gate_runs_restore(const struct gate_runs *runs, struct remote_thread *remote);

#endif
