// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stopped: stop the process, drain its events so that model and memory match, copy the memory,
 * resume the process, scan. Without room for a copy, the process stays stopped until the scan is
 * over. Everything that can wait is done afterwards: a definitely leaked block no longer changes,
 * so its first bytes can be read from the running process.
 *
 * Live: several passes, each with its own registers, model state and mappings (scan/confirm.h).
 * Blocks that were freed in between, or that are too young to be told from their predecessors, are
 * left out.
 *
 * The scan itself runs in its own thread. Meanwhile this thread drains the ring buffer, because a
 * process that is scanned live and all other traced processes continue to allocate.
 */
#include "app/scan/leak_scan.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/scan/stack_liveness.h"
#include "base/log.h"
#include "base/units.h"
#include "model/update/scan.h"
#include "os/memory/pagemap.h"
#include "os/memory/resident.h"
#include "os/process/kernel_words.h"
#include "os/process/proc.h"
#include "os/ptrace/freeze.h"
#include "scan/confirm.h"
#include "scan/read/copy.h"
#include "scan/scan.h"
#include "scan/target.h"
#include "symbol/elf/module_table.h"

#define NS_PER_MS         1000000ULL
#define KEEP_UP_MS        20
#define PROGRESS_AFTER_NS (500 * NS_PER_MS)
#define COPY_PERCENT      25 /* of the available memory, at most */

/* A question about references: which of them are dead? */
struct question {
	const struct scan_memory *memory;
	struct scan_reference *references;
	size_t count;
	int code; /* the answer: 0 or -errno */
};

/* Input and output of the scanning thread. */
struct job {
	struct blocks *blocks;
	struct scan_input input;
	struct scan_memory memory; /* counts the bytes that `inner` reads */
	const struct scan_memory *inner;
	atomic_size_t bytes;
	atomic_bool given_up;
	struct scan_result result;
	int code;
	int collected; /* eventfd: the process's memory is no longer needed */
	int done;      /* eventfd */
	int asks;      /* eventfd: waits for an answer from the thread that uses the parser */
	int answered;  /* eventfd */
	struct question question;
};

struct run {
	const struct leak_scan *scan;
	struct process *process; /* of the scanned image */
	struct freeze *freeze;
	struct copy *copy; /* NULL: no room for one */
	bool stopped;
	bool vanished; /* disappeared while stopped */
	uint64_t stopped_ns;
	const struct thread_registers *threads;
	size_t thread_count;
	pid_t reader; /* the thread to read memory from; all threads share it */
	struct data_descriptors descriptors;
	struct kernel_words kernel_words;
	struct blocks blocks;
	struct scan_target *target;
	struct stack_liveness *liveness; /* NULL: nothing is known about words on stacks */
	struct scan_result result;
	struct confirm confirm;
	struct snapshot_scan summary;
	uint64_t bytes_done; /* in earlier passes */
	bool shown;
};

/* Stopping and resuming. */

static void get_threads(struct run *run)
{
	struct holder *holder = run->scan->holder;

	run->threads = holder ? holder->ops->threads(holder, &run->thread_count)
			      : freeze_threads(run->freeze, &run->thread_count);
}

static int stop(struct run *run, struct error *err)
{
	struct holder *holder = run->scan->holder;
	int code;

	run->stopped_ns = clock_now_ns();
	code = holder ? holder->ops->stop(holder, err)
		      : freeze_stop(&run->freeze, run->scan->pid, err);
	if (code)
		return code;
	run->stopped = true;
	get_threads(run);
	return 0;
}

/* Returns true if all threads are still stopped in the same place. A kill would have moved them. */
static bool is_still_stopped(const struct run *run)
{
	for (size_t i = 0; i < run->thread_count; i++)
		if (run->threads[i].size && !tracee_is_stopped(run->scan->pid, run->threads[i].tid))
			return false;
	return true;
}

static void let_go(struct run *run)
{
	if (!run->stopped)
		return;
	run->stopped = false;
	if (run->scan->holder)
		run->scan->holder->ops->go_on(run->scan->holder);
	freeze_release(run->freeze);
	run->freeze = NULL;
	run->summary.pause_ns += clock_now_ns() - run->stopped_ns;
}

/* Resumes the process when its memory is no longer needed, and checks that it lived until then. */
static void release(struct run *run)
{
	if (!run->stopped)
		return;
	run->vanished = !is_still_stopped(run) || !target_is_there(run->target);
	let_go(run);
}

