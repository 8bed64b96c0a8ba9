/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/hold.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "bpf/abi.h"
#include "mtrace.skel.h"
#include "os/exec/call.h"
#include "os/process/proc.h"
#include "os/process/procfs.h"
#include "source/bpf/load/loaded_programs.h"
#include "source/selection.h"
#include "source/trace/backend.h"
#include "source/trace/libraries.h"
#include "source/trace/probes.h"
#include "source/trace/process.h"
#include "source/trace/translated.h"
#include "source/trace/translator.h"
#include "symbol/elf/module_table.h"

#define NS_PER_MS     1000000ULL
#define NS_PER_SECOND 1e9
#define PATIENCE_NS   (5000 * NS_PER_MS)
#define LIMIT_NS      (30000 * NS_PER_MS)
#define BELIEVED_NS   (1000 * NS_PER_MS)
#define PROGRAMS_MAX  4096
#define RESTART_NS    (60000 * NS_PER_MS) /* minimum time between two restarts of the guard */

/* Runs in the guard's process. Returns true if the process is traced, or may become so. */
static bool is_wanted(void *ctx, int processes, pid_t pid, int file)
{
	const struct trace_source *bpf = ctx;
	struct process_state state;
	uint32_t key = (uint32_t)pid;

	if (bpf->prober->everybody && translator_is_file(file))
		return true;
	if (bpf->config.scope == SCOPE_SYSTEM)
		return selection_may_hold(bpf->config.selected, pid, file);
	return !bpf_map_lookup_elem(processes, &key, &state);
}

static int guard_start(struct trace_source *bpf, struct error *err)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct hold *hold = bpf->hold;
	struct exec_guard_config config = {
		.wanted = is_wanted,
		.ctx = bpf,
		.kept = bpf_map__fd(bpf->program->skeleton->maps.processes),
		.patience_ns = PATIENCE_NS,
		.limit_ns = LIMIT_NS,
	};
	int code = exec_guard_start(&hold->guard, &config, err);

	if (code)
		return code;
	if (!epoll_ctl(hold->fd, EPOLL_CTL_ADD, hold->guard.socket, &event))
		return 0;
	code = error_set_errno(err, -errno, "--hold-exec");
	exec_guard_stop(&hold->guard);
	return code;
}

int hold_open(struct trace_source *bpf, struct error *err)
{
	int fd;

	if (!bpf->config.hold_exec)
		return 0;
	fd = epoll_create1(EPOLL_CLOEXEC);
	if (fd < 0)
		return error_set_errno(err, -errno, "--hold-exec");
	bpf->hold->fd = fd;
	return guard_start(bpf, err);
}

int hold_fd(const struct trace_source *bpf)
{
	return bpf->hold->guard.pid ? bpf->hold->fd : -1;
}

static void programs_forget(struct hold *hold)
{
	struct known_program *program;

	vec_each (program, &hold->programs)
		vec_free(&program->modules);
	vec_free(&hold->programs);
	map64_free(&hold->index_of_program);
}

void hold_close(struct trace_source *bpf)
{
	exec_guard_stop(&bpf->hold->guard);
	if (bpf->hold->fd)
		close(bpf->hold->fd);
	bpf->hold->fd = 0;
	programs_forget(bpf->hold);
}

/* Gives up on a guard that keeps exiting, because programs wait for it each time. */
static void guard_restart(struct trace_source *bpf)
{
	static const char exited[] = "the exec guard was killed or stopped responding";
	struct hold *hold = bpf->hold;
	uint64_t now_ns = clock_now_ns();
	struct error err;

	exec_guard_stop(&hold->guard);
	if (hold->restarted_ns && now_ns - hold->restarted_ns < RESTART_NS) {
		log_warn("%s twice within a minute: programs are no longer held at exec, and their "
			 "first allocations may be missing",
			 exited);
		return;
	}
	hold->restarted_ns = now_ns;
	if (guard_start(bpf, &err))
		log_warn("%s and cannot be restarted: programs are no longer held at exec, and "
			 "their first allocations may be missing (%s)",
			 exited, err.text);
	else
		log_warn("%s: it was restarted, but programs executed meanwhile were not held, and "
			 "their first allocations may be missing",
			 exited);
}

int hold_take(struct trace_source *bpf, struct held_exec *ret_held)
{
	struct exec_guard *guard = &bpf->hold->guard;
	int got = guard->pid ? exec_guard_take(guard, ret_held) : 0;

	if (got >= 0)
		return got;
	guard_restart(bpf);
	return 0;
}

/*
 * What a program maps.
 */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = hash_u64(hash ^ (uint8_t)*text);
	return hash_u64(hash);
}

/* A hash of the file in its current state, its path, where and as which user the path is looked up,
 * and the environment for the dynamic linker. */
static uint64_t program_key(const struct held_exec *held, const struct exec_call *call)
{
	static const char *const places[] = {"root", "cwd", "ns/mnt"};
	char path[PROCFS_PATH_SIZE];
	struct stat status = {0};
	uint64_t hash;

	(void)fstat(held->file, &status);
	hash = hash_u64(status.st_dev) ^ status.st_ino;
	hash = hash_u64(hash) ^ (uint64_t)status.st_ctim.tv_nsec;
	hash = hash_u64(hash) ^ (uint64_t)status.st_ctim.tv_sec;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)held->pid, places[i]);
		if (!stat(path, &status))
			hash = hash_u64(hash_u64(hash ^ status.st_dev) ^ status.st_ino);
	}
	snprintf(path, sizeof(path), "/proc/%d", (int)held->pid);
	if (!stat(path, &status))
		hash = hash_u64(hash_u64(hash ^ status.st_uid) ^ status.st_gid);
	hash = hash_text(hash, call->path);
	for (char *const *variable = call->environment; *variable; variable++)
		hash = hash_text(hash, *variable);
	return hash;
}

