/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overwrite SEED COUNT SPAN_MS PROGRAM [ARG…]: runs a program, stops it at COUNT random moments
 * within SPAN_MS milliseconds, and overwrites every word of its stacks and every callee-saved
 * register that the leak scan calls dead (app/scan/stack_liveness.h), and the memory below its
 * stack pointers. If the verdicts are right, the program cannot notice: its output and its exit
 * status stay the same. tests/liveness/run compares them.
 *
 * Exits like the program (128 + N after signal N). What it did is appended to the file named by
 * $OVERWRITE_LOG: for each stop the numbers of words asked about, unknown words, dead words and
 * dead registers and, with $OVERWRITE_WORDS, a line for each overwritten word. The value of a word
 * is its number, so that a fault address tells which word was needed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <elf.h>

#include "app/scan/stack_liveness.h"
#include "base/vec.h"
#include "os/process/maps.h"
#include "os/process/proc.h"
#include "os/process/procfs.h"
#include "os/ptrace/callee_saved.h"
#include "scan/target.h"

#define GARBAGE_64 (0xdeadULL << 48) /* not canonical: using it as a pointer is SIGSEGV */
#define GARBAGE_32 0xde000000U
#define BELOW      4096 /* bytes to overwrite below the red zone */
#define NS_PER_MS  1000000LL

struct stopped_thread {
	pid_t tid;
	int signal; /* to deliver when it continues, or 0 */
	bool stopped;
};

struct run {
	pid_t pid;
	struct parser *parser;
	struct module_table *modules;
	FILE *log;
	bool logs_words;
	VEC(struct stopped_thread) threads;
	VEC(struct thread_registers) registers;
	VEC(struct scan_reference) references;
	uint32_t written; /* words in all stops */
};

static void fail(const char *what, int err)
{
	fprintf(stderr, "overwrite: %s: %s\n", what, strerror(-err));
	exit(125);
}

static void require(const char *what, int err)
{
	if (err < 0)
		fail(what, err);
}

/* Stopping and resuming, by ptrace and from this thread, because registers are written as well. */

static bool is_known(const struct run *run, pid_t tid)
{
	const struct stopped_thread *thread;

	vec_each (thread, &run->threads)
		if (thread->tid == tid)
			return true;
	return false;
}

static bool seize_new(struct run *run)
{
	struct proc_threads threads;
	bool is_new = false;
	const pid_t *tid;

	if (proc_threads_read(run->pid, &threads))
		return false;
	vec_each (tid, &threads) {
		if (is_known(run, *tid) || ptrace(PTRACE_SEIZE, *tid, NULL, NULL))
			continue;
		ptrace(PTRACE_INTERRUPT, *tid, NULL, NULL);
		require("threads", vec_push(&run->threads, (struct stopped_thread){.tid = *tid}));
		is_new = true;
	}
	vec_free(&threads);
	return is_new;
}

/* Waits until the thread has stopped or exited. The exit status of the process is not taken. */
static void wait_for(struct run *run, struct stopped_thread *thread)
{
	struct thread_registers registers = {.tid = thread->tid};
	siginfo_t info;

	while (!thread->stopped) {
		info.si_pid = 0;
		if (waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WNOHANG | __WALL) == 0 &&
		    info.si_pid) {
			thread->stopped = true;
			thread->signal = TRACEE_EVENT(info.si_status) ? 0 : info.si_status;
		} else if (tracee_is_dead(run->pid, thread->tid)) {
			return;
		} else {
			usleep(50);
		}
	}
	tracee_read_registers(&registers);
	require("registers", vec_push(&run->registers, registers));
}

static void stop(struct run *run)
{
	size_t waited = 0;

	while (seize_new(run))
		while (waited < run->threads.count)
			wait_for(run, &run->threads.items[waited++]);
}

static void resume(struct run *run)
{
	struct thread_registers *registers;
	const struct stopped_thread *thread;

	vec_each (thread, &run->threads)
		if (thread->stopped)
			ptrace(PTRACE_DETACH, thread->tid, NULL, (void *)(intptr_t)thread->signal);
	vec_each (registers, &run->registers)
		tracee_free_registers(registers);
	vec_free(&run->registers);
	vec_free(&run->threads);
}

/* The code that the process has mapped. */

static void add_mapping(struct run *run, struct process *process,
			const struct proc_mapping *mapping)
{
	struct event_mapping event = {
		.start = mapping->start, .end = mapping->end, .offset = mapping->offset};
	struct module *module;
	struct error err;
	int fd;

	if (!mapping->executable || !mapping->inode)
		return;
	fd = proc_open_mapped(run->pid, mapping);
	if (fd < 0)
		return;
	if (module_intern(run->modules, fd, mapping->path, &module, &err)) {
		close(fd);
		return;
	}
	event.module = module->id;
	require("mapping", mappings_add(&process->mappings, &event));
}