/* Reads the registers of a live process. A holder stops it briefly for that. */
static int sample(struct run *run, struct error *err)
{
	uint64_t started_ns = clock_now_ns();
	int code;

	if (run->scan->holder)
		return stop(run, err);
	code = freeze_sample(&run->freeze, run->scan->pid, err);
	if (code)
		return code;
	run->summary.pause_ns += clock_now_ns() - started_ns;
	get_threads(run);
	return 0;
}

/* The input of the scan. */

static int add_block(void *ctx, uint64_t address, uint64_t size)
{
	return blocks_add(ctx, address, size);
}

/* Drains events into the model. Returns -ESRCH if the scanned image no longer exists. */
static int catch_up(const struct run *run)
{
	struct session *session = run->scan->session;

	if (session_drain(session))
		return session->failure;
	return model_process(session->model, (uint32_t)run->scan->pid) == run->process ? 0 : -ESRCH;
}

static int take_blocks(struct run *run)
{
	int code = catch_up(run);

	if (code)
		return code;
	blocks_free(&run->blocks);
	run->blocks = (struct blocks){0};
	run->summary.taken_ns = clock_now_ns();
	code = blocks_reserve(&run->blocks, scan_update_count(run->process));
	return code ? code : scan_update_blocks(run->process, add_block, &run->blocks);
}

/*
 * Returns true if the model has every block of glibc's malloc and no other allocator uses the heap.
 */
static bool heap_is_known(const struct run *run)
{
	const struct session *session = run->scan->session;
	const struct module *module;
	const char *name, *bad;
	uint32_t apis = 0;

	if (!run->stopped || !scan_update_is_complete(run->process) ||
	    api_set_parse("malloc", &apis, &bad) || (session->report.options->apis & apis) != apis)
		return false;
	module = module_get(session->modules, scan_update_allocator(run->process));
	name = module ? strrchr(module->path, '/') : NULL;
	return name && !strcmp(name, "/libc.so.6");
}

/* A thread that still has memory: not the first one if it has exited before the others. */
static pid_t find_reader(const struct run *run)
{
	pid_t found = 0;

	for (size_t i = 0; i < run->thread_count; i++)
		if (run->threads[i].size && (!found || run->threads[i].tid == run->scan->pid))
			found = run->threads[i].tid;
	return found ? found : run->scan->pid;
}

/* The stacks and registers of a running process are not consistent, so they are not classified. */
static int open_liveness(struct run *run, struct scan_input *input)
{
	struct session *session = run->scan->session;
	const struct stack_liveness_config config = {
		.process = run->process,
		.modules = session->modules,
		.parser = session->parser,
		.ranges = input->ranges,
		.range_count = input->range_count,
	};
	int code;

	if (!run->stopped)
		return 0;
	code = stack_liveness_new(&run->liveness, &config, run->threads, run->thread_count);
	if (code)
		return code == -ENOTSUP ? 0 : code;
	input->classify = stack_liveness_classify;
	input->classify_ctx = run->liveness;
	return 0;
}

static int read_kernel_words(struct run *run)
{
	struct source *source = run->scan->session->source;

	run->kernel_words.count = 0;
	if (source->ops->thread_words)
		(void)source->ops->thread_words(source, run->scan->pid, &run->kernel_words);
	return kernel_words_read(run->reader, &run->descriptors, &run->kernel_words);
}

static int open_target(struct run *run, struct scan_input *ret_input)
{
	struct target_options options = {.pid = run->reader = find_reader(run),
					 .read_swapped = run->scan->read_swapped,
					 .stopped = run->stopped,
					 .kernel_words = &run->kernel_words};
	unsigned int step = run->scan->step;
	int code;

	target_close(run->target);
	run->target = NULL;
	code = read_kernel_words(run);
	if (!code)
		code = target_open(&run->target, &options, run->threads, run->thread_count);
	if (code)
		return code;
	target_describe(run->target, ret_input);
	if (step && step < ret_input->word)
		ret_input->step = step;
	ret_input->copy = run->stopped ? run->copy : NULL;
	ret_input->heap_is_known = heap_is_known(run);
	ret_input->read_ahead = sysconf(_SC_NPROCESSORS_ONLN) > 1;
	return open_liveness(run, ret_input);
}

