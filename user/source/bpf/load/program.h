/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loaded BPF programs, and how they are attached. What the kernel can do is found by trying:
 * each means is loaded and run on a child of our own, best first, until one gives right records.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_PROGRAM_H
#define MTRACE_SOURCE_BPF_LOAD_PROGRAM_H

#include "base/error.h"
#include "source/bpf/load/loaded_programs.h"

/* Load by the best means that works here. 0 or -errno with words that say what is missing. */
int program_load(struct loaded_programs *ret_program, const struct program_config *config,
		 struct error *err);
void program_unload(struct loaded_programs *program);
/*
 * The programs of calls that are watched at their exits: as much work for the verifier as those of
 * all other calls, and most processes have nothing to watch like that. Loaded when the first such
 * probe is attached, or by this. 0 or -errno.
 */
int program_load_exits(struct loaded_programs *program);

/* Moves links to those of the self test, to close all of them at once: each close waits for the
 * kernel. */
void program_gather(struct loaded_programs *program, struct probe_links *links);

/* Attaches the tracepoints of exec, exit and fork. 0 or -errno with words. */
int program_attach_tasks(struct loaded_programs *program, struct error *err);

#endif
