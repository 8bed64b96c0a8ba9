/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A filter of system calls (seccomp(2)). It uses libseccomp, or a BPF program of our own for small
 * boards (WITH_SECCOMP=0), because the library's table of names takes 90 KiB. */
#ifndef MTRACE_PARSER_SERVER_CALL_FILTER_H
#define MTRACE_PARSER_SERVER_CALL_FILTER_H

#include <stddef.h>

/* Numbers as SCMP_SYS defines them. */
struct call_list {
	const int *numbers;
	size_t count;
};

/* System calls that are in none of the lists fail with EPERM. */
struct call_filter {
	struct call_list allowed;
	struct call_list deadly;         /* these kill the process */
	struct call_list not_executable; /* allowed without PROT_EXEC in the third argument */
	int own_signal;                  /* tgkill; allowed if the first argument is our own pid */
};

/* Applies the filter to the calling process, permanently. Returns 0 or -errno. */
int call_filter_load(const struct call_filter *filter);

#endif
