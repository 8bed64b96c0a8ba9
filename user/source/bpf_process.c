/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf_process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "base/vec.h"
#include "os/needed.h"
#include "symbol/probe_plan.h"

#define BREAKPOINT_NONE 0 /* never an original byte that we probe: it would be `add` */

static int deliver(const struct bpf_process *process, struct event *event)
{
	event->pid = event->tid = (uint32_t)process->pid;
	if (!event->time_ns)
		event->time_ns = clock_now_ns();
	return process->config->deliver(process->config->ctx, event);
}

/*
 * Probes.
 */

/* --only names apis; their whole family is probed, since a block's allocation and its free, or
 * operator new and the malloc below it, may be different apis. The model picks. */
static bool site_wanted(const struct source_config *config, const struct probe_site *site)
{
	for (int api = 1; api < API_COUNT; api++)
		if (config->apis & (1u << api) &&
		    api_row((enum api)api)->family == api_row(site->api)->family)
			return true;
	return false;
}

static bool module_omitted(const struct source_config *config, const struct module *module)
{
	const char *base = strrchr(module->path, '/');

	base = base ? base + 1 : module->path;
	for (const char *const *omit = config->omit; omit && *omit; omit++)
		if (!strcmp(*omit, module->path) || !strcmp(*omit, base))
			return true;
	return false;
}

static uint64_t site_cookie(const struct probe_plan *plan, const struct probe_site *site)
{
	uint64_t cookie = api_cookie(site->api);

	/* Who calls free tells the program's frees from a thread's cleaning up, if nothing else
	 * does. */
	if (!site->needs_return && !plan->hooks[HOOK_THREAD_ENDS])
		cookie |= (uint64_t)COOKIE_FLAG_CALLER << 24;
	return cookie;
}

static enum probe_kind site_kind(const struct probe_plan *plan, const struct probe_site *site)
{
	if (site->needs_return)
		return PROBE_CALL;
	return site_cookie(plan, site) == COOKIE_PLAIN_FREE ? PROBE_FREE_PLAIN : PROBE_FREE;
}

/* All sites of one kind in one request. */
static int attach_kind(struct bpf_process *process, const struct module *module,
		       const struct probe_plan *plan, enum probe_kind kind)
{
	uint64_t *offsets = calloc(plan->site_count, sizeof(*offsets));
	uint64_t *cookies = calloc(plan->site_count, sizeof(*cookies));
	struct probe_request request = {
		.kind = kind,
		.pid = process->pid,
		.path = module->open_path,
		.offsets = offsets,
		.cookies = cookies,
	};
	int err = -ENOMEM;

	if (!offsets || !cookies)
		goto out;
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct probe_site *site = &plan->sites[i];

		if (site_kind(plan, site) != kind || !site_wanted(process->config, site))
			continue;
		offsets[request.count] = site->offset;
		cookies[request.count++] = site_cookie(plan, site);
		log_info("%s: %s+%u: %s (%s)", module->path, site->symbol,
			 (unsigned int)(site->offset - site->entry), site->instruction,
			 site->reason);
	}
	err = program_attach(process->program, &request, &process->links);
	if (!err)
		process->site_count += request.count;
out:
	free(offsets);
	free(cookies);
	return err;
}

static int attach_hooks(struct bpf_process *process, const struct module *module,
			const struct probe_plan *plan)
{
	static const enum probe_kind kinds[HOOK_COUNT] = {
		[HOOK_LINK_MAP] = PROBE_LINK_MAP,
		[HOOK_THREAD_ENDS] = PROBE_THREAD_ENDS,
	};
	int err = 0;

	for (int hook = 0; !err && hook < HOOK_COUNT; hook++) {
		struct probe_request request = {
			.kind = kinds[hook],
			.pid = process->pid,
			.path = module->open_path,
			.offsets = &plan->hooks[hook],
			.count = 1,
		};

		if (plan->hooks[hook])
			err = program_attach(process->program, &request, &process->links);
	}
	return err;
}

static int attach_sites(struct bpf_process *process, const struct module *module,
			const struct probe_plan *plan)
{
	int err = 0;

	for (int kind = PROBE_CALL; !err && plan->site_count && kind <= PROBE_FREE_PLAIN; kind++)
		err = attach_kind(process, module, plan, (enum probe_kind)kind);
	return err ? err : attach_hooks(process, module, plan);
}

