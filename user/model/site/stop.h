/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why stacks end where they do: the words for enum stack_stop (bpf/abi.h). */
#ifndef MTRACE_MODEL_SITE_STOP_H
#define MTRACE_MODEL_SITE_STOP_H

#include "bpf/abi.h"

/* The books' own: no walk was made (stacks are off), or its frames never came. */
#define STOP_NOT_TAKEN STOP_COUNT
#define STOP_REASONS   (STOP_COUNT + 1)

/* As the JSON report calls it: words that scripts depend on. */
const char *stop_name(unsigned int stop);

#endif
