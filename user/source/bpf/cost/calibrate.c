/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child calls a function of ours many times on request, and returns the CPU time that this took:
 * first without a probe, then with a probe at the entry, then with one that also sees the return.
 * The time of the BPF programs is subtracted. The result is the median of several batches, as any
 * of them may have been disturbed.
 */
#include "source/bpf/cost/calibrate.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "bpf/abi.h"
#include "bpf/sample.h"
#include "mtrace.skel.h"
#include "source/bpf/cost/reading.h"
#include "source/bpf/load/child.h"
#include "source/bpf/load/program.h"
#include "symbol/probe_site/choice.h"

#define CALLS     200
#define BATCHES   9
#define CODE_SIZE 16

__attribute__((noinline, noclone)) static void called(void)
{
	asm volatile("" : : : "memory");
}

static void (*volatile const callee)(void) = called;

/* Like allocators, these functions start by saving registers. */
__attribute__((noinline, noclone)) static void *entered(void *block)
{
	callee();
	return block;
}

__attribute__((noinline, noclone)) static void *returned(void *block)
{
	callee();
	return (char *)block + 1;
}

static uint64_t own_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000ULL + (uint64_t)time.tv_nsec;
}

/* Runs a batch for each byte that it reads. */
static void child_main(int orders, int answers)
{
	void *(*volatile function)(void *);
	char which;

	while (read(orders, &which, 1) == 1) {
		uint64_t begin = own_ns(), taken;

		function = which ? returned : entered;
		for (uintptr_t i = 0; i < CALLS; i++)
			function((void *)(0x1000 + 16 * i));
		taken = own_ns() - begin;
		if (write(answers, &taken, sizeof(taken)) != sizeof(taken))
			break;
	}
	_exit(0);
}

/* The cost of a batch of calls. */
struct probe_batch {
	double call_ns; /* CPU time per call, without the programs … */
	double run_ns;  /* … and per run of a program */
};

static int compare_calls(const void *a, const void *b)
{
	const struct probe_batch *left = a, *right = b;

	return (left->call_ns > right->call_ns) - (left->call_ns < right->call_ns);
}

static int compare_runs(const void *a, const void *b)
{
	const struct probe_batch *left = a, *right = b;

	return (left->run_ns > right->run_ns) - (left->run_ns < right->run_ns);
}

/* `programs` are those that may run for it: NULL-terminated. */
static int batch_once(const struct bpf_child *child, char which,
		      const struct bpf_program *const *programs, struct probe_batch *ret_batch)
{
	struct cost_reading before = {0}, after = {0};
	uint64_t taken;

	for (size_t i = 0; programs[i]; i++)
		if (cost_read(programs[i], &before))
			return -EOPNOTSUPP;
	if (write(child->orders, &which, 1) != 1 ||
	    read(child->answers, &taken, sizeof(taken)) != sizeof(taken))
		return -EPIPE;
	for (size_t i = 0; programs[i]; i++)
		if (cost_read(programs[i], &after))
			return -EOPNOTSUPP;
	after.runs -= before.runs;
	after.ns -= before.ns;
	*ret_batch = (struct probe_batch){((double)taken - (double)after.ns) / CALLS,
					  after.runs ? (double)after.ns / (double)after.runs : 0};
	return 0;
}

static int batches_run(const struct bpf_child *child, char which,
		       const struct bpf_program *const *programs, struct probe_batch *ret_median)
{
	struct probe_batch batches[BATCHES];
	int err = 0;

	for (size_t i = 0; !err && i < BATCHES; i++)
		err = batch_once(child, which, programs, &batches[i]);
	if (err)
		return err;
	qsort(batches, BATCHES, sizeof(batches[0]), compare_calls);
	ret_median->call_ns = batches[BATCHES / 2].call_ns;
	qsort(batches, BATCHES, sizeof(batches[0]), compare_runs);
	ret_median->run_ns = batches[BATCHES / 2].run_ns;
	return 0;
}

/* Probes an instruction that the kernel emulates, as probe plans do. */
static int probe(const struct bpf_child *child, enum probe_kind kind, const void *function,
		 enum api api)
{
	const struct function_code code = {
		.bytes = function,
		.size = CODE_SIZE,
		.address = (uintptr_t)function,
		.machine = arch_native(sizeof(void *) == 4)->machine,
		.elf64 = sizeof(void *) == 8,
	};
	struct site_choice choice;

	site_choose(&code, 1, &choice);
	return bpf_child_probe(child, kind, (const char *)function + choice.offset, api);
}

static double positive(double number)
{
	return number > 0 ? number : 0;
}

static int measure(const struct bpf_child *child, struct cost_rates *ret)
{
	const struct loaded_programs *program = child->program;
	const struct mtrace_bpf *skeleton = program->skeleton;
	const struct bpf_program *const of_free[] = {skeleton->progs.call_free, NULL};
	const struct bpf_program *const sessions[] = {skeleton->progs.call_session, NULL};
	const struct bpf_program *const pairs[] = {skeleton->progs.call_entry,
						   skeleton->progs.call_return, NULL};
	bool session = program->means->pairing == PAIRING_SESSION;
	struct probe_batch bare, entry, both;
	int err = batches_run(child, 0, of_free, &bare);

	if (!err)
		err = probe(child, PROBE_FREE, (const void *)entered, API_FREE);
	if (!err)
		err = probe(child, PROBE_CALL, (const void *)returned, API_VALLOC);
	if (!err)
		err = bpf_child_commit(child);
	if (!err)
		err = batches_run(child, 0, of_free, &entry);
	if (!err)
		err = batches_run(child, 1, session ? sessions : pairs, &both);
	if (err)
		return err;
	ret->entry = positive(entry.call_ns - bare.call_ns);
	ret->return_ = positive(both.call_ns - entry.call_ns);
	ret->unsampled = entry.run_ns;
	ret->recorded = both.run_ns;
	return 0;
}

int calibrate(struct loaded_programs *program, struct cost_rates *ret_rates)
{
	struct bpf_child child;
	int err = bpf_child_start(program, child_main, &child);

	if (err)
		return err;
	err = measure(&child, ret_rates);
	(void)bpf_child_finish(&child);
	return err;
}