static void count_refusals(struct bpf_process *process, const struct module *module,
			   const struct probe_plan *plan)
{
	for (size_t i = 0; i < plan->refusal_count; i++)
		log_info("%s: %s is not probed: %s", module->path, plan->refusals[i].symbol,
			 plan->refusals[i].reason);
	process->unprobed_sites += plan->refusal_count;
}

/* Probe a module, once per process. What cannot be probed is a told loss, not the end. */
static int attach_module(struct bpf_process *process, struct module *module)
{
	const struct probe_plan *plan;
	struct error err = {0};
	int code;

	if (map64_get(&process->attached, module->id) != MAP64_NONE)
		return 0;
	code = map64_set(&process->attached, module->id, 1);
	if (code)
		return code;
	if (module_omitted(process->config, module))
		return 0;
	if (probe_plan_make(module, &plan, &err)) {
		log_info("%s: %s", module->path, err.text);
		return 0;
	}
	count_refusals(process, module, plan);
	code = attach_sites(process, module, plan);
	if (code == -ENOMEM)
		return code;
	if (code) {
		log_warn("%s: cannot place probes: %s", module->path, strerror(-code));
		process->unprobed_sites += plan->site_count;
	}
	return 0;
}

/*
 * Verification: a probe that the kernel accepted may still not be there (text that was remapped to
 * anonymous memory, for one), and would miss every call in silence.
 */

static void verify_site(struct bpf_process *process, const struct module *module,
			const struct probe_site *site, uint64_t address)
{
	uint8_t byte = BREAKPOINT_NONE;

	if (proc_memory_read(process->pid, address, &byte, 1) != 1 || byte != site->original)
		return;
	process->unprobed_sites++;
	log_info("%s: no breakpoint on %s in process %d", module->path, site->symbol, process->pid);
}

static void verify_mapping(struct bpf_process *process, const struct module *module,
			   const struct told_mapping *mapping)
{
	const struct probe_plan *plan = module->plan;

	if (!plan || module_omitted(process->config, module))
		return;
	for (size_t i = 0; i < plan->site_count; i++) {
		const struct probe_site *site = &plan->sites[i];

		if (site->offset < mapping->offset ||
		    site->offset - mapping->offset >= mapping->end - mapping->start ||
		    !site_wanted(process->config, site))
			continue;
		verify_site(process, module, site, mapping->start + site->offset - mapping->offset);
	}
}

/*
 * Mappings.
 */

static int tell_wrappers(struct bpf_process *process, const struct probe_plan *plan,
			 const struct told_mapping *mapping, uint64_t time_ns)
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
		err = deliver(process, &event);
	}
	return err;
}

/* Was the very same mapping told before? Else remember it. Returns 1, 0 or -ENOMEM. */
static int mapping_known(struct bpf_process *process, const struct told_mapping *mapping)
{
	uint32_t known = map64_get(&process->told, mapping->start);

	if (known != MAP64_NONE) {
		struct told_mapping *old = &process->mappings[known];

		if (old->end == mapping->end && old->offset == mapping->offset &&
		    old->module == mapping->module)
			return 1;
		*old = *mapping;
		return 0;
	}
	if (vec_reserve_bytes((void **)&process->mappings, &process->mapping_capacity,
			      process->mapping_count + 1, sizeof(*process->mappings)) ||
	    map64_set(&process->told, mapping->start, (uint32_t)process->mapping_count))
		return -ENOMEM;
	process->mappings[process->mapping_count++] = *mapping;
	return 0;
}

static int tell_mapping(struct bpf_process *process, const struct told_mapping *mapping,
			const struct module *module, uint64_t time_ns)
{
	const struct probe_plan *plan = module ? module->plan : NULL;
	struct event event = {.kind = EVENT_MAPPING, .time_ns = time_ns};
	int err = mapping_known(process, mapping);

	if (err)
		return err < 0 ? err : 0;
	event.mapping.start = mapping->start;
	event.mapping.end = mapping->end;
	event.mapping.offset = mapping->offset;
	event.mapping.module = mapping->module;
	if (plan && plan->allocator && !module->executable)
		event.mapping.flags = MAPPING_FLAG_ALLOCATOR;
	err = deliver(process, &event);
	if (err || !plan)
		return err;
	err = tell_wrappers(process, plan, mapping, time_ns);
	verify_mapping(process, module, mapping);
	return err;
}

