/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * links PID FILE...: the cost of the links alone, for empty programs at all sites that mtrace-bpf
 * would choose in those files of the process: one link for the entries of each file, one for its
 * returns. The search for the sites is not counted. Prints the milliseconds for loading the
 * programs, for linking and for detaching, the number of files with sites, and the number of sites.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <time.h>

#include "floor.skel.h"
#include "probes.h"
#include "symbol/elf/module_table.h"

#define MOST 4096 /* links, and sites per file */

struct file {
	const char *path;
	uint64_t entries[MOST];
	uint64_t returns[MOST];
	size_t entry_count;
	size_t return_count;
};

static double milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void find_sites(struct file *file, const struct probe_plan *plan)
{
	for (size_t i = 0; i < plan->site_count && file->entry_count < MOST; i++) {
		file->entries[file->entry_count++] = plan->sites[i].offset;
		if (plan->sites[i].needs_return)
			file->returns[file->return_count++] = plan->sites[i].offset;
	}
}

static size_t find_files(struct file *files, char **paths, size_t count)
{
	struct module_table *table;
	size_t found = 0;

	if (module_table_new(&table))
		die("module table");
	for (size_t i = 0; i < count; i++) {
		const struct probe_plan *plan = plan_of(table, paths[i]);

		files[found] = (struct file){.path = paths[i]};
		if (plan)
			find_sites(&files[found], plan);
		found += files[found].entry_count > 0;
	}
	return found;
}

static struct floor_bpf *load(void)
{
	struct floor_bpf *skeleton = floor_bpf__open();

	if (!skeleton)
		die("open");
	bpf_program__set_expected_attach_type(skeleton->progs.nothing, ATTACH_UPROBE_MULTI);
	bpf_program__set_autoload(skeleton->progs.stackid, false);
	if (floor_bpf__load(skeleton))
		die("load");
	return skeleton;
}

static size_t link_all(int *links, int program, int pid, const struct file *files, size_t count)
{
	size_t made = 0;

	for (size_t i = 0; i < count && made + 2 <= MOST; i++) {
		links[made++] = attach(program, files[i].path, files[i].entries,
				       files[i].entry_count, pid, 0);
		if (files[i].return_count)
			links[made++] = attach(program, files[i].path, files[i].returns,
					       files[i].return_count, pid, UPROBE_MULTI_RETURN);
	}
	return made;
}

int main(int argc, char **argv)
{
	static int links[MOST];
	size_t count = 0, made, sites = 0;
	struct floor_bpf *skeleton;
	struct file *files;
	double start, loaded, linked;

	if (argc < 3)
		return 2;
	files = calloc((size_t)argc, sizeof(*files));
	count = find_files(files, argv + 2, (size_t)argc - 2);
	start = milliseconds();
	skeleton = load();
	loaded = milliseconds();
	made = link_all(links, bpf_program__fd(skeleton->progs.nothing), atoi(argv[1]), files,
			count);
	linked = milliseconds();
	while (made)
		close(links[--made]);
	for (size_t i = 0; i < count; i++)
		sites += files[i].entry_count;
	printf("%.3f %.3f %.3f %zu %zu\n", loaded - start, linked - loaded, milliseconds() - linked,
	       count, sites);
	return 0;
}
