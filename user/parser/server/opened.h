/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In the parser: a module of a file that was handed to it, in no table. */
#ifndef MTRACE_PARSER_SERVER_OPENED_H
#define MTRACE_PARSER_SERVER_OPENED_H

#include "base/error.h"
#include "symbol/elf/module.h"

/* To be freed by module_free(). Takes the descriptor over, also on failure. 0 or -errno with
 * words. */
int opened_module(int fd, const char *path, struct module **ret_module, struct error *err);

#endif
