/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines of frames. */
#ifndef MTRACE_APP_SHELL_COMMAND_SOURCE_H
#define MTRACE_APP_SHELL_COMMAND_SOURCE_H

#include "model/snapshot/snapshot.h"
#include "report/common/page.h"

/* Writes the source line of a frame and the lines around it; nothing if the file is not found. */
void shell_source_write(struct page *page, const struct snapshot_frame *frame);

#endif