/* The scan itself, while this thread drains the ring buffer and shows progress. */

static int job_next(void *ctx, uint64_t address, uint64_t end, struct scan_extent *ret_extent)
{
	const struct job *job = ctx;

	if (atomic_load_explicit(&job->given_up, memory_order_relaxed))
		return -ECANCELED;
	return job->inner->next(job->inner->ctx, address, end, ret_extent);
}

static ssize_t job_read(void *ctx, const struct memory_piece *pieces, size_t count, void *buffer)
{
	struct job *job = ctx;
	ssize_t got;

	if (atomic_load_explicit(&job->given_up, memory_order_relaxed))
		return -ECANCELED;
	got = job->inner->read(job->inner->ctx, pieces, count, buffer);
	if (got > 0)
		atomic_fetch_add_explicit(&job->bytes, (size_t)got, memory_order_relaxed);
	return got;
}

/* Cannot fail: the counter is 0. */
static void raise_event(int event)
{
	const uint64_t one = 1;

	if (write(event, &one, sizeof(one)) < 0)
		log_warn("cannot wake the main thread: %s", strerror(errno));
}

static void job_collected(void *ctx)
{
	raise_event(((const struct job *)ctx)->collected);
}

/* Only the main thread may use the parser. Asks it and waits for the answer. */
static int job_ask(void *ctx, const struct scan_memory *memory, struct scan_reference *references,
		   size_t count)
{
	struct job *job = ctx;
	uint64_t answers;

	job->question = (struct question){memory, references, count, 0};
	raise_event(job->asks);
	while (read(job->answered, &answers, sizeof(answers)) < 0)
		if (errno != EINTR)
			return -errno;
	return job->question.code;
}

static void job_answer(struct job *job, struct stack_liveness *liveness)
{
	uint64_t questions;

	if (read(job->asks, &questions, sizeof(questions)) < 0)
		return;
	job->question.code = stack_liveness_classify(liveness, job->question.memory,
						     job->question.references, job->question.count);
	raise_event(job->answered);
}

static void *job_main(void *argument)
{
	struct job *job = argument;

	job->code = scan_run(job->blocks, &job->input, &job->result);
	raise_event(job->done);
	return NULL;
}

static void progress_show(struct run *run, const struct job *job, uint64_t started_ns)
{
	char text[UNITS_TEXT_SIZE];

	if (run->scan->session->report.options->quiet || !isatty(STDERR_FILENO) ||
	    clock_now_ns() - started_ns < PROGRESS_AFTER_NS)
		return;
	fprintf(stderr, "\rscanning memory of %d: %s\033[K", (int)run->scan->pid,
		bytes_format(run->bytes_done + job->bytes, text));
	run->shown = true;
}

static bool is_given_up(const struct run *run)
{
	return run->scan->given_up && run->scan->given_up(run->scan->ctx);
}

static void job_wait(struct run *run, struct job *job)
{
	struct pollfd events[] = {{.fd = job->done, .events = POLLIN},
				  {.fd = job->collected, .events = POLLIN},
				  {.fd = job->asks, .events = POLLIN}};
	uint64_t started_ns = clock_now_ns();

	while (!events[0].revents) {
		if (poll(events, 3, KEEP_UP_MS) > 0 && events[1].revents) {
			release(run);
			events[1].fd = -1; /* poll() ignores it */
		}
		if (events[2].revents)
			job_answer(job, run->liveness);
		session_drain(run->scan->session);
		if (is_given_up(run))
			atomic_store_explicit(&job->given_up, true, memory_order_relaxed);
		progress_show(run, job, started_ns);
	}
}

static int job_open(struct job *job)
{
	job->memory = (struct scan_memory){.next = job_next, .read = job_read, .ctx = job};
	job->input.memory = &job->memory;
	job->input.collected = job_collected;
	job->input.collected_ctx = job;
	if (job->input.classify) {
		job->input.classify = job_ask;
		job->input.classify_ctx = job;
	}
	job->collected = eventfd(0, EFD_CLOEXEC);
	job->done = eventfd(0, EFD_CLOEXEC);
	job->asks = eventfd(0, EFD_CLOEXEC);
	job->answered = eventfd(0, EFD_CLOEXEC);
	return job->collected < 0 || job->done < 0 || job->asks < 0 || job->answered < 0 ? -errno
											 : 0;
}

