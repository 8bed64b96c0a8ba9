/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In the parser: creates a module, outside of any module table, from a descriptor. */
#ifndef MTRACE_PARSER_SERVER_PASSED_MODULE_H
#define MTRACE_PARSER_SERVER_PASSED_MODULE_H

#include "base/error.h"
#include "symbol/elf/module.h"

/* Takes ownership of the descriptor, even on failure. Free the module with module_free(). Returns
 * 0, or -errno with a message in *err. */
int module_of_descriptor(int fd, const char *path, struct module **ret_module, struct error *err);

#endif
