/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which programs are traced where everything could be. Asked by the kernel side whenever one is
 * executed (bpf/select.bpf.h), and here for those that run already, with the same answer.
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

/* What the user said; NULL for what was not asked for. Globs know * and ?. */
struct selection_words {
	const char *comm; /* glob */
	const char *exe;  /* glob: of the name, or with a slash in it of the path, of the program */
	const char *cgroup; /* directory, absolute or below the mount of cgroup2 */
	bool by_user;
	uid_t user;
};

/* A program's file, kept open so that nothing else can have its numbers. */
struct selected_file {
	int fd;
	char name[NAME_MAX + 1];    /* its last component, behind all links */
	struct unwind_file_key key; /* the kernel's; by selection_identify */
};

struct selected {
	struct selection rules;
	struct selected_file *files; /* SELECT_FILE */
	size_t file_count;
	struct module_identifier identifier;
	int cgroup;         /* SELECT_CGROUP: its directory */
	char *cgroup_place; /* as /proc/PID/cgroup has it */
};

/* 0, or -errno with words: what cannot be, or names nothing. Free in any case;
 * zeroed memory is fine. */
int selection_make(const struct selection_words *words, struct selected *ret_selected,
		   struct error *err);
void selection_free(struct selected *selected);

/* Find out how the kernel knows the files: it tells only once programs of ours are loaded. The
 * identifier must outlive the selection's use. */
void selection_identify(struct selected *selected, struct module_identifier identifier);

/* Could it be wanted once it has executed that open file, or one that the file is for (of a script,
 * its interpreter)? Looks into /proc alone. */
bool selection_may_hold(const struct selected *selected, pid_t pid, int file);
/* The same of a path that is given to execve(2), "" if it is not known. */
bool selection_may_run(const struct selected *selected, const char *path);

/* Is what the process runs now wanted? Not if it is gone, or has no program (kernel threads). */
bool selection_holds(const struct selected *selected, pid_t pid);

#endif
