/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds out whether stopped threads execute code, or may continue in it. */
#ifndef MTRACE_GATE_PLACE_INSIDE_H
#define MTRACE_GATE_PLACE_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/ptrace/freeze.h"

struct gate_range {
	uint64_t start, end;
};

/*
 * *ret_inside is true if a thread's instruction pointer is in one of the ranges, or a word on its
 * stack is an address in one: a return address, or what a signal handler has interrupted. At most
 * 256 KiB of each stack are searched. It is also true if a thread cannot be examined. `pid` is a
 * living thread. Returns 0 or -ENOMEM.
 */
int threads_inside(struct freeze *freeze, pid_t pid, const struct gate_range *ranges, size_t count,
		   bool *ret_inside);

#endif
