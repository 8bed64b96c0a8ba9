/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BPF programs once they are loaded, and by what means. What is done with them is in program.h.
 */
#ifndef MTRACE_SOURCE_BPF_LOAD_LOADED_PROGRAMS_H
#define MTRACE_SOURCE_BPF_LOAD_LOADED_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "bpf/abi.h"
#include "os/process/heir.h"
#include "source/bpf/events/events.h"
#include "source/bpf/load/kernel.h"
#include "source/thinning.h"
#include "source/process/probe_request.h"
#include "source/process/prober.h"

struct mtrace_bpf;

enum attach {
	ATTACH_MULTI,     /* one link for many sites (Linux 6.6) */
	ATTACH_PERF,      /* one perf event per site */
	ATTACH_INHERITED, /* trace events that children have too: source/bpf/events/events.h */
};

/* One row per way to attach and to carry a call's arguments from entry to return. */
struct means {
	const char *name; /* as --pairing names it */
	enum pairing pairing;
	enum attach attach;
	uint32_t scopes; /* set of (1 << enum scope) that it serves */
	const char *words;
};

struct program_config {
	const char *pairing;   /* name of the only means to try, or NULL */
	uint32_t depth;        /* frames per stack, 0 for none */
	uint32_t unwind_rows;  /* room for unwind tables; 0: stacks are by frame pointers */
	uint64_t buffer_bytes; /* a power of two */
	enum scope scope;
	const struct selection *selection; /* of SCOPE_SYSTEM; NULL: everything */
	uint32_t pid_namespace;            /* by pid_namespace_find; filled in by program_load */
	bool sanity;                       /* as in struct source_config */
	struct thinning thinning;          /* likewise */
	bool measures;                     /* likewise */
};

struct loaded_programs {
	struct prober prober; /* first */
	struct mtrace_bpf *skeleton;
	struct mtrace_bpf *exits; /* program_load_exits */
	struct program_config config;
	const struct means *means;
	struct kernel_types kernel;
	struct probe_events events;   /* of ATTACH_INHERITED */
	struct probe_links self_test; /* closed at the end only: closing waits for the kernel */
	struct heir heir;             /* takes the probes out, also when we are killed */
	VEC(int) left;                /* that are still to be closed by it */
	bool unwinds;                 /* stacks are by tables */
	bool seccomp_safe; /* a return probe leaves a process in strict seccomp mode alive */
};

#endif
