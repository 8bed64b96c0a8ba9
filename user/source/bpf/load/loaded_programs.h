/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loaded BPF programs and how they are attached. See program.h for the operations. */
#ifndef MTRACE_SOURCE_BPF_LOAD_LOADED_PROGRAMS_H
#define MTRACE_SOURCE_BPF_LOAD_LOADED_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "bpf/abi.h"
#include "os/process/probe_closer.h"
#include "source/bpf/events/events.h"
#include "source/bpf/load/kernel.h"
#include "source/alloc_filter.h"
#include "source/process/probe_request.h"
#include "source/process/prober.h"

struct mtrace_bpf;

enum attach {
	ATTACH_MULTI,     /* one link for many sites (Linux 6.6) */
	ATTACH_PERF,      /* one perf event per site */
	ATTACH_INHERITED, /* trace events that children inherit: source/bpf/events/events.h */
};

/* One row per way to attach, and to pass a call's arguments from entry to return. */
struct means {
	const char *name; /* as in --pairing */
	enum pairing pairing;
	enum attach attach;
	uint32_t scopes; /* bit mask of (1 << enum scope) that it supports */
	const char *words;
};

struct program_config {
	const char *pairing;   /* name of the only one to try, or NULL */
	uint32_t depth;        /* frames per stack, 0 for none */
	uint32_t unwind_rows;  /* room for unwind tables; 0: stacks by frame pointers */
	uint64_t buffer_bytes; /* a power of two */
	enum scope scope;
	const struct selection *selection; /* SCOPE_SYSTEM; NULL: everything */
	uint32_t pid_namespace;            /* set by program_load(); see pid_namespace_find() */
	bool sanity;                       /* as in struct source_config */
	struct alloc_filter alloc_filter;  /* as in struct source_config */
	bool measures;                     /* as in struct source_config */
};

struct loaded_programs {
	struct prober prober; /* first */
	struct mtrace_bpf *skeleton;
	struct mtrace_bpf *exits; /* program_load_exits */
	struct program_config config;
	const struct means *means;
	struct kernel_types kernel;
	struct probe_events events;       /* ATTACH_INHERITED */
	struct probe_links self_test;     /* only closed at the end: closing waits for the kernel */
	struct probe_closer probe_closer; /* removes the probes, even if we are killed */
	VEC(int) left;                    /* descriptors that it must still close */
	bool unwinds;                     /* stacks are by tables */
	bool seccomp_safe; /* a process in strict seccomp mode survives return probes */
};

#endif
