/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the benchmark's own probes: plans for files, and links of the simplest kind. */
#ifndef MTRACE_BENCH_PROBES_H
#define MTRACE_BENCH_PROBES_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "source/bpf/load/link.h"
#include "symbol/elf/module_table.h"
#include "symbol/probe_site/plan.h"

static inline void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Returns NULL if the file cannot have one. */
static inline const struct probe_plan *plan_of(struct module_table *table, const char *path)
{
	const struct probe_plan *plan;
	struct module *module;
	struct error err;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || module_intern(table, fd, path, &module, &err) ||
	    probe_plan_make(module, &plan, &err))
		return NULL;
	return plan;
}

/* Returns the link's descriptor. */
static inline int attach(int program, const char *path, const uint64_t *offsets, size_t count,
			 int pid, uint32_t flags)
{
	struct link_create_multi create = {
		.prog_fd = (uint32_t)program,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.count = (uint32_t)count,
		.multi_flags = flags,
		.pid = (uint32_t)pid,
	};
	int fd = link_multi(&create);

	if (fd < 0)
		die("BPF_LINK_CREATE");
	return fd;
}

#endif
