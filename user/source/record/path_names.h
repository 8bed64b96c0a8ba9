/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths as BPF programs tell them: by the names of their components (bpf/abi.h). */
#ifndef MTRACE_SOURCE_RECORD_PATH_NAMES_H
#define MTRACE_SOURCE_RECORD_PATH_NAMES_H

#include <stdbool.h>

#include "bpf/abi.h"

/*
 * The names put together; "" if there are none. False if something may be missing, as there was no
 * room for a name or for all of them.
 */
bool path_of_names(const char names[PATH_NAMES_SIZE], char ret_path[PATH_NAMES_SIZE + 1]);

#endif
