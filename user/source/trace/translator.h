/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that would translate our breakpoints as part of the code: see bpf/translator.bpf.h. */
#ifndef MTRACE_SOURCE_TRACE_TRANSLATOR_H
#define MTRACE_SOURCE_TRACE_TRANSLATOR_H

#include <stdbool.h>
#include <sys/types.h>

bool translator_is_path(const char *path);
/* Checks an open ELF file. Scripts that start a translator do not count. */
bool translator_is_file(int fd);
/* Returns true if the process runs one; false if it is gone. */
bool translator_runs(pid_t pid);
/* The pid of a process that runs one, or 0. */
pid_t translator_find(void);

/* The explanation for messages. */
extern const char translator_words[];

#endif