/* The module of a mapping, opened, its unwind table published; NULL for code without a file. */
static int mapping_open(struct bpf_process *process, const struct proc_mapping *mapping,
			struct module **ret_module)
{
	struct error err = {0};
	int fd, code;

	*ret_module = NULL;
	if (!mapping->inode)
		return 0;
	fd = proc_open_mapped(process->pid, mapping);
	if (fd < 0) {
		log_info("%s: cannot be opened: %s", mapping->path, strerror(-fd));
		return 0;
	}
	code = module_intern(process->config->modules, fd, mapping->path, ret_module, &err);
	if (code) {
		close(fd);
		*ret_module = NULL;
		log_info("%s: %s", mapping->path, err.text);
		return code == -ENOMEM ? code : 0;
	}
	if (process->tables)
		return unwind_tables_add(process->tables, *ret_module, unwind_mapping_key(mapping));
	return 0;
}

static int mapping_module(struct bpf_process *process, const struct proc_mapping *mapping,
			  struct module **ret_module)
{
	int err = mapping_open(process, mapping, ret_module);

	return err || !*ret_module ? err : attach_module(process, *ret_module);
}

/* Stacks lead through all modules: their tables must be there before the first probe is. */
static int publish_tables(struct bpf_process *process, const struct proc_maps *maps,
			  uint32_t generation)
{
	int err = 0;

	for (size_t i = 0; !err && i < maps->count; i++) {
		const struct proc_mapping *mapping = &maps->items[i];
		struct module *module;

		if (!mapping->executable)
			continue;
		if (!unwind_tables_has(process->tables, unwind_mapping_key(mapping)))
			err = mapping_open(process, mapping, &module);
		unwind_tables_tell(process->tables, process->pid, generation, mapping);
	}
	return err;
}

static int map_entry(struct bpf_process *process, const struct proc_mapping *mapping,
		     uint64_t time_ns)
{
	struct told_mapping told = {
		.start = mapping->start,
		.end = mapping->end,
		.offset = mapping->offset,
		.module = MODULE_NONE,
	};
	struct module *module;
	int err;

	if (!mapping->executable || !strcmp(mapping->path, "[uprobes]") ||
	    !strcmp(mapping->path, "[vsyscall]"))
		return 0;
	err = mapping_module(process, mapping, &module);
	if (err)
		return err;
	if (module)
		told.module = module->id;
	return tell_mapping(process, &told, module, time_ns);
}

/* Everything that the process maps now. -ESRCH if it is gone. */
static int map_all(struct bpf_process *process, uint64_t time_ns)
{
	uint32_t generation =
		process->tables ? unwind_tables_generation(process->tables, process->pid) : 0;
	struct proc_maps maps;
	int err = proc_maps_read(process->pid, &maps);

	if (err)
		return err;
	if (process->tables)
		err = publish_tables(process, &maps, generation);
	for (size_t i = 0; !err && i < maps.count; i++)
		err = map_entry(process, &maps.items[i], time_ns);
	proc_maps_free(&maps);
	return err;
}

/* A module that user space does not know yet: read it from /proc, which also gives its path. What
 * was called in it since the kernel told of it is a gap. */
static int map_unknown(struct bpf_process *process, uint64_t since_ns)
{
	size_t sites = process->site_count;
	int err = map_all(process, since_ns);

	if (err == -ESRCH || err == -ENOENT || err == -EACCES) {
		log_info("process %d was gone before its new mappings could be read", process->pid);
		return 0;
	}
	if (process->site_count > sites)
		process->gap_ns += clock_now_ns() - since_ns;
	return err;
}

/* The names, last first, put together; "" if there are none. */
static void path_of_names(const char names[PATH_NAMES_SIZE], char path[PATH_NAMES_SIZE + 1])
{
	size_t at = PATH_NAMES_SIZE, used = 0;

	path[at] = '\0';
	while (used < PATH_NAMES_SIZE) {
		size_t length = strnlen(names + used, PATH_NAMES_SIZE - used);

		if (!length || length >= at)
			break;
		at -= length;
		memcpy(path + at, names + used, length);
		path[--at] = '/';
		used += length + 1;
	}
	memmove(path, path + at, PATH_NAMES_SIZE + 1 - at);
}

