/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/mappings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "os/file/descriptors.h"
#include "base/log.h"
#include "base/vec.h"
#include "gate/place/layout.h"
#include "os/file/regular.h"
#include "os/process/maps.h"
#include "os/process/proc.h"
#include "source/gate/gated.h"
#include "source/process/mapped_files.h"
#include "source/record/path_names.h"
#include "source/trace/leader.h"
#include "source/trace/probes.h"
#include "source/unwind/tables.h"
#include "symbol/elf/module_table.h"
#include "symbol/elf/vdso.h"
#include "symbol/probe_site/plan.h"

static int deliver_wrappers(struct traced_process *process, const struct probe_plan *plan,
			    const struct delivered_mapping *mapping, uint64_t time_ns)
{
	int err = 0;

	for (size_t i = 0; !err && i < plan->wrapper_count; i++) {
		const struct probe_wrapper *wrapper = &plan->wrappers[i];
		struct event event = {.kind = EVENT_WRAPPER, .time_ns = time_ns};

		if (wrapper->start < mapping->offset ||
		    wrapper->start - mapping->offset >= mapping->end - mapping->start)
			continue;
		event.wrapper.api = wrapper->api;
		event.wrapper.start = wrapper->start - mapping->offset + mapping->start;
		event.wrapper.end = wrapper->end - mapping->offset + mapping->start;
		err = traced_process_deliver(process, &event);
	}
	return err;
}

/* Returns 1 if the same mapping was reported before. Otherwise stores it and returns 0 or
 * -ENOMEM. */
static int mapping_known(struct traced_process *process, const struct delivered_mapping *mapping)
{
	uint32_t known = map64_get(&process->delivered, mapping->start);

	if (known != MAP64_NONE) {
		struct delivered_mapping *old = &process->mappings[known];

		if (old->end == mapping->end && old->offset == mapping->offset &&
		    old->module == mapping->module)
			return 1;
		*old = *mapping;
		return 0;
	}
	if (vec_reserve_bytes((void **)&process->mappings, &process->mapping_capacity,
			      process->mapping_count + 1, sizeof(*process->mappings)) ||
	    map64_set(&process->delivered, mapping->start, (uint32_t)process->mapping_count))
		return -ENOMEM;
	process->mappings[process->mapping_count++] = *mapping;
	return 0;
}

static int deliver_mapping(struct traced_process *process, const struct delivered_mapping *mapping,
			   const struct module *module, uint64_t time_ns)
{
	const struct probe_plan *plan = module ? module->plan : NULL;
	struct event event = {.kind = EVENT_MAPPING, .time_ns = time_ns};
	int err = mapping_known(process, mapping);

	if (err)
		return err < 0 ? err : 0;
	process->mappings_delivered++;
	event.mapping.start = mapping->start;
	event.mapping.end = mapping->end;
	event.mapping.offset = mapping->offset;
	event.mapping.module = mapping->module;
	if (plan && plan->allocator && !module->executable)
		event.mapping.flags = MAPPING_FLAG_ALLOCATOR;
	err = traced_process_deliver(process, &event);
	if (err || !plan)
		return err;
	if (gated_finds_copy(process, module, mapping->start)) {
		err = probes_attach_copy(process, module);
		if (time_ns)
			process->gap_ns += clock_now_ns() - time_ns;
	}
	if (!err)
		err = deliver_wrappers(process, plan, mapping, time_ns);
	process->ops->verify(process, module, mapping);
	return err;
}

int vdso_open(struct traced_process *process, bool is_64bit, struct module **ret_module)
{
	struct unwind_file_key key = unwind_vdso_key(is_64bit);
	int err = vdso_module(process->config->modules, is_64bit, ret_module);

	if (!err)
		return process->tables ? unwind_tables_add(process->tables, *ret_module, key) : 0;
	*ret_module = NULL;
	if (process->tables)
		unwind_tables_none(process->tables, key);
	return err == -ENOMEM ? err : 0;
}

/* A file that cannot be read has no names and no unwind table. */
static int file_refused(struct traced_process *process, const struct proc_mapping *mapping,
			const char *why, int code)
{
	log_info("%s: %s", mapping->path, why);
	if (process->tables)
		unwind_tables_none(process->tables, unwind_mapping_key(mapping));
	return traced_process_must_fail(process, code) ? code : 0;
}

/* On overlayfs, the kernel and /proc/PID/maps identify a file differently. */
static int publish_module(struct traced_process *process, const struct module *module,
			  struct unwind_file_key key)
{
	int err = 0;

	if (process->tables)
		err = unwind_tables_add(process->tables, module, key);
	if (!err && process->tables)
		err = unwind_tables_add(process->tables, module, unwind_module_key(module));
	return err;
}

