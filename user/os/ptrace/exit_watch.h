/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holding a process at its end, while its memory is still there: when its last thread exits, at
 * exit_group, and when a signal kills it. Not SIGKILL: whoever sends that (the kernel, when it is
 * short of memory, too) means now. See exit_watch.c for how, and freeze.h for what the process can
 * notice of a stop.
 *
 * A watched process has a tracer, so nobody else can trace it (gdb, strace, freeze.h): the watch
 * itself stops it on demand. What is held at its end is dying and cannot be killed: it waits for
 * us. If we die, by whatever signal, the kernel lets the process go on.
 */
#ifndef MTRACE_OS_PTRACE_EXIT_WATCH_H
#define MTRACE_OS_PTRACE_EXIT_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "os/ptrace/holder.h"
#include "os/ptrace/tracee.h"

struct exit_watch;

/*
 * Watch every thread. 0; -ESRCH; -EPERM if somebody else traces it. All functions are for the
 * thread that called this.
 */
int exit_watch_start(struct exit_watch **ret_watch, const struct hold_request *options,
		     struct error *err);
/* One of its family that was born since and not asked for yet; NULL if there is none. To be closed
 * like the first. */
struct exit_watch *exit_watch_child(struct exit_watch *watch);
pid_t exit_watch_pid(const struct exit_watch *watch);
/* Is it held at its end, with all threads stopped? */
bool exit_watch_at_end(const struct exit_watch *watch);
/* Has it ended without being held, or after? */
bool exit_watch_is_over(const struct exit_watch *watch);

/* Stop it before its end; as freeze_stop. */
int exit_watch_stop(struct exit_watch *watch, struct error *err);
/* Of a process that is stopped or held. Valid until the next exit_watch_stop. */
const struct thread_registers *exit_watch_threads(const struct exit_watch *watch,
						  size_t *ret_count);
/* What was stopped goes on, and is watched further. */
void exit_watch_continue(struct exit_watch *watch);

/* The watch as a holder, by whose close it ends. */
struct holder *exit_watch_holder(struct exit_watch *watch);

/* Let go, and free. NULL is fine. */
void exit_watch_close(struct exit_watch *watch);

#endif
