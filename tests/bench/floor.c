/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The floor of the benchmark: empty probes in a process, at the same sites that mtrace-bpf chooses,
 * including the return of malloc. usage: floor PID LIBRARY [FRAMES|entries|symbols]. Prints "ready"
 * and runs until its standard input ends. With FRAMES, the return of malloc takes a stack of that
 * many frames by bpf_get_stackid; with "entries" it has no probe; with "symbols" the probes are at
 * the first instructions of the functions. With PID 0 it only prints the sites of malloc and free.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "floor.skel.h"
#include "probes.h"
#include "symbol/elf/module_table.h"

static const struct probe_site *site_of(const struct probe_plan *plan, enum api api)
{
	for (size_t i = 0; i < plan->site_count; i++)
		if (plan->sites[i].api == api)
			return &plan->sites[i];
	die("no such site");
	return NULL;
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

static void attach_all(const char *path, int pid, const struct probe_site *allocate,
		       const struct probe_site *release, const char *how)
{
	uint32_t frames = (uint32_t)atoi(how);
	const struct floor_bpf *skeleton = load(frames);
	int nothing = bpf_program__fd(skeleton->progs.nothing);
	int at_return = frames ? bpf_program__fd(skeleton->progs.stackid) : nothing;
	bool at_symbols = !strcmp(how, "symbols");

	attach(nothing, path, at_symbols ? &allocate->entry : &allocate->offset, 1, pid, 0);
	attach(nothing, path, at_symbols ? &release->entry : &release->offset, 1, pid, 0);
	if (!at_symbols && strcmp(how, "entries"))
		attach(at_return, path, &allocate->offset, 1, pid, UPROBE_MULTI_RETURN);
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
	if (!plan)
		die(argv[2]);
	allocate = site_of(plan, API_MALLOC);
	release = site_of(plan, API_FREE);
	if (!pid) {
		printf("malloc+%lu free+%lu\n", (unsigned long)(allocate->offset - allocate->entry),
		       (unsigned long)(release->offset - release->entry));
		return 0;
	}
	attach_all(argv[2], pid, allocate, release, argc > 3 ? argv[3] : "");
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
