/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that would take our breakpoints for a part of what they translate: see
 * bpf/translator.bpf.h. */
#ifndef MTRACE_SOURCE_TRACE_TRANSLATOR_H
#define MTRACE_SOURCE_TRACE_TRANSLATOR_H

#include <stdbool.h>
#include <sys/types.h>

bool translator_is_path(const char *path);
/* An open ELF file; scripts that start one are no translators. */
bool translator_is_file(int fd);
/* Is that what the process runs? Not if it is gone. */
bool translator_runs(pid_t pid);
/* A process that runs one, or 0. */
pid_t translator_find(void);

/* What to say of them. */
extern const char translator_words[];

#endif
