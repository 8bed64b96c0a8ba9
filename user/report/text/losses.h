/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the trace missed. */
#ifndef MTRACE_REPORT_TEXT_LOSSES_H
#define MTRACE_REPORT_TEXT_LOSSES_H

#include "report/text/view.h"

/* Writes one sentence for each kind of loss, or that there were none. */
void text_losses(const struct view *view);

#endif
