/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "source/bpf/load/self_test.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/api.h"
#include "base/log.h"
#include "mtrace.skel.h"
#include "source/bpf/load/child.h"
#include "source/bpf/load/loaded_programs.h"
#include "source/record/ring.h"

#define CALL_API    API_VALLOC /* a rare one: see source/bpf/events/events.h */
#define CALL_SIZE   0x1234u
#define CALL_RESULT ((void *)0x5678)

/* What the child calls; its first byte is probed. */
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
static void child_main(int orders, int answers)
{
	pthread_t thread;
	char go;

	(void)answers;
	if (read(orders, &go, 1) != 1)
		_exit(1);
	probed_call(CALL_SIZE);
	if (!pthread_create(&thread, NULL, thread_main, NULL))
		pthread_join(thread, NULL);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		_exit(0);
	probed_call(CALL_SIZE);
	syscall(SYS_exit, 0);
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

static int tally_read(const struct loaded_programs *program, struct tally *tally)
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

static int child_run(const struct bpf_child *child)
{
	int err = bpf_child_probe(child, PROBE_CALL, (const void *)probed_call, CALL_API);

	if (!err)
		err = bpf_child_commit(child);
	return err || write(child->orders, "g", 1) == 1 ? err : -EPIPE;
}

int self_test_run(struct loaded_programs *program)
{
	struct tally tally = {0};
	struct bpf_child child;
	int err, status;

	err = bpf_child_start(program, child_main, &child);
	if (err)
		return err;
	err = child_run(&child);
	status = bpf_child_finish(&child);
	if (err)
		return err;
	tally.pid = child.pid;
	err = tally_read(program, &tally);
	if (err)
		return err;
	program->seccomp_safe = !WIFSIGNALED(status);
	log_debug("self test: %u calls in the main thread, %u in another, seccomp %s",
		  tally.main_calls, tally.thread_calls, program->seccomp_safe ? "safe" : "deadly");
	return tally.main_calls && tally.thread_calls ? 0 : -EOPNOTSUPP;
}
