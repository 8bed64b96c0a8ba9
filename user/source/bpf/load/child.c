/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/load/child.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mtrace.skel.h"
#include "os/process/maps.h"
#include "source/bpf/load/loaded_programs.h"

enum pipe_end { PIPE_READ, PIPE_WRITE, PIPE_ENDS };

static void pipe_close(const int ends[PIPE_ENDS])
{
	close(ends[PIPE_READ]);
	close(ends[PIPE_WRITE]);
}

static int child_fork(void (*main)(int orders, int answers), struct bpf_child *child)
{
	int orders[PIPE_ENDS], answers[PIPE_ENDS], err;

	if (pipe2(orders, O_CLOEXEC))
		return -errno;
	if (pipe2(answers, O_CLOEXEC)) {
		err = -errno;
		pipe_close(orders);
		return err;
	}
	child->pid = fork();
	if (child->pid < 0) {
		err = -errno;
		pipe_close(orders);
		pipe_close(answers);
		return err;
	}
	if (!child->pid) {
		close(orders[PIPE_WRITE]);
		main(orders[PIPE_READ], answers[PIPE_WRITE]);
		_exit(1);
	}
	close(orders[PIPE_READ]);
	close(answers[PIPE_WRITE]);
	child->orders = orders[PIPE_WRITE];
	child->answers = answers[PIPE_READ];
	return 0;
}

int bpf_child_start(struct loaded_programs *program, void (*main)(int orders, int answers),
		    struct bpf_child *ret_child)
{
	const struct process_state no_losses = {0};
	struct bpf_child child = {.program = program};
	int err = child_fork(main, &child);

	if (err)
		return err;
	if (bpf_map_update_elem(bpf_map__fd(program->skeleton->maps.processes), &child.pid,
				&no_losses, BPF_ANY))
		err = -errno;
	program->skeleton->bss->self_testing = 1;
	if (err)
		(void)bpf_child_finish(&child);
	else
		*ret_child = child;
	return err;
}

/* The file offset of a function of our own image. */
static int own_offset(const void *place, uint64_t *ret_offset)
{
	uint64_t address = (uintptr_t)place;
	struct proc_maps maps;
	int err = proc_maps_read(getpid(), &maps);

	if (err)
		return err;
	err = -ENOENT;
	for (size_t i = 0; i < maps.count; i++) {
		const struct proc_mapping *mapping = &maps.items[i];

		if (address < mapping->start || address >= mapping->end)
			continue;
		*ret_offset = address - mapping->start + mapping->offset;
		err = 0;
	}
	proc_maps_free(&maps);
	return err;
}

int bpf_child_probe(const struct bpf_child *child, enum probe_kind kind, const void *place,
		    enum api api)
{
	uint64_t offset, cookie = api_cookie(api);
	struct probe_request request = {
		.kind = kind,
		.pid = child->pid,
		.path = "/proc/self/exe",
		.offsets = &offset,
		.cookies = &cookie,
		.count = 1,
	};
	int err = own_offset(place, &offset);

	return err ? err
		   : prober_attach(&child->program->prober, &request, &child->program->self_test);
}

int bpf_child_commit(const struct bpf_child *child)
{
	return prober_commit(&child->program->prober, child->pid, &child->program->self_test);
}

int bpf_child_finish(const struct bpf_child *child)
{
	struct mtrace_bpf *skeleton = child->program->skeleton;
	int status = 0;

	close(child->orders);
	close(child->answers);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	skeleton->bss->self_testing = 0;
	(void)bpf_map_delete_elem(bpf_map__fd(skeleton->maps.processes), &child->pid);
	return status;
}
