/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/trace/process.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/vec.h"
#include "os/exec/next_program.h"
#include "os/library/needed.h"
#include "os/process/cgroup.h"
#include "os/process/proc.h"
#include "source/record/path_names.h"
#include "source/trace/leader.h"
#include "source/trace/libraries.h"
#include "source/trace/mappings.h"
#include "source/gate/gated.h"
#include "source/trace/probes.h"
#include "source/trace/translator.h"
#include "symbol/elf/module_table.h"

#define NS_PER_SECOND 1000000000ULL
#define EXE_LINK_SIZE 32

#define X32_REFUSED          "it uses the x32 ABI; only x86-64 and i386 programs can be traced"
#define NO_UPROBES_FOR_32BIT "this kernel has no uprobes for 32-bit programs; use --backend ptrace"

/* Why a program cannot be traced; NULL if it can. */
static const char *refusal_of(const struct traced_process *process, const char *path)
{
	struct elf_identity identity;

	if (elf_identity_read(path, &identity))
		return NULL;
	if (identity.machine == EM_X86_64 && identity.word == ELFCLASS32)
		return X32_REFUSED;
	return probes_reach(process, identity.machine) ? NULL : NO_UPROBES_FOR_32BIT;
}

/* The link opens the file itself, even if it was moved or is in another namespace. */
static void exe_link(pid_t pid, char path[EXE_LINK_SIZE])
{
	snprintf(path, EXE_LINK_SIZE, "/proc/%d/exe", (int)pid);
}

/* From the exec record; for a process that was already running, from its file. */
static const char *arch_of(const struct traced_process *process, const struct record_exec *exec)
{
	struct elf_identity identity = {.word = ELFCLASS64};
	char path[EXE_LINK_SIZE];

	exe_link(process->pid, path);
	if (exec ? exec->head.flags & RECORD_FLAG_32BIT
		 : !elf_identity_read(path, &identity) && identity.word == ELFCLASS32)
		return arch_native_name(true);
	return arch_native_name(false);
}

#define COMMAND_WORDS_MAX (EXEC_COMMAND_SIZE + 1)

/* The arguments as they were at exec, without those that did not fit. */
static void words_of_exec(const struct record_exec *exec, const char *words[COMMAND_WORDS_MAX])
{
	size_t size = exec ? exec->command_size : 0, count = 0;

	if (size > EXEC_COMMAND_SIZE)
		size = EXEC_COMMAND_SIZE;
	for (size_t at = 0; at < size; at += strlen(&exec->command[at]) + 1) {
		if (!memchr(&exec->command[at], '\0', size - at))
			break;
		words[count++] = &exec->command[at];
	}
	words[count] = NULL;
}

/* Prefers the record: /proc may already show a later image. */
static const char *exe_of(const struct record_exec *exec, const struct proc_info *info,
			  char path[PATH_NAMES_SIZE + 1])
{
	if (exec && path_of_names(exec->names, path))
		return path;
	if (info->exe)
		return info->exe;
	return exec ? exec->path : "";
}

/* Prefers the record, as a program may have changed its arguments; otherwise /proc, if it is the
 * same image. */
static const char *const *command_of(const struct record_exec *exec, const struct proc_info *info,
				     const char *exe, const char *words[COMMAND_WORDS_MAX])
{
	bool whole = exec && exec->command_size <= EXEC_COMMAND_SIZE;

	words_of_exec(exec, words);
	if ((!whole || !words[0]) && info->exe && info->command && info->command[0] &&
	    !strcmp(info->exe, exe))
		return (const char *const *)info->command;
	if (!words[0] && exec) {
		words[0] = exec->path;
		words[1] = NULL;
	}
	return words;
}

/* Rounds to clock ticks, like /proc/PID/stat. */
static uint64_t in_ticks(uint64_t time_ns)
{
	uint64_t tick_ns = NS_PER_SECOND / (uint64_t)sysconf(_SC_CLK_TCK);

	return time_ns / tick_ns * tick_ns;
}

/* Keeps the old one if the process is gone. */
static void read_cgroup(struct traced_process *process)
{
	struct cgroup cgroup;

	if (cgroup_read(process->pid, &cgroup))
		return;
	cgroup_free(&process->cgroup);
	process->cgroup = cgroup;
}

/*
 * Describes the process from /proc. If it is already gone (a zombie has neither command line nor
 * executable), from the exec record, the launched command and the parent's cgroup.
 */
