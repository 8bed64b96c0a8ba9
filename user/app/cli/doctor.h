/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The doctor command. */
#ifndef MTRACE_APP_CLI_DOCTOR_H
#define MTRACE_APP_CLI_DOCTOR_H

#include "app/cli/options.h"

/* Prints what kernel, privileges and machine allow. Returns EXIT_DONE if tracing works. */
int command_doctor(const struct options *options);

#endif
