/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The addresses that only the kernel keeps for threads: their alternate signal stacks
 * (sigaltstack(2)) and lists of robust futexes (get_robust_list(2)). Linux 6.1 and later can list
 * the threads of one process to a BPF program.
 */
#ifndef MTRACE_SOURCE_BPF_THREAD_WORDS_H
#define MTRACE_SOURCE_BPF_THREAD_WORDS_H

#include <sys/types.h>

#include "os/process/kernel_words.h"

struct thread_words_reader;

/* Loads the BPF program. Returns 0 or -errno. */
int thread_words_open(struct thread_words_reader **ret_reader);
void thread_words_close(struct thread_words_reader *reader); /* NULL is fine */

/* Adds the words of all threads of the process. Returns 0 or -errno; -EOPNOTSUPP: this kernel lists
 * all processes at once. */
int thread_words_read(const struct thread_words_reader *reader, pid_t pid,
		      struct kernel_words *words);

#endif
