/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads and attaches the BPF programs. The kernel's features are determined by trying: each way is
 * loaded and run on a child of our own, best first, until one gives correct records.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_PROGRAM_H
#define MTRACE_SOURCE_BPF_LOAD_PROGRAM_H

#include "base/error.h"
#include "source/bpf/load/loaded_programs.h"

/* Loads the programs in the best way that works here. Returns 0 or -errno; *err says what is
 * missing. */
int program_load(struct loaded_programs *ret_program, const struct program_config *config,
		 struct error *err);
void program_unload(struct loaded_programs *program);
/*
 * Loads the programs for calls that are probed at their exits. They take the verifier as long as
 * those of all other calls, and most processes do not need them. So they are loaded when the first
 * such probe is attached, or by this function. Returns 0 or -errno.
 */
int program_load_exits(struct loaded_programs *program);

/* Moves links to those of the self test, to close all of them at once: each close waits for the
 * kernel. */
void program_gather(struct loaded_programs *program, struct probe_links *links);

/* Attaches the tracepoints of exec, exit and fork. Returns 0 or -errno; sets *err. */
int program_attach_tasks(struct loaded_programs *program, struct error *err);

#endif
