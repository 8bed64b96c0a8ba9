/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which programs are traced where everything could be. Asked by the kernel side whenever one is
 * executed (bpf/select.bpf.h), and here for those that run already, with the same answer.
 */
#ifndef MTRACE_SOURCE_SELECTION_H
#define MTRACE_SOURCE_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "bpf/abi.h"

/* What the user said; NULL for what was not asked for. Globs know * and ?. */
struct selection_words {
	const char *comm; /* glob */
	const char *exe;  /* glob: of the name, or with a slash in it of the path, of the program */
	const char *cgroup; /* directory, absolute or below the mount of cgroup2 */
	bool by_user;
	uid_t user;
};

struct selected {
	struct selection rules;
	struct unwind_file_key *files; /* SELECT_FILE */
	size_t file_count;
	int cgroup;         /* SELECT_CGROUP: its directory */
	char *cgroup_place; /* as /proc/PID/cgroup has it */
};

/* 0, or -errno with words: what cannot be, or names nothing. Free in any case;
 * zeroed memory is fine. */
int selection_make(const struct selection_words *words, struct selected *ret_selected,
		   struct error *err);
void selection_free(struct selected *selected);

/* Is what the process runs now wanted? Not if it is gone, or has no program (kernel threads). */
bool selection_holds(const struct selected *selected, pid_t pid);

#endif
