/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guesses what a command will run besides its own program: `nice make`, `unshare -m program`,
 * `chroot /srv/jail program`. Used to place probes early in files that are known only by name. What
 * it misses is probed when it is mapped, with a counted gap.
 */
#ifndef MTRACE_OS_EXEC_NEXT_PROGRAM_H
#define MTRACE_OS_EXEC_NEXT_PROGRAM_H

#include <sys/types.h>

#include "os/library/needed.h"

/*
 * Finds the files that the programs named by words of the command will map, as needed_find() does,
 * as paths from our own root. The search starts in the current directory of the process. Programs
 * that cannot be found are left out. Returns 0 or -errno.
 */
int next_programs_find(pid_t pid, char *const *command, char *const *environment,
		       const struct elf_dynamic_reader *reader, struct needed *ret_needed);

#endif
