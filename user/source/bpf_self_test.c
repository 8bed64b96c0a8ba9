/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf_self_test.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"
#include "base/log.h"
#include "mtrace.skel.h"
#include "os/proc.h"
#include "source/bpf_program.h"
#include "source/ring.h"

#define CALL_API    API_VALLOC /* a rare one: see probe_events.h */
#define CALL_SIZE   0x1234u
#define CALL_RESULT ((void *)0x5678)

/* What the child calls; the probe lies on its first byte. */
__attribute__((noinline, noclone)) static void *probed_call(size_t size)
{
	asm volatile("" : : "r"(size) : "memory");
	return CALL_RESULT;
}

static void *thread_main(void *arg)
{
	(void)arg;
	return probed_call(CALL_SIZE);
}

/* Two threads call; then one more time in strict seccomp mode, where any system call other than
 * read, write and exit kills (Linux 6.11 to 6.13 make such a call at each return probe). */
static void child_main(int gate)
{
	pthread_t thread;
	char go;

	if (read(gate, &go, 1) != 1)
		_exit(1);
	probed_call(CALL_SIZE);
	if (!pthread_create(&thread, NULL, thread_main, NULL))
		pthread_join(thread, NULL);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(0);
	probed_call(CALL_SIZE);
	syscall(SYS_exit, 0);
}

struct child {
	pid_t pid;
	int gate;
};

static int child_start(struct child *ret_child)
{
	int gate[2];
	pid_t pid;

	if (pipe2(gate, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid < 0) {
		close(gate[0]);
		close(gate[1]);
		return -errno;
	}
	if (!pid) {
		close(gate[1]);
		child_main(gate[0]);
		_exit(1);
	}
	close(gate[0]);
	*ret_child = (struct child){.pid = pid, .gate = gate[1]};
	return 0;
}

static int child_finish(struct child *child)
{
	int status = 0;

	close(child->gate);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int self_test_offset(const void *function, uint64_t *ret_offset)
{
	uint64_t address = (uintptr_t)function;
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

struct tally {
	pid_t pid;
	unsigned int main_calls;
	unsigned int thread_calls;
};

static int tally_record(void *ctx, const void *data, size_t size)
{
	const struct record_call *call = data;
	struct tally *tally = ctx;

	if (size < sizeof(*call) || call->head.kind != RECORD_ALLOC || call->head.api != CALL_API)
		return 0;
	if (call->head.pid != (uint32_t)tally->pid || call->size != CALL_SIZE ||
	    call->address != (uintptr_t)CALL_RESULT)
		return 0;
	if (call->head.tid == call->head.pid)
		tally->main_calls++;
	else
		tally->thread_calls++;
	return 0;
}

static int tally_read(const struct program *program, struct tally *tally)
{
	const struct bpf_map *events = program->skeleton->maps.events;
	struct ring ring;
	int err = ring_open(&ring, bpf_map__fd(events), bpf_map__max_entries(events));

	if (err)
		return err;
	err = ring_read(&ring, tally_record, tally);
	ring_close(&ring);
	return err;
}

static int attach_to_child(struct program *program, pid_t pid)
{
	uint64_t offset, cookie = api_cookie(CALL_API);
	struct probe_request request = {
		.kind = PROBE_CALL,
		.pid = pid,
		.path = "/proc/self/exe",
		.offsets = &offset,
		.cookies = &cookie,
		.count = 1,
	};
	const struct process_state no_losses = {0};
	int err = self_test_offset((const void *)probed_call, &offset);

	if (!err && bpf_map_update_elem(bpf_map__fd(program->skeleton->maps.processes), &pid,
					&no_losses, BPF_ANY))
		err = -errno;
	if (!err)
		err = program_attach(program, &request, &program->self_test);
	return err ? err : program_commit(program, pid, &program->self_test);
}

int self_test_run(struct program *program)
{
	struct tally tally = {0};
	struct child child = {0};
	int err, status;

	err = child_start(&child);
	if (err)
		return err;
	program->skeleton->bss->self_testing = 1;
	err = attach_to_child(program, child.pid);
	if (!err && write(child.gate, "g", 1) != 1)
		err = -EPIPE;
	status = child_finish(&child);
	program->skeleton->bss->self_testing = 0;
	(void)bpf_map_delete_elem(bpf_map__fd(program->skeleton->maps.processes), &child.pid);
	if (err)
		return err;
	tally.pid = child.pid;
	err = tally_read(program, &tally);
	if (err)
		return err;
	program->seccomp_safe = !WIFSIGNALED(status);
	log_debug("self test: %u calls of the main thread, %u of another, seccomp %s",
		  tally.main_calls, tally.thread_calls, program->seccomp_safe ? "safe" : "deadly");
	return tally.main_calls && tally.thread_calls ? 0 : -EOPNOTSUPP;
}
