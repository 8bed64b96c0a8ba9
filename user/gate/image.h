/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps code and data of gates into a stopped process, by system calls that run in one of its
 * threads (os/ptrace/remote_call.h). No mapping is ever both writable and executable: the code is a
 * private mapping of a sealed memfd, so that uprobes can be placed in it, and it is written from
 * outside of the process.
 */
#ifndef MTRACE_GATE_IMAGE_H
#define MTRACE_GATE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "os/ptrace/remote_call.h"

/* The path of the code in /proc/PID/maps. */
#define GATE_CODE_NAME "mtrace-gate"
#define GATE_CODE_PATH "/memfd:" GATE_CODE_NAME

/* Code (r-x), directly followed by data (rw-, private; zero in forked children). The sizes are in
 * bytes. code_size and data_size are multiples of the page size, and not 0. */
struct gate_image {
	uint64_t address; /* of the code; the data follows at address + code_size */
	const uint8_t *code;
	size_t code_size;
	const uint8_t *data;
	size_t data_filled; /* the first bytes of the data; the rest is zero */
	size_t data_size;
};

/*
 * Maps and fills the image. `memory` is a descriptor of the process's /proc/PID/mem. Returns 0, or
 * -errno with a message; then nothing is mapped.
 */
int gate_image_map(struct remote_thread *remote, int memory, const struct gate_image *image,
		   struct error *err);
/* Returns 0 or -errno. */
int gate_image_unmap(struct remote_thread *remote, const struct gate_image *image);
/* Returns true if the process has such code at that address; false also if it has exited. */
bool gate_image_is_mapped(pid_t pid, const struct gate_image *image);

/* Like pread and pwrite, but on memory of a process, and complete. Return 0 or -errno: -ESRCH if
 * the process has exited, -EIO or -EFAULT if nothing is mapped there. */
int gate_memory_read(int memory, uint64_t address, void *bytes, size_t size);
int gate_memory_write(int memory, uint64_t address, const void *bytes, size_t size);

#endif
