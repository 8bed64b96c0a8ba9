/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gates that a tracer has left in a process: it was killed, or could not remove them. They do
 * nothing, but their pages are not those of the program's file, so its functions cannot be probed.
 */
#ifndef MTRACE_GATE_LEFT_H
#define MTRACE_GATE_LEFT_H

#include <sys/types.h>

#include "base/error.h"

/*
 * Removes gates that nobody uses: their probe sites are not probed. Gates in use are not touched.
 * `pid` is a living thread. Returns 0; -EBUSY if gates are in use or could not be removed; or
 * another -errno. Sets *err.
 */
int gates_left_remove(pid_t pid, struct error *err);

#endif