/* Finds or adds a program, without modules if it is new or expired. NULL: out of memory. */
static struct known_program *program_find(struct hold *hold, uint64_t key)
{
	uint32_t index = map64_get(&hold->index_of_program, key);
	struct known_program *program;

	if (index == MAP64_NONE) {
		if (hold->programs.count == PROGRAMS_MAX)
			programs_forget(hold);
		index = (uint32_t)hold->programs.count;
		if (vec_push(&hold->programs, (struct known_program){0}) ||
		    map64_set(&hold->index_of_program, key, index))
			return NULL;
	}
	program = &hold->programs.items[index];
	if (program->until_ns <= clock_now_ns())
		vec_free(&program->modules);
	return program;
}

/* Adds a file that will be mapped, if it can be a module. */
static int program_add(struct known_program *program, struct traced_process *process, int fd,
		       const char *path)
{
	struct module *module;
	int err = library_open(process, fd, path, &module);

	return err || !module ? err : vec_push(&program->modules, module->id);
}

static int add_needed(struct known_program *program, struct traced_process *process, pid_t pid,
		      const struct exec_call *call)
{
	struct elf_dynamic_reader reader = {parser_read_dynamic, process->config->parser};
	struct exec_files files = {0};
	int err = call->path[0] ? exec_call_open_files(pid, call, &reader, &files) : -ENOENT;

	if (err)
		return err == -ENOMEM ? err : 0;
	for (size_t i = 0; !err && i < files.count; i++) {
		err = program_add(program, process, files.items[i].fd, files.items[i].path);
		files.items[i].fd = -1; /* now belongs to the module */
	}
	exec_files_free(&files);
	return err;
}

/* Adds the executed file itself, which is known regardless of the arguments. It may be a script. */
static int add_held(struct known_program *program, struct traced_process *process,
		    const struct held_exec *held)
{
	char link[PROCFS_PATH_SIZE], path[PATH_MAX];
	int fd = fcntl(held->file, F_DUPFD_CLOEXEC, 0);
	ssize_t length;

	if (fd < 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	return program_add(program, process, fd, path);
}

/*
 * Probes.
 */

static int attach_program(struct traced_process *process, const struct known_program *program)
{
	const uint32_t *id;
	int err = 0;

	vec_each (id, &program->modules) {
		err = probes_attach_ahead(process, module_get(process->config->modules, *id));
		if (err)
			break;
	}
	return err ? err : probes_commit(process);
}

static int attach_held(struct hold *hold, struct traced_process *process,
		       const struct held_exec *held, const struct exec_call *call)
{
	struct known_program *program = program_find(hold, program_key(held, call));
	int err = 0;

	if (!program)
		return -ENOMEM;
	if (!program->modules.count) {
		err = add_needed(program, process, held->pid, call);
		if (!err)
			err = add_held(program, process, held);
		program->until_ns = clock_now_ns() + BELIEVED_NS;
	}
	return err ? err : attach_program(process, program);
}

/* Counts the gap of a program that was released before its probes were in place. */
static void count_release_gap(struct hold *hold, struct traced_process *process,
			      const struct held_exec *held)
{
	uint64_t let_go_ns = exec_guard_let_go_ns(&hold->guard, held);

	if (process->placed_ns <= let_go_ns)
		return;
	process->gap_ns += process->placed_ns - let_go_ns;
	if (!hold->late++)
		log_warn("a program was released before its probes were in place; it was held for "
			 "%.0f s",
			 (double)(let_go_ns - held->asked_ns) / NS_PER_SECOND);
}

static int hold_process(struct trace_source *bpf, struct traced_process *process,
			const struct held_exec *held)
{
	struct exec_call call;
	int err;

	if (exec_call_read(held->pid, &call))
		call = (struct exec_call){.path = ""};
	process->placed_ns = 0;
	if (bpf->config.scope == SCOPE_SYSTEM &&
	    !selection_may_run(bpf->config.selected, call.path))
		err = 0;
	else
		err = attach_held(bpf->hold, process, held, &call);
	exec_call_free(&call);
	if (!err)
		count_release_gap(bpf->hold, process, held);
	return err;
}

/* The process is about to become a translator: removes its own probes, or those in all
 * processes. */
static int hold_translator(struct trace_source *bpf, struct traced_process *process)
{
	if (bpf->prober->everybody)
		translated_pause(bpf);
	return process ? translated_leave(bpf, process, clock_now_ns(), true) : 0;
}

static int place(struct trace_source *bpf, const struct held_exec *held)
{
	struct traced_process *process = processes_find(bpf, held->pid);
	struct traced_process nobody = processes_nobody(bpf);
	int err;

	if (translator_is_file(held->file))
		return hold_translator(bpf, process);
	if (!bpf->prober->everybody)
		return process && !process->translated ? hold_process(bpf, process, held) : 0;
	err = hold_process(bpf, &nobody, held);
	map64_free(&nobody.attached);
	return err;
}

int hold_serve(struct trace_source *bpf, struct held_exec *held)
{
	int err = place(bpf, held);

	exec_guard_allow(&bpf->hold->guard, held);
	return err;
}