static int open_file(struct traced_process *process, const struct proc_mapping *mapping,
		     struct mapped_file *file)
{
	struct error err = {0};
	int fd = proc_open_mapped(traced_process_reader(process), mapping);
	int code;

	if (fd == -EMFILE && descriptors_raise())
		fd = proc_open_mapped(traced_process_reader(process), mapping);
	if (fd < 0) {
		mapped_file_not_opened(file);
		return file_refused(process, mapping, strerror(-fd), fd);
	}
	code = module_intern(process->config->modules, fd, mapping->path, &file->module, &err);
	file->done = true;
	if (code) {
		close(fd);
		file->module = NULL;
		return file_refused(process, mapping, err.text, code);
	}
	return publish_module(process, file->module, unwind_mapping_key(mapping));
}

static bool is_of_gates(const struct proc_mapping *mapping)
{
	return !strcmp(mapping->path, GATE_CODE_PATH);
}

/* Finds the module of a mapping and publishes its unwind table; NULL for code without a file. */
static int mapping_open(struct traced_process *process, const struct proc_mapping *mapping,
			struct mapped_files *files, struct module **ret_module)
{
	struct mapped_file *file;
	int err = 0;

	*ret_module = NULL;
	if (!strcmp(mapping->path, VDSO_NAME))
		return vdso_open(process, vdso_is_64bit(mapping->start), ret_module);
	if (!mapping->inode)
		return 0;
	if (is_of_gates(mapping)) {
		*ret_module = gated_module_at(process, mapping);
		return *ret_module
			       ? publish_module(process, *ret_module, unwind_mapping_key(mapping))
			       : 0;
	}
	file = mapped_files_get(files, mapping);
	if (!file)
		return -ENOMEM;
	if (!file->done)
		err = open_file(process, mapping, file);
	*ret_module = file->module;
	return err;
}

/* Stacks go through all modules, so their tables must be published before the first probe is
 * placed. */
static int publish_tables(struct traced_process *process, const struct proc_maps *maps,
			  struct mapped_files *files, uint32_t generation)
{
	int err = 0;

	for (size_t i = 0; !err && i < maps->count; i++) {
		const struct proc_mapping *mapping = &maps->items[i];
		struct module *module;

		if (!mapping->executable)
			continue;
		if (!unwind_tables_has(process->tables, unwind_mapping_key(mapping)))
			err = mapping_open(process, mapping, files, &module);
		unwind_tables_set_mapping(process->tables, process->pid, generation, mapping);
	}
	return err;
}

static bool is_of_module(const struct traced_process *process, const struct proc_mapping *mapping)
{
	return mapping->executable && strcmp(mapping->path, "[uprobes]") &&
	       strcmp(mapping->path, "[vsyscall]") &&
	       (!is_of_gates(mapping) || gated_module_at(process, mapping));
}

/* Probes the modules of the mappings. modules[i] is that of mapping i, or NULL. */
static int attach_entries(struct traced_process *process, const struct proc_maps *maps,
			  struct mapped_files *files, struct module **modules)
{
	int err = 0;

	for (size_t i = 0; !err && i < maps->count; i++) {
		if (!is_of_module(process, &maps->items[i]))
			continue;
		err = mapping_open(process, &maps->items[i], files, &modules[i]);
		if (!err && modules[i])
			err = probes_attach(process, modules[i]);
	}
	return err;
}

static int deliver_entries(struct traced_process *process, const struct proc_maps *maps,
			   struct module *const *modules, uint64_t time_ns)
{
	int err = 0;

	for (size_t i = 0; !err && i < maps->count; i++) {
		const struct proc_mapping *entry = &maps->items[i];
		const struct delivered_mapping mapping = {
			.start = entry->start,
			.end = entry->end,
			.offset = entry->offset,
			.module = modules[i] ? modules[i]->id : MODULE_NONE,
		};

		if (is_of_module(process, entry))
			err = deliver_mapping(process, &mapping, modules[i], time_ns);
	}
	return err;
}

/* Reads the mappings of the process, and allocates room for as many modules. -ESRCH if it is
 * gone. */
static int read_maps(struct traced_process *process, struct proc_maps *maps,
		     struct module ***modules)
{
	int err = proc_maps_read(traced_process_reader(process), maps);

	if (err)
		return err;
	*modules = maps->count ? calloc(maps->count, sizeof(**modules)) : NULL;
	if (*modules)
		return 0;
	err = maps->count ? -ENOMEM : -ESRCH; /* a zombie */
	proc_maps_free(maps);
	return err;
}

/* Handles everything that the process maps now: its tables, its probes and, if `tell`, its
 * events. */