static int deliver_process(struct traced_process *process, enum event_kind kind,
			   const struct record_exec *exec)
{
	struct event event = {.kind = kind, .time_ns = exec ? exec->head.time_ns : 0};
	char path[PATH_NAMES_SIZE + 1];
	const char *const *launched = kind == EVENT_PROCESS ? process->launched_command : NULL;
	const char *words[COMMAND_WORDS_MAX];
	bool is_exec = exec && exec->start_time_ns;
	struct proc_info info = {0};
	int err = proc_info_read(process->pid, &info);

	if (err && err != -ESRCH)
		return err;
	read_cgroup(process);
	event.process.inner_pid = is_exec ? exec->inner : (uint32_t)info.inner_pid;
	event.process.cgroup = process->cgroup.path;
	event.process.container = process->cgroup.container;
	event.process.start_time_ns = is_exec ? in_ticks(exec->start_time_ns) : info.start_time_ns;
	event.process.ppid = is_exec ? exec->parent : (uint32_t)info.ppid;
	event.process.origin = launched ? ORIGIN_LAUNCHED : exec ? ORIGIN_EXEC : ORIGIN_ATTACHED;
	event.process.from_start = process->from_start;
	event.process.comm = exec ? exec->comm : info.comm;
	event.process.exe = exe_of(exec, &info, path);
	event.process.command =
		launched ? launched : command_of(exec, &info, event.process.exe, words);
	event.process.arch = arch_of(process, exec);
	err = traced_process_deliver(process, &event);
	proc_info_free(&info);
	return err;
}

static int refuse_translated(struct traced_process *process, struct error *err)
{
	process->translated = translator_runs(process->pid);
	return process->translated ? error_set(err, -EOPNOTSUPP, "%s", translator_words) : 0;
}

bool traced_process_is_nested_free(struct traced_process *process, uint32_t tid, uint64_t address,
				   uint8_t object)
{
	struct last_free freed = {.address = address, .object = object}, *last;
	uint32_t index;

	if (process->allocator_objects < 2)
		return false;
	index = map64_get(&process->last_freed, tid);
	if (index == MAP64_NONE) {
		/* If out of memory, it counts as an unmatched free. */
		if (!vec_push(&process->frees, freed))
			map64_set(&process->last_freed, tid, (uint32_t)process->frees.count - 1);
		return false;
	}
	last = &process->frees.items[index];
	if (last->address == address && last->object != object)
		return true;
	*last = freed;
	return false;
}

static int attach_own(struct traced_process *process)
{
	int err = mappings_attach(process);

	if (!err)
		err = libraries_attach_known(process);
	if (!err)
		err = probes_commit(process);
	/* Once more: the dynamic linker's hook has not reported what was mapped meanwhile. */
	return err ? err : mappings_read(process, 0);
}

/* For SCOPE_SYSTEM: probes are already in place, except in files that were not mapped before. */
static int attach_to_shared(struct traced_process *process)
{
	size_t before = process->shared->placed_ns.count;
	int err = mappings_read(process, 0);

	if (err || process->shared->placed_ns.count == before)
		return err;
	return mappings_read(process, 0);
}

int traced_process_attach(struct traced_process *process, struct error *err)
{
	char path[EXE_LINK_SIZE];
	const char *refusal;
	int code = refuse_translated(process, err);

	if (!code)
		code = gated_clean(process, err);
	if (code)
		return code;
	exe_link(process->pid, path);
	refusal = refusal_of(process, path);
	if (refusal)
		return error_set(err, -ENOTSUP, "%s", refusal);
	code = deliver_process(process, EVENT_PROCESS, NULL);
	if (!code)
		code = process->config->scope == SCOPE_SYSTEM ? attach_to_shared(process)
							      : attach_own(process);
	if (code)
		return error_set(err, code, "%s", strerror(-code));
	if (!process->site_count && process->config->scope != SCOPE_SYSTEM)
		return error_set(err, -ENOENT,
				 "no allocation function found in its program or libraries");
	probes_count_unmapped(process);
	return 0;
}

static int attach_all_needed(struct traced_process *process, const struct needed *needed,
			     int (*attach)(struct traced_process *, struct module *))
{
	int err = 0;

	for (size_t i = 0; !err && i < needed->count; i++)
		err = library_attach(process, needed->paths[i], attach);
	return err;
}

int traced_process_attach_launch(struct traced_process *process, const char *program,
				 char *const *command, char *const *environment, struct error *err)
{
	struct elf_dynamic_reader reader = {parser_read_dynamic, process->config->parser};
	struct needed needed = {0}, others = {0};
	const char *refusal;
	int code;

	process->awaits_exec = true;
	process->translated = translator_is_path(program);
	if (process->translated)
		log_warn("%s: the program that it runs is not traced: %s", program,
			 translator_words);
	code = needed_find(program, environment, &reader, &needed, err);

	/* If the file cannot be read or executed, exec reports that with its own message and
	 * status. */
	if (code && code != -ENOMEM) {
		log_info("%s", err->text);
		code = 0;
	}
	refusal = needed.count ? refusal_of(process, needed.paths[0]) : NULL;
	if (refusal) {
		needed_free(&needed);
		return error_set(err, -ENOTSUP, "%s", refusal);
	}
	code = code ? code : attach_all_needed(process, &needed, probes_attach);
	if (!code && !next_programs_find(process->pid, command, environment, &reader, &others))
		code = attach_all_needed(process, &others, probes_attach_ahead);
	needed_free(&needed);
	needed_free(&others);
	if (!code)
		code = libraries_attach_known(process);
	if (!code)
		code = probes_commit(process);
	read_cgroup(process);
	process->launched_command = (const char *const *)command;
	return code ? error_set_errno(err, code, "cannot place probes") : 0;
}

