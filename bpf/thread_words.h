/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the iterator of thread_words.bpf.c writes for each thread. */
#ifndef MTRACE_BPF_THREAD_WORDS_H
#define MTRACE_BPF_THREAD_WORDS_H

#include "bpf/abi.h"

#define THREAD_WORDS_MAX 3

struct thread_words {
	abi_u32 tgid;
	abi_u32 count;
	abi_u64 words[THREAD_WORDS_MAX]; /* addresses in the process; 0: none */
};

#endif
