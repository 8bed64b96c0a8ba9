/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each try is one stop. A thread that stands inside displaced bytes is released, since it leaves
 * them within a few instructions, unless a signal handler has interrupted it there.
 *
 * Removal restores the jumps in its first stop: from then on no thread enters the code, and the
 * later tries only wait for those that are in it.
 */
#include "gate/place/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gate/place/helper.h"
#include "gate/place/inside.h"
#include "gate/place/memory.h"
#include "os/process/proc.h"
#include "os/process/procfs.h"
#include "os/ptrace/freeze.h"
#include "os/ptrace/remote_call.h"
#include "os/ptrace/tracee.h"

#define TRIES 50
/* The pauses between tries grow: a thread that must leave code may have to wait for a processor. */
#define PAUSE_NS     1000000L
#define PAUSE_MAX_NS (16 * PAUSE_NS)

/* What the helper reports. */
struct gate_reply {
	int code;
	bool left;
	struct gate_stop stop;
	struct error err;
};

struct gate_try;

struct gate_job {
	pid_t pid;
	const struct gate_image *image;
	const struct gate_patch *patches;
	size_t count;
	int (*run)(struct gate_try *try, struct freeze *freeze); /* in a stop */
};

/* One stop. */
struct gate_try {
	const struct gate_job *job;
	struct gate_reply *reply;
	struct gate_runs *runs; /* of the code that gets jumps */
	uint64_t syscall;
	pid_t thread; /* runs our system calls, and stands for the process in /proc */
	int *status;  /* of its stop */
	int memory;   /* descriptor of its /proc/PID/mem */
	bool last;
	bool busy; /* the result: try again */
};

/* Preparing a stop. */

/* Chooses the first thread that is alive. */
static int choose_thread(struct gate_try *try, struct freeze *freeze)
{
	size_t count;
	const struct thread_registers *threads = freeze_threads(freeze, &count);

	for (size_t i = 0; i < count; i++) {
		try->status = freeze_status(freeze, i);
		try->thread = threads[i].tid;
		if (try->status)
			return 0;
	}
	return -ESRCH;
}

static int begin(struct gate_try *try, struct freeze *freeze)
{
	int code = choose_thread(try, freeze);

	if (!code)
		try->memory = gate_memory_open(try->thread, O_RDWR);
	if (!code && try->memory < 0)
		code = try->memory;
	return code ? error_set_errno(&try->reply->err, code, "cannot open the memory of %d",
				      (int)try->job->pid)
		    : 0;
}

static int open_remote(const struct gate_try *try, struct remote_thread *ret_remote)
{
	return remote_thread_open(ret_remote, try->thread, try->thread, try->status, try->syscall,
				  &try->reply->err);
}

/* Placing. */

/* The code of gates finds a thread's data by its thread pointer. */
static int check_threads(const struct gate_try *try, struct freeze *freeze)
{
	size_t count;
	const struct thread_registers *threads = freeze_threads(freeze, &count);
	struct error *err = &try->reply->err;
	int pid = (int)try->job->pid;

	for (size_t i = 0; i < count; i++) {
		if (!freeze_status(freeze, i) || !threads[i].size)
			continue;
		if (threads[i].word != sizeof(uint64_t))
			return error_set(err, -EOPNOTSUPP,
					 "cannot place gates in %d: it is a 32-bit process", pid);
		if (!threads[i].thread)
			return error_set(err, -EOPNOTSUPP,
					 "cannot place gates in %d: thread %d has no thread "
					 "pointer",
					 pid, (int)threads[i].tid);
	}
	return 0;
}

/* Sets try->busy if a thread is inside displaced bytes. At the first byte it runs the jump. */
static int check_displaced(struct gate_try *try, struct freeze *freeze)
{
	const struct gate_job *job = try->job;
	struct gate_range *ranges = calloc(job->count + 1, sizeof(*ranges));
	int code = -ENOMEM;

	for (size_t i = 0; ranges && i < job->count; i++)
		ranges[i] =
			(struct gate_range){job->patches[i].address + 1,
					    job->patches[i].address + job->patches[i].displaced};
	if (ranges)
		code = threads_inside(freeze, try->thread, ranges, job->count, &try->busy);
	free(ranges);
	return code ? error_set_errno(&try->reply->err, code, "cannot read the stacks of %d",
				      (int)job->pid)
		    : 0;
}

static int map(const struct gate_try *try)
{
	struct error *err = &try->reply->err;
	struct remote_thread remote;
	int code = open_remote(try, &remote);

	if (code)
		return code;
	if (gate_runs_contain(try->runs, try->syscall))
		return error_set(err, -ENOTSUP,
				 "cannot place gates in %d: its system calls are too near to them",
				 (int)try->job->pid);
	gate_runs_patch(try->runs, try->job->patches, try->job->count);
	return gate_image_map(&remote, try->memory, try->job->image, try->runs, err);
}

static int place_stopped(struct gate_try *try, struct freeze *freeze)
{
	int code = begin(try, freeze);

	if (!code)
		code = check_threads(try, freeze);
	if (!code)
		code = gate_runs_check(try->runs, try->memory, try->job->pid, &try->reply->err);
	if (!code)
		code = check_displaced(try, freeze);
	if (!code && try->busy && try->last)
		return error_set(&try->reply->err, -EAGAIN,
				 "cannot place gates in %d: a thread stays at the start of a "
				 "function that is to have one",
				 (int)try->job->pid);
	return code || try->busy ? code : map(try);
}