static void job_close(const struct job *job)
{
	const int events[] = {job->collected, job->done, job->asks, job->answered};

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (events[i] >= 0)
			close(events[i]);
}

static int job_run(struct run *run, const struct scan_input *input)
{
	struct job job = {.blocks = &run->blocks, .input = *input, .inner = input->memory};
	pthread_t thread;
	int code = job_open(&job);

	if (!code)
		code = -pthread_create(&thread, NULL, job_main, &job);
	if (!code) {
		job_wait(run, &job);
		pthread_join(thread, NULL);
		code = job.given_up ? -ECANCELED : job.code;
	}
	job_close(&job);
	run->bytes_done += job.bytes;
	scan_result_free(&run->result);
	run->result = job.result;
	return code;
}

/* Reads all memory once; the result is in run->result. */
static int pass(struct run *run)
{
	struct scan_input input;
	int code = open_target(run, &input);

	return code ? code : job_run(run, &input);
}

/* Called before the process is stopped, because allocating this much memory takes time. */
static void make_room(struct run *run)
{
	size_t room = copy_room(run->scan->pid, COPY_PERCENT);

	if (room && copy_open(&run->copy, room))
		run->copy = NULL;
}

/*
 * Called before the process is stopped, because it takes time. What cannot be found out about the
 * words that the kernel keeps is left out.
 */
static void prepare_kernel_words(struct run *run)
{
	const struct source_ops *ops = run->scan->session->source->ops;

	vec_free(&run->descriptors);
	(void)data_descriptors_find(proc_living_thread(run->scan->pid), &run->descriptors);
	if (ops->thread_words) /* the first call takes much longer */
		(void)ops->thread_words(run->scan->session->source, run->scan->pid,
					&run->kernel_words);
}

static int scan_stopped(struct run *run, struct error *err)
{
	int code;

	make_room(run);
	prepare_kernel_words(run);
	code = stop(run, err);
	if (code)
		return code;
	code = take_blocks(run);
	if (!code)
		code = pass(run);
	if (!code)
		release(run);
	if (!code && run->vanished)
		code = -ESRCH;
	let_go(run);
	run->summary.passes = 1;
	return code ? error_set_errno(err, code, "cannot scan %d", (int)run->scan->pid) : 0;
}

static uint64_t stamp(void *ctx, uint64_t address)
{
	const struct run *run = ctx;
	bool first = run->confirm.passes == 1;
	uint64_t until_ns = first ? run->summary.taken_ns : UINT64_MAX;
	uint64_t known = scan_update_stamp(run->process, address, until_ns);

	return known ? known : UINT64_MAX - run->confirm.passes; /* never equal to another pass */
}

static int pass_live(struct run *run, struct error *err)
{
	int code = take_blocks(run);

	prepare_kernel_words(run);
	if (!code) {
		code = sample(run, err);
		if (code)
			return code;
		let_go(run);
		code = pass(run);
	}
	if (!code && !target_is_there(run->target))
		code = -ESRCH;
	if (!code)
		code = catch_up(run);
	if (!code)
		code = confirm_pass(&run->confirm, &run->blocks, &run->result, stamp, run);
	freeze_release(run->freeze);
	run->freeze = NULL;
	return code ? error_set_errno(err, code, "cannot scan %d", (int)run->scan->pid) : 0;
}

static int scan_live(struct run *run, struct error *err)
{
	int code;

	do {
		code = pass_live(run, err);
	} while (!code && !confirm_done(&run->confirm, CONFIRM_PASSES));
	if (code)
		return code;
	confirm_apply(&run->confirm, &run->blocks, &run->result);
	run->summary.live = true;
	run->summary.passes = run->confirm.passes;
	return 0;
}

/* Storing the result in the model. */

/* Reads the first bytes, unless that would fault in absent pages. */
static void read_example(const struct run *run, struct pagemap *pagemap,
			 struct snapshot_example *example)
{
	size_t size = example->size < EXAMPLE_BYTES ? example->size : EXAMPLE_BYTES;
	struct resident_range all, first;
	ssize_t got = 0;

	if (resident_range(pagemap, example->address, example->address + example->size, &all) ||
	    resident_range(pagemap, example->address, example->address + size, &first))
		return;
	if (run->scan->read_swapped)
		first.present += first.swapped;
	if (size && first.present == size)
		got = proc_memory_read(run->reader, example->address, example->bytes, size);
	example->read = got > 0 ? (uint32_t)got : 0;
	example->resident = all.present;
	example->swapped = all.swapped;
	example->looked = true;
}

