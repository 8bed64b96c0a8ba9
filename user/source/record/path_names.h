/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts paths from the BPF programs: the names of their components (bpf/abi.h). */
#ifndef MTRACE_SOURCE_RECORD_PATH_NAMES_H
#define MTRACE_SOURCE_RECORD_PATH_NAMES_H

#include <stdbool.h>

#include "bpf/abi.h"

/*
 * Joins the names to a path; "" if there are none. Returns false if a part may be missing because a
 * name or the path did not fit.
 */
bool path_of_names(const char names[PATH_NAMES_SIZE], char ret_path[PATH_NAMES_SIZE + 1]);

#endif
