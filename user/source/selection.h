/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which programs to trace in SCOPE_SYSTEM. The BPF programs check it at each exec
 * (bpf/select.bpf.h), and the code here checks it for running processes, with the same result.
 */
#ifndef MTRACE_SOURCE_SELECTION_H
#define MTRACE_SOURCE_SELECTION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "bpf/abi.h"
#include "symbol/elf/module_table.h"

/* The user's conditions; NULL: not given. Globs support * and ?. */
struct selection_words {
	const char *comm;   /* glob */
	const char *exe;    /* glob for the program's name or, if it has a slash, for its path */
	const char *cgroup; /* directory, absolute or below the mount of cgroup2 */
	bool by_user;
	uid_t user;
};

/* A program's file, kept open so that its inode cannot be reused. */
struct selected_file {
	int fd;
	char name[NAME_MAX + 1];    /* last component, after resolving links */
	struct unwind_file_key key; /* the kernel's; set by selection_identify() */
};

struct selected {
	struct selection rules;
	struct selected_file *files; /* SELECT_FILE */
	size_t file_count;
	struct module_identifier identifier;
	int cgroup;         /* SELECT_CGROUP: its directory */
	char *cgroup_place; /* as in /proc/PID/cgroup */
};

/* Returns 0, or -errno for invalid conditions and those that name nothing; sets *err. Free it in
 * any case; accepts zeroed memory. */
int selection_make(const struct selection_words *words, struct selected *ret_selected,
		   struct error *err);
void selection_free(struct selected *selected);

/* Determines how the kernel identifies the files, which is only known once our programs are loaded.
 * The identifier must outlive the use of the selection. */
void selection_identify(struct selected *selected, struct module_identifier identifier);

/* Returns true if the process may be selected once it has executed that open file, or the
 * interpreter of that script. Only reads /proc. */
bool selection_may_hold(const struct selected *selected, pid_t pid, int file);
/* The same for a path passed to execve(2); "" if unknown. */
bool selection_may_run(const struct selected *selected, const char *path);

/* Returns true if the program that the process runs now is selected. False if it is gone, or has no
 * program (kernel threads). */
bool selection_holds(const struct selected *selected, pid_t pid);

#endif