static void read_examples(const struct run *run, struct scan_update *update)
{
	struct pagemap *pagemap;

	if (pagemap_open(&pagemap, run->reader, true))
		return;
	for (size_t i = 0; i < update->count; i++)
		for (size_t leak = 0; leak < LEAK_CLASS_COUNT; leak++)
			if (update->leaks[i].examples[leak].address)
				read_example(run, pagemap, &update->leaks[i].examples[leak]);
	pagemap_close(pagemap);
}

static void add_blocks(const struct run *run, struct scan_update *update)
{
	for (uint32_t slot = 0; slot < run->blocks.slots; slot++)
		if (blocks_is_block(&run->blocks, slot))
			scan_update_add(update, blocks_address(&run->blocks, slot),
					scan_class_of(&run->result, slot));
}

static void log_result(const struct run *run, const struct snapshot_scan *scan)
{
	char pause[UNITS_TEXT_SIZE], bytes[UNITS_TEXT_SIZE];

	log_info("scanned %s of %d, paused %s: definite %llu blocks %llu bytes, indirect %llu, "
		 "possible %llu, stack only %llu, reachable %llu, unknown %llu",
		 bytes_format(scan->bytes_scanned, bytes), (int)run->scan->pid,
		 duration_format(scan->pause_ns, pause),
		 (unsigned long long)scan->classes[LEAK_DEFINITE].blocks,
		 (unsigned long long)scan->classes[LEAK_DEFINITE].bytes,
		 (unsigned long long)scan->classes[LEAK_INDIRECT].blocks,
		 (unsigned long long)scan->classes[LEAK_POSSIBLE].blocks,
		 (unsigned long long)scan->classes[LEAK_STACK].blocks,
		 (unsigned long long)scan->classes[LEAK_REACHABLE].blocks,
		 (unsigned long long)scan->classes[LEAK_UNKNOWN].blocks);
}

static int store_result(const struct run *run, uint64_t started_ns, struct error *err)
{
	struct scan_update update;
	int code = scan_update_open(&update, run->process);

	if (code)
		return error_set_errno(err, code, "cannot store the result of the scan");
	update.scan = run->summary;
	update.scan.bytes_scanned = run->result.bytes_scanned;
	update.scan.bytes_unreadable = run->result.bytes_unreadable;
	update.scan.bytes_between = run->result.bytes_between;
	update.scan.bytes_free = run->result.bytes_free;
	update.scan.tagged = run->result.blocks_tagged;
	add_blocks(run, &update);
	read_examples(run, &update);
	update.scan.duration_ns = clock_now_ns() - started_ns;
	log_result(run, &update.scan);
	scan_update_commit(&update, run->process);
	session_record_scan(run->scan->session, run->process);
	return 0;
}

static void run_free(struct run *run)
{
	let_go(run);
	copy_close(run->copy);
	target_close(run->target);
	stack_liveness_free(run->liveness);
	vec_free(&run->descriptors);
	vec_free(&run->kernel_words);
	blocks_free(&run->blocks);
	scan_result_free(&run->result);
	confirm_free(&run->confirm);
	if (run->shown)
		fputs("\r\033[K", stderr);
}

int leak_scan_run(const struct leak_scan *scan, struct error *err)
{
	struct run run = {.scan = scan};
	uint64_t started_ns = clock_now_ns();
	int code;

	session_drain(scan->session);
	session_update_losses(scan->session);
	run.process = model_process(scan->session->model, (uint32_t)scan->pid);
	if (!run.process)
		return error_set_errno(err, -ESRCH, "cannot scan %d", (int)scan->pid);
	if (scan_update_is_vfork_child(run.process, (uint32_t)scan->pid))
		return 0; /* the owner of the memory is scanned separately */
	code = scan->live ? scan_live(&run, err) : scan_stopped(&run, err);
	if (!code)
		code = store_result(&run, started_ns, err);
	/* if the process has exited, the model already knows how */
	if (code && code != -ESRCH && code != -ECANCELED) {
		(void)scan_update_fail(run.process, err->text);
		session_record_scan(scan->session, run.process);
	}
	run_free(&run);
	return code;
}
