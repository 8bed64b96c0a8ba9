/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scan_process [--step N] [--live PASSES] RECORDER PROGRAM [ARG…]: runs a program of the truth
 * table (tests/targets/leak_truth.h) under recorder.so, forwards its output, and when it is READY
 * scans it for leaks, stopped or running. Prints one line of JSON: {"scan": {"0": {"definite":
 * [blocks, bytes], …}, …}}, keyed by the case numbers of the program; "-1" is for blocks outside of
 * all cases.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"
#include "os/process/kernel_words.h"
#include "os/ptrace/freeze.h"
#include "scan/confirm.h"
#include "scan/target.h"
#include "tests/scan/board.h"

#define CASES 256

struct run {
	unsigned int step;   /* 0: word size */
	unsigned int passes; /* 0: stopped */
	const char *recorder;
	char **command;
	struct board *board;
	int board_fd;
	pid_t pid;
	FILE *from_program; /* its standard output */
	int to_program;     /* its standard input */
};

struct tallies {
	struct scan_sum of[CASES + 1][LEAK_CLASS_COUNT];
};

static void fail(const char *what, int err)
{
	fprintf(stderr, "scan_process: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void require(const char *what, int err)
{
	if (err < 0)
		fail(what, err);
}

/* Starting the program. */

static void open_board(struct run *run)
{
	run->board_fd = memfd_create("board", 0);
	if (run->board_fd < 0 || ftruncate(run->board_fd, sizeof(*run->board)))
		fail("board", -errno);
	run->board = mmap(NULL, sizeof(*run->board), PROT_READ, MAP_SHARED, run->board_fd, 0);
	if (run->board == MAP_FAILED)
		fail("board", -errno);
}

static void become(const struct run *run, int in, int out)
{
	char fd[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(fd, sizeof(fd), "%d", run->board_fd);
	setenv("RECORDER_FD", fd, 1);
	setenv("LD_PRELOAD", run->recorder, 1);
	dup2(in, 0);
	dup2(out, 1);
	execvp(run->command[0], run->command);
	fail(run->command[0], -errno);
}

static void start(struct run *run)
{
	int in[2], out[2];

	open_board(run);
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		fail("pipe", -errno);
	run->pid = fork();
	if (run->pid < 0)
		fail("fork", -errno);
	if (!run->pid)
		become(run, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	run->to_program = in[1];
	run->from_program = fdopen(out[0], "r");
}

static void wait_until_ready(struct run *run)
{
	char *line = NULL;
	size_t size = 0;

	while (getline(&line, &size, run->from_program) > 0 && strcmp(line, "READY\n"))
		fputs(line, stdout);
	if (feof(run->from_program))
		fail(run->command[0], -ESRCH);
	free(line);
}

static int end(struct run *run)
{
	int status;

	close(run->to_program);
	fclose(run->from_program);
	if (waitpid(run->pid, &status, 0) < 0)
		fail("wait", -errno);
	return status;
}

/* Scanning it. */

static void collect_blocks(const struct run *run, struct blocks *blocks)
{
	for (size_t i = 0; i < BOARD_NOTES; i++) {
		const struct note *note = &run->board->notes[i];

		if (note->live)
			require("blocks",
				blocks_add(blocks, note->hidden ^ BOARD_MASK, note->size));
	}
	require("blocks", blocks_seal(blocks));
	if (run->board->overflow)
		fail("board", -ENOSPC);
}

static void scan_threads(const struct run *run, const struct freeze *freeze, struct blocks *blocks,
			 struct scan_result *ret_result)
{
	struct data_descriptors descriptors = {0};
	struct kernel_words kernel_words = {0};
	struct target_options options = {.pid = run->pid, .kernel_words = &kernel_words};
	const struct thread_registers *threads;
	struct scan_input input;
	struct scan_target *target;
	size_t count;

	threads = freeze_threads(freeze, &count);
	require("descriptors", data_descriptors_find(run->pid, &descriptors));
	require("kernel words", kernel_words_read(run->pid, &descriptors, &kernel_words));
	require("target", target_open(&target, &options, threads, count));
	target_describe(target, &input);
	input.heap_is_known = true;
	if (run->step)
		input.step = run->step;
	require("scan", scan_run(blocks, &input, ret_result));
	target_close(target);
	vec_free(&kernel_words);
	vec_free(&descriptors);
}

static void scan_stopped(const struct run *run, struct blocks *blocks,
			 struct scan_result *ret_result)
{
	struct freeze *freeze;

	require("freeze", freeze_stop(&freeze, run->pid, NULL));
	scan_threads(run, freeze, blocks, ret_result);
	freeze_release(freeze);
}

/* The program does nothing meanwhile, so no block replaces another. */
static uint64_t stamp(void *ctx, uint64_t address)
{
	(void)ctx;
	(void)address;
	return 0;
}

static void scan_running(const struct run *run, struct blocks *blocks,
			 struct scan_result *ret_result)
{
	struct confirm confirm = {0};

	while (!confirm_done(&confirm, run->passes)) {
		struct freeze *freeze;

		scan_result_free(ret_result);
		require("sample", freeze_sample(&freeze, run->pid, NULL));
		scan_threads(run, freeze, blocks, ret_result);
		freeze_release(freeze);
		require("confirm", confirm_pass(&confirm, blocks, ret_result, stamp, NULL));
	}
	confirm_apply(&confirm, blocks, ret_result);
	confirm_free(&confirm);
}

static void add_up(const struct run *run, struct blocks *blocks, const struct scan_result *result,
		   struct tallies *tallies)
{
	for (size_t i = 0; i < BOARD_NOTES; i++) {
		const struct note *note = &run->board->notes[i];
		struct scan_sum *sum;

		if (!note->live || note->number < -1 || note->number >= CASES)
			continue;
		sum = &tallies->of[note->number + 1][scan_class_of(
			result, blocks_at(blocks, note->hidden ^ BOARD_MASK))];
		sum->blocks++;
		sum->bytes += note->size;
	}
}

static void scan_and_tell(const struct run *run)
{
	static struct tallies tallies;
	struct scan_result result = {0};
	struct blocks blocks = {0};

	collect_blocks(run, &blocks);
	if (run->passes)
		scan_running(run, &blocks, &result);
	else
		scan_stopped(run, &blocks, &result);
	add_up(run, &blocks, &result, &tallies);
	for (int i = -1; i < CASES; i++) {
		printf("%s\"%d\": {", i < 0 ? "{\"scan\": {" : ", ", i);
		for (int class = 0; class < LEAK_CLASS_COUNT; class ++)
			printf("%s\"%s\": [%" PRIu64 ", %" PRIu64 "]", class ? ", " : "",
			       leak_class_name((enum leak_class) class),
			       tallies.of[i + 1][class].blocks, tallies.of[i + 1][class].bytes);
		printf("}");
	}
	printf("}, \"unreadable\": %" PRIu64 "}\n", result.bytes_unreadable);
	scan_result_free(&result);
	blocks_free(&blocks);
}

static void read_options(struct run *run, int argc, char **argv)
{
	static const struct option options[] = {{"step", required_argument, NULL, 's'},
						{"live", required_argument, NULL, 'l'},
						{0}};
	int letter;

	while ((letter = getopt_long(argc, argv, "+", options, NULL)) > 0) {
		if (letter == 's')
			run->step = (unsigned int)atoi(optarg);
		else if (letter == 'l')
			run->passes = (unsigned int)atoi(optarg);
		else
			exit(2);
	}
	if (argc - optind < 2)
		fail("usage: scan_process [--step N] [--live PASSES] RECORDER PROGRAM", -EINVAL);
	run->recorder = argv[optind];
	run->command = argv + optind + 1;
}

int main(int argc, char **argv)
{
	struct run run = {0};
	int status;

	read_options(&run, argc, argv);
	start(&run);
	wait_until_ready(&run);
	scan_and_tell(&run);
	status = end(&run);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