static void find_code(struct run *run, struct process *process)
{
	struct proc_maps maps;

	require("maps", proc_maps_read(run->pid, &maps));
	for (size_t i = 0; i < maps.count; i++)
		add_mapping(run, process, &maps.items[i]);
	proc_maps_free(&maps);
}

/* Asking about every word, and overwriting the dead ones. */

/* The range of the stack on which the thread runs; NULL if it is not known to be a stack. */
static const struct scan_range *find_stack(const struct scan_input *input, uint64_t sp)
{
	for (size_t i = 0; i < input->range_count; i++) {
		const struct scan_range *range = &input->ranges[i];

		if (range->stack && sp >= range->start && sp < range->end)
			return range;
	}
	return NULL;
}

static void add_references(struct run *run, const struct scan_input *input)
{
	for (uint32_t set = 0; set < run->registers.count; set++) {
		const struct thread_registers *registers = &run->registers.items[set];
		struct callee_saved saved;
		struct scan_reference reference = {.registers = SCAN_IN_MEMORY};
		const struct scan_range *stack;
		uint64_t end;

		if (!callee_saved_read(registers, &saved))
			continue;
		stack = find_stack(input, saved.sp);
		end = !stack ? 0 : stack->thread_data ? stack->thread_data : stack->end;
		for (uint64_t at = saved.sp & ~(uint64_t)(saved.word - 1); at < end;
		     at += saved.word) {
			reference.address = at;
			require("references", vec_push(&run->references, reference));
		}
		reference.registers = set;
		for (uint32_t i = 0; i < saved.count; i++) {
			reference.address = saved.offsets[i];
			require("references", vec_push(&run->references, reference));
		}
	}
}

static void log_word(const struct run *run, const struct scan_reference *reference)
{
	if (!run->logs_words)
		return;
	fprintf(run->log, "  %" PRIu32 ": ", run->written);
	if (reference->registers == SCAN_IN_MEMORY)
		fprintf(run->log, "%#" PRIx64 "\n", reference->address);
	else
		fprintf(run->log, "register set %" PRIu32 " offset %" PRIu64 "\n",
			reference->registers, reference->address);
}

static void overwrite_register(struct run *run, const struct scan_reference *reference)
{
	struct thread_registers *registers = &run->registers.items[reference->registers];
	uint64_t garbage = GARBAGE_64 | run->written;
	uint32_t garbage32 = GARBAGE_32 | run->written;

	memcpy((char *)registers->bytes + reference->address,
	       registers->word == 4 ? (const void *)&garbage32 : (const void *)&garbage,
	       registers->word);
}

static void overwrite_memory(const struct run *run, int memory, uint32_t word, uint64_t address)
{
	uint64_t garbage = GARBAGE_64 | run->written;
	uint32_t garbage32 = GARBAGE_32 | run->written;

	if (pwrite(memory, word == 4 ? (const void *)&garbage32 : (const void *)&garbage, word,
		   (off_t)address) != (ssize_t)word)
		fail("write", -errno);
}

static void write_registers(const struct run *run)
{
	const struct thread_registers *registers;

	vec_each (registers, &run->registers) {
		/* The general registers come first; the kernel takes as many as it knows. */
		struct iovec set = {registers->bytes, registers->word == 4 ? 17 * sizeof(uint32_t)
									   : 27 * sizeof(uint64_t)};

		if (registers->size &&
		    ptrace(PTRACE_SETREGSET, registers->tid, (void *)NT_PRSTATUS, &set))
			fail("registers", -errno);
	}
}

/* Where the scan takes memory below the stack pointer for dead, it ends the range there. */
static void overwrite_below(const struct run *run, const struct scan_input *input, int memory)
{
	static char garbage[BELOW];
	const struct thread_registers *registers;

	memset(garbage, 0xde, sizeof(garbage));
	vec_each (registers, &run->registers) {
		const struct scan_range *stack = find_stack(input, registers->stack);

		if (stack && registers->stack - stack->start < registers->red_zone + 8 &&
		    pwrite(memory, garbage, sizeof(garbage),
			   (off_t)(stack->start - sizeof(garbage))) < 0)
			continue; /* no memory is mapped there */
	}
}

