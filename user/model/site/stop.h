/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the reasons why stacks end: enum stack_stop (bpf/abi.h). */
#ifndef MTRACE_MODEL_SITE_STOP_H
#define MTRACE_MODEL_SITE_STOP_H

#include "bpf/abi.h"

/* Used only by the model: the stack was not walked (stacks are off), or its frames never
 * arrived. */
#define STOP_NOT_TAKEN STOP_COUNT
#define STOP_REASONS   (STOP_COUNT + 1)

/* The name in the JSON report; scripts depend on these names. */
const char *stop_name(unsigned int stop);

#endif
