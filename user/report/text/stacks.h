/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How complete the stacks of a process are. */
#ifndef MTRACE_REPORT_TEXT_STACKS_H
#define MTRACE_REPORT_TEXT_STACKS_H

#include <stdbool.h>

#include "report/common/amount.h"
#include "report/text/view.h"

/* Says why stacks end early and what helps. Returns true if any stack does. */
bool text_cut_stacks(const struct view *view);
/* How complete the stacks are: "all complete". Returns a constant, or text after writing to it. */
const char *stacks_verdict(const struct snapshot_process *process,
			   const struct stack_quality *quality, char text[AMOUNT_SIZE]);

#endif
