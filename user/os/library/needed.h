/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which ELF files will a program map at start? The answer of the dynamic linker, predicted: the
 * interpreter of a script, PT_INTERP, LD_PRELOAD, /etc/ld.so.preload and the closure of DT_NEEDED
 * by RPATH, RUNPATH ($ORIGIN), LD_LIBRARY_PATH, /etc/ld.so.cache and the default directories
 * (ld.so(8)). Used to place probes before anybody maps the files. What it misses is caught when
 * the linker reports it, with a counted gap.
 */
#ifndef MTRACE_OS_LIBRARY_NEEDED_H
#define MTRACE_OS_LIBRARY_NEEDED_H

#include <stddef.h>

#include "base/error.h"
#include "os/library/elf_dynamic.h"

struct needed {
	/* Absolute, no duplicates; first the image that runs first (a script's interpreter). */
	char **paths;
	size_t count;
	size_t capacity;
};

/*
 * environment as for execve; reader NULL: this process reads the files. 0, -ENOENT, -ENOEXEC,
 * -ENOMEM … with words.
 */
int needed_find(const char *program, char *const *environment,
		const struct elf_dynamic_reader *reader, struct needed *ret_needed,
		struct error *err);
void needed_free(struct needed *needed);

#endif
