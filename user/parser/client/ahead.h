/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the files of a process before they are asked for. */
#ifndef MTRACE_PARSER_CLIENT_AHEAD_H
#define MTRACE_PARSER_CLIENT_AHEAD_H

#include <sys/types.h>

#include "parser/client/client.h"

/*
 * Reads all files whose code the process maps ahead, as parser_ahead. If that is much code and
 * there is a processor for it, a second parser shares the work.
 */
void parser_read_ahead(struct parser *parser, pid_t pid);

#endif