static int read_and_attach(struct traced_process *process, bool tell, uint64_t time_ns)
{
	uint32_t generation =
		process->tables ? unwind_tables_generation(process->tables, process->pid) : 0;
	struct mapped_files files = {0};
	struct module **modules;
	struct proc_maps maps;
	int err = read_maps(process, &maps, &modules);

	if (err)
		return err;
	if (process->tables)
		err = publish_tables(process, &maps, &files, generation);
	if (!err)
		err = attach_entries(process, &maps, &files, modules);
	if (!err && tell)
		err = probes_commit(process);
	if (!err && tell)
		err = deliver_entries(process, &maps, modules, time_ns);
	mapped_files_free(&files);
	free(modules);
	proc_maps_free(&maps);
	return err;
}

int mappings_attach(struct traced_process *process)
{
	return read_and_attach(process, false, 0);
}

int mappings_read(struct traced_process *process, uint64_t time_ns)
{
	int err = read_and_attach(process, true, time_ns);

	if (err || !gated_waits(process))
		return err;
	/* Once more: gates have replaced pages of code. */
	err = read_and_attach(process, true, time_ns);
	gated_start(process);
	return err;
}

/* Counts the gap of probes that were placed, since placed_ns was set to 0, later than their code
 * was mapped. */
static void count_gap(struct traced_process *process, uint64_t since_ns)
{
	if (process->placed_ns > since_ns)
		process->gap_ns += process->placed_ns - since_ns;
}

/* Reads modules that user space does not know yet from /proc, which also gives their paths. The
 * time since the kernel reported them is a gap. */
int mappings_read_with_gap(struct traced_process *process, uint64_t since_ns)
{
	int err;

	process->placed_ns = 0;
	err = mappings_read(process, since_ns);
	if (err == -ESRCH || err == -ENOENT || err == -EACCES) {
		log_info("process %d exited before its new mappings could be read", process->pid);
		process->gap_ns += clock_now_ns() - since_ns;
		return 0;
	}
	count_gap(process, since_ns);
	return err;
}

/*
 * Returns a known module, or finds it by its path without using the process, which may be gone. The
 * path is the kernel's: in another mount namespace it may name another file, and the file may have
 * been replaced since.
 */
static struct module *module_of_record(struct traced_process *process,
				       const struct record_mapping *record)
{
	struct module_table *modules = process->config->modules;
	uint64_t device = makedev(record->dev_major, record->dev_minor);
	struct module *module = module_find(modules, device, record->inode);
	char path[PATH_NAMES_SIZE + 1];
	struct stat file;
	int fd;

	if (module)
		return module;
	(void)path_of_names(record->names, path); /* a wrong file is detected below */
	fd = path[0] ? file_open_regular(path, &file) : -ENOENT;
	if (fd < 0)
		return NULL;
	if (file.st_dev != device || file.st_ino != record->inode ||
	    module_intern(modules, fd, path, &module, NULL)) {
		close(fd);
		return NULL;
	}
	return module;
}

/* Probes a module that was not mapped by the dynamic linker. The time until now is a gap. */
static int attach_with_gap(struct traced_process *process, struct module *module, uint64_t since_ns)
{
	int err;

	process->placed_ns = 0;
	err = probes_attach(process, module);
	if (!err)
		err = probes_commit(process);
	count_gap(process, since_ns);
	return err;
}

int traced_process_mapping(struct traced_process *process, const struct record_mapping *record)
{
	struct delivered_mapping mapping = {
		.start = record->start,
		.end = record->end,
		.offset = record->offset,
		.module = MODULE_NONE,
	};
	struct module *module = NULL;
	int err = 0;

	if (!record->end)
		return mappings_read_with_gap(process, record->head.time_ns);
	if (!strcmp(record->names, VDSO_NAME)) {
		err = vdso_open(process, vdso_is_64bit(record->start), &module);
		if (err)
			return err;
		if (module)
			mapping.module = module->id;
	} else if (record->inode) {
		module = module_of_record(process, record);
		if (!module)
			return mappings_read_with_gap(process, record->head.time_ns);
		mapping.module = module->id;
		err = publish_module(
			process, module,
			unwind_file_key(record->dev_major, record->dev_minor, record->inode));
		if (err)
			return err;
		err = attach_with_gap(process, module, record->head.time_ns);
		if (!err && gated_waits(process))
			err = mappings_read(process, record->head.time_ns);
		if (err)
			return err;
	}
	if (module && map64_get(&process->delivered, mapping.start) == MAP64_NONE)
		leader_count_gap(process, record->head.time_ns);
	return deliver_mapping(process, &mapping, module, record->head.time_ns);
}
