/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables in the maps of the BPF programs. */
#ifndef MTRACE_SOURCE_BPF_UNWIND_H
#define MTRACE_SOURCE_BPF_UNWIND_H

#include "source/bpf/load/loaded_programs.h"
#include "source/unwind/tables.h"

/* Creates the tables of a loaded program. The parser compiles them. Both must outlive the tables.
 * Returns 0 or -errno. */
int unwind_tables_new(const struct loaded_programs *program, struct parser *parser,
		      struct unwind_tables **ret_tables);

#endif
