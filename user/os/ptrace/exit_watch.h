/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds a process when it exits, while its memory is still there: when its last thread exits, at
 * exit_group, and when a signal kills it. Except SIGKILL: its sender (possibly the kernel, when it
 * is out of memory) wants the process gone now. exit_watch.c explains how, and freeze.h what the
 * process can notice of a stop.
 *
 * A watched process has a tracer, so nobody else can trace it (gdb, strace, freeze.h); the watch
 * itself stops it on demand. A process that is held at its exit is dying and cannot be killed: it
 * waits for us. If we are killed, by whatever signal, the kernel continues the process.
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
 * Watches all threads of the process. Returns 0, -ESRCH, or -EPERM if another process traces it.
 * All functions must be called by the thread that called this one.
 */
int exit_watch_start(struct exit_watch **ret_watch, const struct hold_request *options,
		     struct error *err);
/* Returns a descendant that started since and was not returned yet, or NULL. Close it like the
 * first watch. Needs `family`. */
struct exit_watch *exit_watch_child(struct exit_watch *watch);
pid_t exit_watch_pid(const struct exit_watch *watch);
/* Returns true if the process is held at its exit, with all threads stopped. */
bool exit_watch_at_end(const struct exit_watch *watch);
/* Returns true if the process has exited, whether or not it was held. */
bool exit_watch_is_over(const struct exit_watch *watch);

/* Stops the process before its exit, like freeze_stop. */
int exit_watch_stop(struct exit_watch *watch, struct error *err);
/* The registers of a process that is stopped or held. Valid until the next exit_watch_stop. */
const struct thread_registers *exit_watch_threads(const struct exit_watch *watch,
						  size_t *ret_count);
/* Continues a stopped process and keeps watching it. */
void exit_watch_continue(struct exit_watch *watch);

/* The watch as a holder. Closing the holder closes the watch. */
struct holder *exit_watch_holder(struct exit_watch *watch);

/* Detaches from the process and frees the watch. NULL is fine. */
void exit_watch_close(struct exit_watch *watch);

#endif
