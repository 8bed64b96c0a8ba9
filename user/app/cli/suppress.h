/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of suppressions. */
#ifndef MTRACE_APP_CLI_SUPPRESS_H
#define MTRACE_APP_CLI_SUPPRESS_H

#include "base/error.h"
#include "model/suppress/suppress.h"

/* Add what the file says (model/suppress/suppress.h). 0 or -errno with words. */
int suppress_read_file(struct suppressions *suppressions, const char *path, struct error *err);

#endif