static void overwrite(struct run *run, const struct scan_input *input)
{
	const struct scan_reference *reference;
	size_t dead = 0, dead_registers = 0, unknown = 0;
	char path[64];
	int memory;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)run->pid);
	memory = open(path, O_RDWR | O_CLOEXEC);
	require("memory", memory < 0 ? -errno : 0);
	vec_each (reference, &run->references) {
		unknown += reference->answer == REFERENCE_UNKNOWN;
		if (reference->answer != REFERENCE_DEAD)
			continue;
		log_word(run, reference);
		if (reference->registers == SCAN_IN_MEMORY) {
			overwrite_memory(run, memory, run->registers.items[0].word,
					 reference->address);
			dead++;
		} else {
			overwrite_register(run, reference);
			dead_registers++;
		}
		run->written++;
	}
	write_registers(run);
	overwrite_below(run, input, memory);
	close(memory);
	fprintf(run->log, "%zu %zu %zu %zu\n", run->references.count, unknown, dead,
		dead_registers);
}

static void overwrite_dead_words(struct run *run)
{
	const struct target_options options = {.pid = run->pid, .stopped = true};
	struct process process = {0};
	struct scan_target *target;
	struct stack_liveness *liveness;
	struct scan_input input;

	if (target_open(&target, &options, run->registers.items, run->registers.count))
		return; /* it has exited */
	target_describe(target, &input);
	find_code(run, &process);
	add_references(run, &input);
	require("liveness", stack_liveness_new(&liveness,
					       &(struct stack_liveness_config){
						       .process = &process,
						       .modules = run->modules,
						       .parser = run->parser,
						       .ranges = input.ranges,
						       .range_count = input.range_count},
					       run->registers.items, run->registers.count));
	require("liveness", stack_liveness_classify(liveness, input.memory, run->references.items,
						    run->references.count));
	overwrite(run, &input);
	stack_liveness_free(liveness);
	target_close(target);
	mappings_free(&process.mappings);
	vec_free(&run->references);
}

/* Running the program. */

static void start(struct run *run, char **command)
{
	run->pid = fork();
	require("fork", run->pid < 0 ? -errno : 0);
	if (run->pid)
		return;
	execvp(command[0], command);
	fail(command[0], -errno);
}

static bool has_exited(const struct run *run)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)run->pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

/* Threads that exited while they were traced have to be reaped, or the process never exits. */
static int wait_for_exit(const struct run *run)
{
	int status;
	pid_t pid;

	do {
		pid = waitpid(-1, &status, __WALL);
		if (pid < 0)
			fail("wait", -errno);
	} while (pid != run->pid || WIFSTOPPED(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int compare_moments(const void *a, const void *b)
{
	int64_t difference = *(const int64_t *)a - *(const int64_t *)b;

	return difference < 0 ? -1 : difference > 0;
}

static void stop_at_moments(struct run *run, const char *seed, int count, int64_t span_ms)
{
	int64_t *moments = calloc((size_t)count + 1, sizeof(*moments)), before = 0;

	srand48(atol(seed));
	for (int i = 0; i < count; i++)
		moments[i] = (int64_t)(drand48() * (double)(span_ms * NS_PER_MS));
	qsort(moments, (size_t)count, sizeof(*moments), compare_moments);
	for (int i = 0; i < count; before = moments[i++]) {
		struct timespec nap = {.tv_sec = (moments[i] - before) / (1000 * NS_PER_MS),
				       .tv_nsec = (moments[i] - before) % (1000 * NS_PER_MS)};

		nanosleep(&nap, NULL);
		if (has_exited(run))
			break;
		stop(run);
		if (run->registers.count)
			overwrite_dead_words(run);
		resume(run);
	}
	free(moments);
}

static void open_log(struct run *run)
{
	const char *path = getenv("OVERWRITE_LOG");

	run->log = fopen(path ? path : "/dev/null", "ae");
	require("log", run->log ? 0 : -errno);
	run->logs_words = getenv("OVERWRITE_WORDS");
	unsetenv("OVERWRITE_LOG");
}

int main(int argc, char **argv)
{
	struct run run = {0};
	struct error err;
	int status;

	if (argc < 5)
		fail("usage: overwrite SEED COUNT SPAN_MS PROGRAM [ARG...]", -EINVAL);
	require("parser", parser_start(&run.parser, &(struct parser_config){0}));
	if (parser_check(run.parser, &err)) {
		fprintf(stderr, "overwrite: %s\n", err.text);
		return 125;
	}
	require("modules", module_table_new(&run.modules));
	module_table_set_reader(run.modules,
				(struct module_reader){parser_read_module, run.parser});
	open_log(&run);
	start(&run, argv + 4);
	stop_at_moments(&run, argv[1], atoi(argv[2]), atol(argv[3]));
	status = wait_for_exit(&run);
	fclose(run.log);
	parser_stop(run.parser);
	return status;
}
