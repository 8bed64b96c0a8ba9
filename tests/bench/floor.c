/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The floor of the benchmark: empty probes in a process at the very sites that mtrace-bpf chooses,
 * the return of malloc watched too. usage: floor PID LIBRARY [FRAMES]. Says "ready", and lives
 * until its standard input ends. With FRAMES the return of malloc takes a stack of that many by
 * bpf_get_stackid. With PID 0 it only prints malloc's and free's sites.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "floor.skel.h"
#include "symbol/probe_plan.h"

#define ATTACH_UPROBE_MULTI 48
#define UPROBE_MULTI_RETURN 1u

struct link_create_multi {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, pad;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static const struct probe_plan *plan_of(struct module_table *table, const char *path)
{
	const struct probe_plan *plan;
	struct module *module;
	struct error err;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || module_intern(table, fd, path, &module, &err) ||
	    probe_plan_make(module, &plan, &err))
		die(path);
	return plan;
}

static const struct probe_site *site_of(const struct probe_plan *plan, enum api api)
{
	for (size_t i = 0; i < plan->site_count; i++)
		if (plan->sites[i].api == api)
			return &plan->sites[i];
	die("no such site");
	return NULL;
}

static void attach(int program, const char *path, uint64_t offset, int pid, uint32_t flags)
{
	struct link_create_multi create = {
		.prog_fd = (uint32_t)program,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)&offset,
		.count = 1,
		.multi_flags = flags,
		.pid = (uint32_t)pid,
	};

	if (syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof(create)) < 0)
		die("BPF_LINK_CREATE");
}

static struct floor_bpf *load(uint32_t frames)
{
	struct floor_bpf *skeleton = floor_bpf__open();

	if (!skeleton)
		die("open");
	bpf_program__set_expected_attach_type(skeleton->progs.nothing, ATTACH_UPROBE_MULTI);
	bpf_program__set_expected_attach_type(skeleton->progs.stackid, ATTACH_UPROBE_MULTI);
	if (frames)
		bpf_map__set_value_size(skeleton->maps.stacks, frames * sizeof(uint64_t));
	if (floor_bpf__load(skeleton))
		die("load");
	return skeleton;
}

static void attach_all(const char *path, int pid, uint64_t allocate, uint64_t release,
		       uint32_t frames)
{
	const struct floor_bpf *skeleton = load(frames);
	int nothing = bpf_program__fd(skeleton->progs.nothing);
	int at_return = frames ? bpf_program__fd(skeleton->progs.stackid) : nothing;

	attach(nothing, path, allocate, pid, 0);
	attach(at_return, path, allocate, pid, UPROBE_MULTI_RETURN);
	attach(nothing, path, release, pid, 0);
}

int main(int argc, char **argv)
{
	struct module_table *table;
	const struct probe_plan *plan;
	const struct probe_site *allocate, *release;
	int pid;

	if (argc < 3 || module_table_new(&table))
		return 2;
	pid = atoi(argv[1]);
	plan = plan_of(table, argv[2]);
	allocate = site_of(plan, API_MALLOC);
	release = site_of(plan, API_FREE);
	if (!pid) {
		printf("malloc+%lu free+%lu\n", (unsigned long)(allocate->offset - allocate->entry),
		       (unsigned long)(release->offset - release->entry));
		return 0;
	}
	attach_all(argv[2], pid, allocate->offset, release->offset,
		   argc > 3 ? (uint32_t)atoi(argv[3]) : 0);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
