/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets the trace continue while a command waits. */
#ifndef MTRACE_APP_SHELL_WAIT_H
#define MTRACE_APP_SHELL_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "app/shell/state.h"

enum shell_wake { SHELL_WAKE_TIME, SHELL_WAKE_KEY, SHELL_WAKE_INTERRUPT, SHELL_WAKE_OVER };

/* A key press ends a wait on a terminal. shell_keys_end takes NULL. */
struct shell_keys;
struct shell_keys *shell_keys_begin(struct shell *shell);
void shell_keys_end(struct shell_keys *keys);
/* Waits `ns` nanoseconds or until something happens; keys may be NULL. Runs the event loop. */
enum shell_wake shell_wait(struct shell *shell, const struct shell_keys *keys, uint64_t ns);
/*
 * Runs a shell command with `input` as its standard input, and runs the event loop meanwhile. Sets
 * *ret_status to its wait status. Returns 0 or -errno.
 */
int shell_spawn(struct shell *shell, const char *command, int input, int *ret_status);
/* Returns true if the running command should give up. Reads signals. ctx is the shell. */
bool shell_is_interrupted(void *ctx);

#endif
