/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files in one reading of /proc/PID/maps. A process may map one file tens of thousands of
 * times: each file is opened and parsed once per reading.
 */
#ifndef MTRACE_SOURCE_PROCESS_MAPPED_FILES_H
#define MTRACE_SOURCE_PROCESS_MAPPED_FILES_H

#include <stdbool.h>

#include "base/map64.h"
#include "base/vec.h"
#include "os/process/maps.h"

struct module;

struct mapped_file {
	const struct proc_mapping *mapping; /* the first one of the file */
	struct module *module;              /* NULL if it was refused, or not opened yet */
	bool done;                          /* it need not be opened again */
	int failures;                       /* to open it */
};

/* All zero: empty. */
struct mapped_files {
	struct map64 index_of_file;
	VEC(struct mapped_file) items;
};

/*
 * Returns the file of a mapping, which must stay valid; a new one is zero except for its mapping.
 * The result is valid until the next call. NULL: out of memory.
 */
struct mapped_file *mapped_files_get(struct mapped_files *files,
				     const struct proc_mapping *mapping);

/* A mapping may vanish before its file is opened, so another mapping of it is tried, but not all of
 * them. */
void mapped_file_not_opened(struct mapped_file *file);

void mapped_files_free(struct mapped_files *files);

#endif