/* Places the probes again in all files that had them. */
static int replace_probes(struct traced_process *process, const struct map64 *attached)
{
	struct module *module;
	int err = 0;

	for (uint32_t id = 0; !err && (module = module_get(process->config->modules, id)); id++)
		if (map64_get(attached, id) != MAP64_NONE)
			err = probes_attach_ahead(process, module);
	for (size_t i = 0; !err && i < process->mapping_count; i++) {
		module = module_get(process->config->modules, process->mappings[i].module);
		if (module)
			err = probes_attach(process, module);
	}
	return err ? err : probes_commit(process);
}

/*
 * The kernel ties probes to the task that was the leader when they were placed. If another thread
 * calls exec, it becomes the leader, and the new image has no probes: place them again in all files
 * that had them. Remove the old ones first: once the breakpoints are back, they would see each call
 * as well. What was mapped until then is read from /proc. The exit of the old leader may have been
 * noticed before (leader.h).
 */
int traced_process_attach_again(struct traced_process *process, uint64_t since_ns)
{
	struct map64 attached = process->attached;
	struct shared_probes *shared = process->shared;
	int err;

	prober_close(process->prober, &process->links);
	process->attached = (struct map64){0};
	process->shared = NULL;
	err = replace_probes(process, &attached);
	map64_free(&attached);
	if (process->leader_exited)
		leader_found(process, shared, since_ns);
	else
		process->gap_ns += clock_now_ns() - since_ns;
	return err ? err : mappings_read_with_gap(process, since_ns);
}

/* A child has the probes that its parent had when it forked. Probes placed at that very time may be
 * missing. */
static int inherit_probes(struct traced_process *process, const struct traced_process *parent,
			  uint64_t forked_ns)
{
	process->translated = parent->translated;
	if (!process->shared && forked_ns <= parent->attached_ns)
		return replace_probes(process, &parent->attached);
	process->site_count = parent->site_count;
	process->unprobed_sites = parent->unprobed_sites;
	process->watches_exits = parent->watches_exits;
	process->allocator_objects = parent->allocator_objects;
	prober_inherit(process->prober, &process->links, &parent->links);
	return map64_copy(&process->attached, &parent->attached);
}

static int inherit_mappings(struct traced_process *process, const struct traced_process *parent)
{
	size_t count = parent->mapping_count;

	if (vec_reserve_bytes((void **)&process->mappings, &process->mapping_capacity, count,
			      sizeof(*process->mappings)))
		return -ENOMEM;
	if (count)
		memcpy(process->mappings, parent->mappings, count * sizeof(*process->mappings));
	process->mapping_count = count;
	process->mappings_delivered = parent->mappings_delivered;
	return map64_copy(&process->delivered, &parent->delivered);
}

int traced_process_fork(struct traced_process *process, const struct traced_process *parent,
			const struct record_fork *fork)
{
	struct event event = {
		.kind = EVENT_FORK,
		.pid = fork->head.pid,
		.tid = fork->head.tid,
		.time_ns = fork->head.time_ns,
		.fork = {.parent = fork->parent,
			 .start_time_ns = in_ticks(fork->start_time_ns),
			 .shares_memory = fork->head.flags & RECORD_FLAG_SHARED,
			 .comm = fork->comm},
	};
	int err = process->config->deliver(process->config->ctx, &event);

	if (!err && cgroup_read(parent->pid, &process->cgroup))
		err = cgroup_copy(&process->cgroup, &parent->cgroup);
	if (!err)
		err = inherit_mappings(process, parent);
	return err ? err : inherit_probes(process, parent, event.time_ns);
}

int traced_process_exec(struct traced_process *process, const struct record_exec *exec)
{
	bool first = process->awaits_exec;
	bool freed = process->translated && !first && !translator_is_path(exec->path);
	bool by_thread =
		exec->head.flags & RECORD_FLAG_BY_THREAD && process->config->scope == SCOPE_NAMED;
	int err;

	process->awaits_exec = false;
	process->from_start = true;
	process->translated &= !freed;
	map64_free(&process->delivered);
	process->mapping_count = 0;
	err = deliver_process(process, first ? EVENT_PROCESS : EVENT_EXEC, exec);
	if (!err && process->gated.count) {
		err = probes_after_exec(process);
		process->gap_ns += clock_now_ns() - exec->head.time_ns;
	}
	if (!err && (by_thread || (freed && !process->shared)))
		err = traced_process_attach_again(process, exec->head.time_ns);
	return err;
}

void traced_process_detach(struct traced_process *process)
{
	gated_remove(process);
	prober_leave(process->prober, &process->links);
}

void traced_process_free(struct traced_process *process)
{
	traced_process_detach(process);
	if (process->leader_exited)
		leader_forget(process, process->shared);
	cgroup_free(&process->cgroup);
	map64_free(&process->attached);
	map64_free(&process->delivered);
	map64_free(&process->return_sites);
	map64_free(&process->last_freed);
	vec_free(&process->frees);
	free(process->mappings);
}
