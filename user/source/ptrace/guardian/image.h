/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc tells of a process's image and of its threads. */
#ifndef MTRACE_SOURCE_PTRACE_GUARDIAN_IMAGE_H
#define MTRACE_SOURCE_PTRACE_GUARDIAN_IMAGE_H

#include "source/ptrace/tracer/tracer.h"

/* Reads what has to be known of a process's image. What cannot be read stays as it is. */
void owner_look(struct owner *owner);
/* The processor on which a thread ran last; -1 if that cannot be told. */
int task_processor(pid_t pid, pid_t tid);

#endif
