/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command will run besides its own program: `nice make`, `unshare -m program`,
 * `chroot /srv/jail program`. Used to place probes in time in what is known only by name; what it
 * misses is caught when it is mapped, with a counted gap.
 */
#ifndef MTRACE_OS_EXEC_NEXT_PROGRAM_H
#define MTRACE_OS_EXEC_NEXT_PROGRAM_H

#include <sys/types.h>

#include "os/library/needed.h"

/*
 * The files that programs named by the command's words will map, as needed_find() has them, by
 * paths from our own root. They start in the current directory of the process. 0 or -errno; what
 * cannot be found is left out.
 */
int next_programs_find(pid_t pid, char *const *command, char *const *environment,
		       const struct elf_dynamic_reader *reader, struct needed *ret_needed);

#endif
