/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/log.h"
#include "os/file.h"
#include "os/needed.h"
#include "source/bpf_mappings.h"
#include "source/bpf_probes.h"

int bpf_process_deliver(const struct bpf_process *process, struct event *event)
{
	event->pid = event->tid = (uint32_t)process->pid;
	if (!event->time_ns)
		event->time_ns = clock_now_ns();
	return process->config->deliver(process->config->ctx, event);
}

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
	err = bpf_process_deliver(process, &event);
	proc_info_free(&info);
	return err;
}

int bpf_process_attach(struct bpf_process *process, struct error *err)
{
	int code = tell_process(process, EVENT_PROCESS, NULL);

	/* Twice: what was mapped during the first round was not yet told by the linker's hook. */
	for (int round = 0; !code && round < 2; round++)
		code = mappings_read(process, 0);
	if (code)
		return error_set(err, code, "%s", strerror(-code));
	if (!process->site_count)
		return error_set(err, -ENOENT, "no allocation function found in what it maps");
	probes_count_unmapped(process);
	return 0;
}

/* A file that will be mapped. The device is what stat() gives: where the kernel calls it otherwise,
 * its record of the mapping will say so. */
static int attach_needed(struct bpf_process *process, const char *path)
{
	struct module *module;
	int fd = file_open_regular(path, NULL), err = 0;

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
	return err ? err : probes_attach(process, module);
}

int bpf_process_attach_launch(struct bpf_process *process, const char *program,
			      char *const *command, char *const *environment, struct error *err)
{
	struct elf_dynamic_reader reader = {parser_read_dynamic, process->config->parser};
	struct needed needed = {0};
	int code = needed_find(program, environment, &reader, &needed, err);

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
			err = probes_attach(process, module);
	map64_free(&attached);
	process->gap_ns += clock_now_ns() - since_ns;
	return err ? err : mappings_read_late(process, since_ns);
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
	map64_free(&process->calls);
	free(process->mappings);
}