/* What lies under the path that the kernel gave, if it is the very file: the process may be in
 * another mount namespace, or the file replaced since. */
static int open_by_path(const char *path, uint64_t inode)
{
	struct stat status;
	int fd = path[0] ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;

	if (fd < 0 || (!fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_ino == inode))
		return fd;
	close(fd);
	return -1;
}

/* A module known, or found by its path without asking the process, which may be gone. */
static struct module *module_of_record(struct bpf_process *process,
				       const struct record_mapping *record)
{
	struct module_table *modules = process->config->modules;
	char path[PATH_NAMES_SIZE + 1], name[PATH_NAMES_SIZE + 1];
	struct module *module;
	int fd;

	snprintf(name, sizeof(name), "%.*s", PATH_NAMES_SIZE - 1, record->names);
	module = module_find_name(modules, record->inode, name);
	if (module)
		return module;
	path_of_names(record->names, path);
	fd = open_by_path(path, record->inode);
	if (fd < 0)
		return NULL;
	if (module_intern(modules, fd, path, &module, NULL)) {
		close(fd);
		return NULL;
	}
	return module;
}

/* Probe a module that was mapped unannounced; what it was called for until now is a gap. */
static int attach_late(struct bpf_process *process, struct module *module, uint64_t since_ns)
{
	size_t sites = process->site_count;
	int err = attach_module(process, module);

	if (process->site_count > sites)
		process->gap_ns += clock_now_ns() - since_ns;
	return err;
}

int bpf_process_mapping(struct bpf_process *process, const struct record_mapping *record)
{
	struct told_mapping told = {
		.start = record->start,
		.end = record->end,
		.offset = record->offset,
		.module = MODULE_NONE,
	};
	struct module *module = NULL;
	int err = 0;

	if (!record->end)
		return map_unknown(process, record->head.time_ns);
	if (record->inode) {
		module = module_of_record(process, record);
		if (!module)
			return map_unknown(process, record->head.time_ns);
		told.module = module->id;
		if (process->tables)
			err = unwind_tables_add(process->tables, module,
						unwind_file_key(record->dev_major,
								record->dev_minor, record->inode));
		if (err)
			return err;
		err = attach_late(process, module, record->head.time_ns);
		if (err)
			return err;
	}
	return tell_mapping(process, &told, module, record->head.time_ns);
}

/*
 * Beginning, new image, end.
 */

/*
 * Who it is, from /proc; where the process is gone already (a zombie has neither command line nor
 * executable), from what the kernel told at exec and from what we launched.
 */
static int tell_process(struct bpf_process *process, enum event_kind kind,
			const struct record_exec *exec)
{
	struct event event = {.kind = kind, .time_ns = exec ? exec->head.time_ns : 0};
	const char *path = exec ? exec->path : "", *comm = exec ? exec->comm : "";
	const char *const unknown[] = {path, NULL};
	const char *const *launched = kind == EVENT_PROCESS ? process->launched_command : NULL;
	struct proc_info info = {0};
	int err = proc_info_read(process->pid, &info);

	if (err && err != -ESRCH)
		return err;
	event.process.start_time_ns = info.start_time_ns;
	event.process.ppid = (uint32_t)info.ppid;
	event.process.launched = process->launched;
	event.process.comm = exec ? comm : info.comm;
	event.process.exe = info.exe ? info.exe : path;
	event.process.command = launched ? launched : unknown;
	if (!launched && info.exe && info.command && info.command[0])
		event.process.command = (const char *const *)info.command;
	event.process.arch = "x86_64";
	err = deliver(process, &event);
	proc_info_free(&info);
	return err;
}

static bool site_is_mapped(const struct bpf_process *process, uint32_t module, uint64_t offset)
{
	for (size_t i = 0; i < process->mapping_count; i++) {
		const struct told_mapping *mapping = &process->mappings[i];

		if (mapping->module == module && offset >= mapping->offset &&
		    offset - mapping->offset < mapping->end - mapping->start)
			return true;
	}
	return false;
}

