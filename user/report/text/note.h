/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Single sentences between the parts of a report. */
#ifndef MTRACE_REPORT_TEXT_NOTE_H
#define MTRACE_REPORT_TEXT_NOTE_H

#include "report/common/page.h"

/* Writes a loss as a sentence with a warning sign. */
void text_loss(struct page *page, const char *sentence);

#endif