/* Removing. */

/* Moves the program's pages back. Code that is no longer mapped (dlclose) is skipped. */
static int restore_pages(const struct gate_try *try, struct remote_thread *remote)
{
	struct gate_runs runs = {0};
	int code = gate_runs_find_replaced(&runs, try->thread, try->job->image);

	if (!code)
		code = gate_runs_restore(&runs, remote);
	gate_runs_free(&runs);
	return code ? error_set_errno(&try->reply->err, code, "cannot restore the code of %d",
				      (int)try->job->pid)
		    : 0;
}

/* Unmaps the image unless a thread is in its code. */
static int unmap_unless_inside(struct gate_try *try, struct freeze *freeze,
			       struct remote_thread *remote)
{
	const struct gate_image *image = try->job->image;
	const struct gate_range range = {image->address, image->address + image->code_size};
	int code = threads_inside(freeze, try->thread, &range, 1, &try->busy);

	if (code)
		return error_set_errno(&try->reply->err, code, "cannot read the stacks of %d",
				       (int)try->job->pid);
	if (try->busy)
		try->reply->left = try->last;
	else if (gate_image_unmap(remote, image))
		try->reply->left = true;
	return 0;
}

/* A thread that cannot run our system calls any more leaves all in place. */
static int remove_stopped(struct gate_try *try, struct freeze *freeze)
{
	int code = begin(try, freeze);
	struct remote_thread remote;

	if (code || !gate_image_is_mapped(try->thread, try->job->image))
		return code;
	code = open_remote(try, &remote);
	if (!code)
		code = restore_pages(try, &remote);
	return code ? code : unmap_unless_inside(try, freeze, &remote);
}

/* In the helper. */

/* Whatever fails in a process that is being killed fails with -ESRCH. */
static int run_stopped(struct freeze *freeze, void *context)
{
	struct gate_try *try = context;
	int code = try->job->run(try, freeze);

	if (!code || code == -ESRCH || tracee_is_stopped(try->thread, try->thread))
		return code;
	return error_set_errno(&try->reply->err, -ESRCH, "cannot change the code of %d",
			       (int)try->job->pid);
}

/* Stops the process once. Returns true if another try is needed. */
static bool try_once(const struct gate_job *job, struct gate_reply *reply, struct gate_runs *runs,
		     uint64_t syscall)
{
	struct gate_try try = {.job = job,
			       .reply = reply,
			       .runs = runs,
			       .syscall = syscall,
			       .memory = -1,
			       .last = ++reply->stop.tries == TRIES};
	struct freeze *freeze = NULL;
	uint64_t began_ns = clock_now_ns();

	reply->code = freeze_stop(&freeze, job->pid, &reply->err);
	if (!reply->code)
		reply->code = freeze_run(freeze, run_stopped, &try);
	if (try.memory >= 0)
		close(try.memory);
	freeze_release(freeze);
	reply->stop.stopped_ns += clock_now_ns() - began_ns;
	return !reply->code && try.busy && !try.last;
}

static void help(const void *context, void *ret_reply)
{
	const struct gate_job *job = context;
	struct gate_reply *reply = ret_reply;
	pid_t thread = proc_living_thread(job->pid);
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	struct gate_runs runs = {0};
	uint64_t syscall = 0;

	*reply = (struct gate_reply){0};
	reply->code = thread ? remote_find_syscall(thread, &syscall) : -ESRCH;
	if (reply->code == -ENOENT) /* a process that exits has no memory */
		reply->code = 0;
	if (reply->code)
		error_set_errno(&reply->err, reply->code, "cannot change the code of %d",
				(int)job->pid);
	else if (job->count)
		reply->code = gate_runs_find(&runs, thread, job->image, job->patches, job->count,
					     &reply->err);
	while (!reply->code && try_once(job, reply, &runs, syscall)) {
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < PAUSE_MAX_NS)
			pause.tv_nsec *= 2;
	}
	gate_runs_free(&runs);
}

/* In the tracer. */

static int run_job(const struct gate_job *job, struct gate_reply *reply)
{
	int code = gate_helper_run(help, job, reply, sizeof(*reply));

	if (!code)
		return reply->code;
	*reply = (struct gate_reply){0};
	if (code == -EIO)
		return error_set(&reply->err, code,
				 "cannot change the code of %d: the helper process was killed",
				 (int)job->pid);
	return error_set_errno(&reply->err, code, "cannot start a process to change the code of %d",
			       (int)job->pid);
}

int gate_place(pid_t pid, const struct gate_image *image, const struct gate_patch *patches,
	       size_t count, struct gate_stop *ret_stop, struct error *err)
{
	const struct gate_job job = {pid, image, patches, count, place_stopped};
	struct gate_reply reply = {0};
	int code = run_job(&job, &reply);

	*ret_stop = reply.stop;
	return code ? error_set(err, code, "%s", reply.err.text) : 0;
}

int gate_remove(pid_t pid, const struct gate_image *image, bool *ret_left,
		struct gate_stop *ret_stop, struct error *err)
{
	const struct gate_job job = {pid, image, NULL, 0, remove_stopped};
	struct gate_reply reply = {0};
	int code = run_job(&job, &reply);

	*ret_stop = reply.stop;
	*ret_left = reply.left || (code && code != -ESRCH);
	return code && code != -ESRCH ? error_set(err, code, "%s", reply.err.text) : 0;
}
