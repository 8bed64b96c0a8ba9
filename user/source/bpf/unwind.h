/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables in the maps of the BPF programs. */
#ifndef MTRACE_SOURCE_BPF_UNWIND_H
#define MTRACE_SOURCE_BPF_UNWIND_H

#include "source/bpf/load/loaded_programs.h"
#include "source/unwind/tables.h"

/* Of a loaded program, compiled by the parser; both must outlive it. 0 or -errno. */
int unwind_tables_new(const struct loaded_programs *program, struct parser *parser,
		      struct unwind_tables **ret_tables);

#endif
