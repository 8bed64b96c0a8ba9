/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/system.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/log.h"
#include "mtrace.skel.h"
#include "source/bpf/entered.h"
#include "source/bpf/file_key.h"
#include "source/bpf/hold.h"
#include "source/bpf/load/loaded_programs.h"
#include "source/selection.h"
#include "source/trace/libraries.h"
#include "source/trace/process.h"
#include "source/trace/translator.h"

#define ATTACH_ROUNDS 20

/*
 * Attaches to running processes. Children of selected processes that have not been added yet are
 * missed, so repeat until nothing new is found.
 */

static bool is_ours(pid_t pid, const struct stat *own)
{
	char link[32];
	struct stat exe;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	return !stat(link, &exe) && exe.st_ino == own->st_ino && exe.st_dev == own->st_dev;
}

static int attach_found(struct trace_source *bpf, pid_t pid, struct error *err)
{
	struct traced_process *process;
	struct error reason;
	int code = processes_enter(bpf, pid, &process, err);

	if (code)
		return code;
	code = traced_process_attach(process, &reason);
	if (!code)
		return 0;
	log_info("process %d: %s", (int)pid, reason.text);
	processes_forget(bpf, process);
	return code == -ENOMEM ? error_set_errno(err, code, "cannot trace %d", (int)pid) : 0;
}

/* Probes in all processes would kill translators. */
static int refuse_translated(struct error *err)
{
	pid_t pid = translator_find();

	return pid ? error_set(err, -EBUSY,
			       "process %d runs under valgrind or qemu, and system-wide probes "
			       "would kill it: name the processes with --pid",
			       (int)pid)
		   : 0;
}

/* One pass over /proc. */
static int attach_round(struct trace_source *bpf, const struct stat *own, size_t *ret_new,
			struct error *err)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int code = proc ? 0 : error_set_errno(err, -errno, "cannot read /proc");

	*ret_new = 0;
	while (!code && (entry = readdir(proc))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		if (!pid || processes_find(bpf, pid) || is_ours(pid, own) ||
		    !selection_holds(bpf->config.selected, pid))
			continue;
		code = attach_found(bpf, pid, err);
		(*ret_new)++;
	}
	if (proc)
		closedir(proc);
	return code;
}

/* Probes known libraries in all processes. */
static int attach_known(struct trace_source *bpf)
{
	struct traced_process nobody = processes_nobody(bpf);
	int err = libraries_attach_known(&nobody);

	map64_free(&nobody.attached);
	return err;
}

/* Repeats until nothing new is found. Programs that start meanwhile add themselves, so they are
 * known and not added again. */
static int attach_rounds(struct trace_source *bpf, const struct stat *own, struct error *err)
{
	struct source *source = &bpf->source;
	size_t found = 1;
	int code = 0;

	for (int round = 0; !code && found && round < ATTACH_ROUNDS; round++) {
		code = source->ops->drain(source);
		if (code)
			return error_set_errno(err, code, "cannot read the first events");
		code = attach_round(bpf, own, &found, err);
	}
	return code;
}

int system_attach(struct source *source, struct error *err)
{
	struct trace_source *bpf = (struct trace_source *)source;
	struct stat own;
	int code = 0;

	if (stat("/proc/self/exe", &own))
		return error_set_errno(err, -errno, "cannot read /proc/self/exe");
	code = refuse_translated(err);
	if (code)
		return code;
	code = attach_known(bpf);
	if (code)
		return error_set_errno(err, code, "cannot place probes");
	code = attach_rounds(bpf, &own, err);
	/* Programs are only paused from now on, when that is quick. Then look again for those that
	 * were not. */
	if (!code && bpf->config.hold_exec)
		code = hold_open(bpf, err);
	if (!code && bpf->config.hold_exec)
		code = attach_rounds(bpf, &own, err);
	return code;
}

int system_select(struct trace_source *bpf)
{
	const struct mtrace_bpf *skeleton = bpf->program->skeleton;
	struct selected *selected = bpf->config.selected;
	const uint32_t first = 0, one = 1;
	int err = 0;

	if (!selected)
		return 0;
	selection_identify(selected, file_key_exec_identifier(bpf->program));
	for (size_t i = 0; !err && i < selected->file_count; i++)
		err = bpf_map_update_elem(bpf_map__fd(skeleton->maps.selected_files),
					  &selected->files[i].key, &one, BPF_ANY);
	if (!err && selected->rules.wants & SELECT_CGROUP)
		err = bpf_map_update_elem(bpf_map__fd(skeleton->maps.selected_cgroup), &first,
					  &selected->cgroup, BPF_ANY);
	return err ? -errno : 0;
}
