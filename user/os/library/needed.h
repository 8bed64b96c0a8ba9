/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Predicts which ELF files the dynamic linker will map when a program starts: the interpreter of a
 * script, PT_INTERP, LD_PRELOAD, /etc/ld.so.preload and the closure of DT_NEEDED with RPATH,
 * RUNPATH ($ORIGIN), LD_LIBRARY_PATH, /etc/ld.so.cache and the default directories (ld.so(8)). Used
 * to place probes before the files are mapped. Files that it misses are probed when the linker
 * reports them, with a counted gap.
 */
#ifndef MTRACE_OS_LIBRARY_NEEDED_H
#define MTRACE_OS_LIBRARY_NEEDED_H

#include <stddef.h>

#include "base/error.h"
#include "os/library/elf_dynamic.h"

struct needed {
	/* Absolute paths without duplicates. The image that runs first (for a script, its
	 * interpreter) is the first. */
	char **paths;
	size_t count;
	size_t capacity;
};

/*
 * `environment` is as for execve. If `reader` is NULL, this process reads the files. Returns 0, or
 * -ENOENT, -ENOEXEC, -ENOMEM … with a message in *err.
 */
int needed_find(const char *program, char *const *environment,
		const struct elf_dynamic_reader *reader, struct needed *ret_needed,
		struct error *err);
void needed_free(struct needed *needed);

#endif
