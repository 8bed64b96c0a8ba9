/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Room for open files: the limit of this process (ulimit -n) and that of the system. */
#ifndef MTRACE_OS_FILE_DESCRIPTORS_H
#define MTRACE_OS_FILE_DESCRIPTORS_H

#include <stdbool.h>

#include "base/error.h"

/* Returns true for -EMFILE and -ENFILE. */
bool descriptors_missing(int code);
/*
 * Raises the soft limit to the hard one. Returns false if that is not possible. Call it only when a
 * descriptor is missing: programs that are launched later inherit the limit.
 */
bool descriptors_raise(void);
/* Returns 0 if that many more files can be opened, after raising the limit if necessary. Otherwise
 * returns -errno, and *err says what to do. */
int descriptors_check(unsigned int count, struct error *err);
/* Sets *err for a code of descriptors_missing(). Returns the code. */
int descriptors_explain(int code, struct error *err);

#endif
