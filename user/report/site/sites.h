/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of sites with live blocks. */
#ifndef MTRACE_REPORT_SITE_SITES_H
#define MTRACE_REPORT_SITE_SITES_H

#include "report/text/view.h"

/* Writes the sites of one family with their stacks, under a title; nothing if there are none. */
void text_sites(const struct view *view, enum api_family family);

#endif
