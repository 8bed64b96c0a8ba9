/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads information about a process's image and its threads from /proc. */
#ifndef MTRACE_SOURCE_PTRACE_TRACER_PROCESS_IMAGE_H
#define MTRACE_SOURCE_PTRACE_TRACER_PROCESS_IMAGE_H

#include "source/ptrace/tracer/tracer.h"

/* Reads the properties of a process's image. Unreadable ones keep their value. */
void owner_read_image(struct owner *owner);
/* The CPU that a thread last ran on; -1 if unknown. */
int task_processor(pid_t pid, pid_t tid);

#endif
