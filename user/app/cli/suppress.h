/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Suppression files. */
#ifndef MTRACE_APP_CLI_SUPPRESS_H
#define MTRACE_APP_CLI_SUPPRESS_H

#include "base/error.h"
#include "model/suppress/suppress.h"

/*
 * Adds the suppressions in a file (model/suppress/suppress.h). Returns 0 or -errno with a message.
 */
int suppress_read_file(struct suppressions *suppressions, const char *path, struct error *err);

#endif
