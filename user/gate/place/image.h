/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps code and data of gates into a stopped process, by system calls that run in one of its
 * threads (os/ptrace/remote_call.h). No mapping is ever both writable and executable: the code is a
 * private mapping of a sealed memfd, so that uprobes can be placed in it, and it is written from
 * outside of the process.
 */
#ifndef MTRACE_GATE_PLACE_IMAGE_H
#define MTRACE_GATE_PLACE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "gate/place/layout.h"
#include "gate/place/pages.h"
#include "os/ptrace/remote_call.h"

/*
 * Maps and fills the image, and replaces the pages of code, which have the jumps. `memory` is a
 * descriptor of the process's /proc/PID/mem. Returns 0, or -errno with a message; then nothing is
 * mapped.
 */
int gate_image_map(struct remote_thread *remote, int memory, const struct gate_image *image,
		   const struct gate_runs *runs, struct error *err);
/* Returns 0 or -errno. */
int gate_image_unmap(struct remote_thread *remote, const struct gate_image *image);
/* Returns true if the process has such code at that address; false also if it has exited. */
bool gate_image_is_mapped(pid_t pid, const struct gate_image *image);
/* Opens the file of the code that is mapped there, for reading and for probes. Returns a descriptor
 * or -errno. */
int gate_image_open(pid_t pid, const struct gate_image *image);

#endif
