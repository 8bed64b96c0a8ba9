/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prefetches the files of a process: parsers read them before they are asked for. */
#ifndef MTRACE_PARSER_CLIENT_PREFETCH_H
#define MTRACE_PARSER_CLIENT_PREFETCH_H

#include <sys/types.h>

#include "parser/client/client.h"

/*
 * Prefetches all files whose code the process maps; see parser_prefetch. If there is much code and
 * more than one processor, a second parser shares the work.
 */
void parser_prefetch_process(struct parser *parser, pid_t pid);

#endif