/* Code that a program has moved to anonymous memory cannot have a breakpoint: nothing is there to
 * be verified, and what it would have told is lost. */
static void count_unmapped_sites(struct bpf_process *process)
{
	struct module *module;

	for (uint32_t id = 0; (module = module_get(process->config->modules, id)); id++) {
		const struct probe_plan *plan = module->plan;

		if (map64_get(&process->attached, id) == MAP64_NONE || !plan ||
		    module_omitted(process->config, module))
			continue;
		for (size_t i = 0; i < plan->site_count; i++) {
			const struct probe_site *site = &plan->sites[i];

			if (!site_wanted(process->config, site) ||
			    site_is_mapped(process, id, site->offset))
				continue;
			process->unprobed_sites++;
			log_info("%s: %s is not mapped from the file in process %d", module->path,
				 site->symbol, process->pid);
		}
	}
}

int bpf_process_attach(struct bpf_process *process, struct error *err)
{
	int code = tell_process(process, EVENT_PROCESS, NULL);

	/* Twice: what was mapped during the first round was not yet told by the linker's hook. */
	for (int round = 0; !code && round < 2; round++)
		code = map_all(process, 0);
	if (code)
		return error_set(err, code, "%s", strerror(-code));
	if (!process->site_count)
		return error_set(err, -ENOENT, "no allocation function found in what it maps");
	count_unmapped_sites(process);
	return 0;
}

/* A file that will be mapped. The device is what stat() gives: where the kernel calls it otherwise,
 * its record of the mapping will say so. */
static int attach_needed(struct bpf_process *process, const char *path)
{
	struct module *module;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return 0;
	if (module_intern(process->config->modules, fd, path, &module, NULL)) {
		close(fd);
		return 0;
	}
	if (process->tables)
		err = unwind_tables_add(process->tables, module,
					unwind_file_key(major(module->device),
							minor(module->device), module->inode));
	return err ? err : attach_module(process, module);
}

int bpf_process_attach_launch(struct bpf_process *process, const char *program,
			      char *const *command, char *const *environment, struct error *err)
{
	struct needed needed = {0};
	int code = needed_find(program, environment, &needed, err);

	/* What cannot be read or executed is for exec to say, in its own words and status. */
	if (code && code != -ENOMEM) {
		log_info("%s", err->text);
		code = 0;
	}
	for (size_t i = 0; !code && i < needed.count; i++)
		code = attach_needed(process, needed.paths[i]);
	needed_free(&needed);
	process->awaits_exec = process->launched = true;
	process->launched_command = (const char *const *)command;
	return code ? error_set_errno(err, code, "no probes") : 0;
}

/*
 * The kernel ties probes to the task that was the first thread when they were placed. If another
 * one execs, it takes that thread's place, and the new image has no probes: place them again in
 * all files that had them. The old ones first go: once there are breakpoints again they would see
 * each call too. What was mapped until then is read from /proc.
 */
static int attach_again(struct bpf_process *process, uint64_t since_ns)
{
	struct map64 attached = process->attached;
	struct module *module;
	int err = 0;

	probe_links_close(&process->links);
	process->attached = (struct map64){0};
	for (uint32_t id = 0; !err && (module = module_get(process->config->modules, id)); id++)
		if (map64_get(&attached, id) != MAP64_NONE)
			err = attach_module(process, module);
	map64_free(&attached);
	process->gap_ns += clock_now_ns() - since_ns;
	return err ? err : map_unknown(process, since_ns);
}

int bpf_process_exec(struct bpf_process *process, const struct record_exec *exec)
{
	enum event_kind kind = process->awaits_exec ? EVENT_PROCESS : EVENT_EXEC;
	int err;

	process->awaits_exec = false;
	map64_free(&process->told);
	process->mapping_count = 0;
	err = tell_process(process, kind, exec);
	if (!err && exec->head.flags & RECORD_FLAG_BY_THREAD)
		err = attach_again(process, exec->head.time_ns);
	return err;
}

void bpf_process_detach(struct bpf_process *process)
{
	probe_links_close(&process->links);
}

void bpf_process_free(struct bpf_process *process)
{
	bpf_process_detach(process);
	map64_free(&process->attached);
	map64_free(&process->told);
	free(process->mappings);
}
