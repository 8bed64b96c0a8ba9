/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BPF source: converts records from the ring buffer to events. For the probes of a process see
 * source/trace/process.c, for loading and attaching the programs source/bpf/load/program.c.
 */
#include "source/bpf/source.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/file/descriptors.h"
#include "base/log.h"
#include "base/vec.h"
#include "mtrace.skel.h"
#include "os/process/proc.h"
#include "source/bpf/cost/cost.h"
#include "source/bpf/entered.h"
#include "source/bpf/file_key.h"
#include "source/bpf/hold.h"
#include "source/bpf/load/program.h"
#include "source/bpf/system.h"
#include "source/bpf/deferred.h"
#include "source/bpf/thread_words.h"
#include "source/bpf/unwind.h"
#include "source/gate/gated.h"
#include "source/record/ring.h"
#include "source/record/ring_reader.h"
#include "source/selection.h"
#include "source/trace/backend.h"
#include "source/trace/leader.h"
#include "source/trace/losses.h"
#include "source/trace/probes.h"
#include "source/trace/process.h"
#include "source/trace/records.h"
#include "source/trace/translated.h"
#include "source/trace/translator.h"
#include "source/unwind/stack_dump.h"
#include "source/unwind/stack_check.h"
#include "source/unwind/tables.h"
#include "symbol/elf/module_table.h"

#define HELD_AT_ONCE 64
#define AHEAD        8          /* times the ring buffer, for records while we are busy */
#define UNWIND_ROWS  (1u << 21) /* 16 MiB, and 8 for pages: a thousand modules fit */

/* The source and its BPF parts, to which `common` points. */
struct bpf_source {
	struct trace_source common; /* first member: the session's handle */
	struct loaded_programs program;
	struct hold hold;
	struct thread_words_reader *thread_words; /* NULL until it is needed */
};

static struct trace_source *bpf_of(struct source *source)
{
	return (struct trace_source *)source;
}

static bool is_gone(pid_t pid)
{
	return kill(pid, 0) && errno == ESRCH;
}

/*
 * If the exit record of a process was dropped, we would wait for it forever. Once the process is
 * gone, all its records are in the ring buffer: what is still unknown after reading that was
 * dropped.
 */
static int check_one_exit(struct trace_source *bpf)
{
	struct record_exit end = {.head = {.kind = RECORD_EXIT}};
	struct event event = {0};
	pid_t pid;
	int err;

	if (!bpf->process_count)
		return 0;
	pid = bpf->processes[bpf->next_exit_check++ % bpf->process_count]->pid;
	if (!is_gone(pid))
		return 0;
	err = ring_reader_read(bpf->reader, record_arrived, bpf);
	if (!err)
		err = record_of_exec(bpf, pid);
	if (err || !processes_find(bpf, pid) || !is_gone(pid))
		return err;
	end.head.pid = event.pid = event.tid = (uint32_t)pid;
	event.time_ns = bpf->newest_ns;
	processes_losses(bpf, pid, end.losses);
	return record_of_end(bpf, &end, &event);
}

/* Reads the ring buffer first: it has the records of the fork that created a paused process. */
static int serve_held(struct trace_source *bpf)
{
	struct held_exec held;
	int err = 0;

	for (int i = 0; !err && i < HELD_AT_ONCE && hold_take(bpf, &held); i++) {
		err = ring_reader_read(bpf->reader, record_arrived, bpf);
		if (err)
			close(held.file);
		else
			err = hold_serve(bpf, &held);
	}
	return err;
}

/* Processes with deferred forks, execs and mappings. */
struct deferred_records {
	uint32_t execs[EXECS_DEFERRED], forks[FORKS_DEFERRED], mappings[MAPPINGS_DEFERRED];
	size_t exec_count, fork_count, mapping_count;
};

static void collect_deferred(const struct trace_source *bpf, struct deferred_records *deferred)
{
	deferred->exec_count = execs_deferred(bpf, deferred->execs);
	deferred->fork_count = forks_deferred(bpf, deferred->forks);
	deferred->mapping_count = mappings_deferred(bpf, deferred->mappings);
}

/* Handles deferred records. The ring buffer, which has been read since, had all earlier ones. */
static int find_deferred(struct trace_source *bpf, const struct deferred_records *deferred)
{
	int err = 0;

	for (size_t i = 0; !err && i < deferred->fork_count; i++)
		err = record_of_fork(bpf, (pid_t)deferred->forks[i]);
	for (size_t i = 0; !err && i < deferred->exec_count; i++)
		err = record_of_exec(bpf, (pid_t)deferred->execs[i]);
	return err;
}

static int find_mappings(struct trace_source *bpf, const struct deferred_records *deferred)
{
	struct record_mapping unknown = {.head = {.kind = RECORD_MAPPING}};
	int err = 0;

	for (size_t i = 0; !err && i < deferred->mapping_count; i++) {
		unknown.head.pid = deferred->mappings[i];
		if (mappings_take(bpf, (pid_t)unknown.head.pid, &unknown.head.time_ns))
			err = record_arrived(bpf, &unknown, sizeof(unknown));
	}
	return err;
}

static int bpf_drain(struct source *source)
{
	struct trace_source *bpf = bpf_of(source);
	struct deferred_records deferred;
	int err = translated_check(bpf, bpf->program->skeleton->bss->translators_begun);
	uint64_t waiting = ring_waiting(&bpf->ring);

	collect_deferred(bpf, &deferred);
	bpf->ring_peak = waiting > bpf->ring_peak ? waiting : bpf->ring_peak;
	if (!err)
		err = ring_reader_read(bpf->reader, record_arrived, bpf);
	if (!err)
		err = find_deferred(bpf, &deferred);
	if (!err)
		err = find_mappings(bpf, &deferred);
	if (!err)
		err = serve_held(bpf);
	return err ? err : check_one_exit(bpf);
}

static uint64_t bpf_ring_peak(struct source *source)
{
	struct trace_source *bpf = bpf_of(source);
	uint64_t peak = bpf->ring_peak < bpf->ring.size ? bpf->ring_peak : bpf->ring.size;

	bpf->ring_peak = 0;
	return peak * 1000000 / bpf->ring.size;
}

/*
 * Processes.
 */

static int check_seccomp(const struct trace_source *bpf, pid_t pid, struct error *err)
{
	struct proc_info info;
	bool confined;
	int code;

	if (bpf->program->seccomp_safe)
		return 0;
	code = proc_info_read(pid, &info);
	if (code)
		return error_set(err, code, "%s", strerror(-code));
	confined = info.seccomp;
	proc_info_free(&info);
	return confined
		       ? error_set(err, -EOPNOTSUPP,
				   "it runs under seccomp, and this kernel kills such a process at "
				   "a return probe (fixed in Linux 6.14)")
		       : 0;
}

static int bpf_attach(struct source *source, pid_t pid, struct error *err)
{
	struct trace_source *bpf = bpf_of(source);
	struct traced_process *process;
	int code = check_seccomp(bpf, pid, err);

	if (code)
		return code;
	code = processes_enter(bpf, pid, &process, err);
	if (code)
		return code;
	if (proc_living_thread(pid) != pid)
		code = leader_lost(process, &bpf->shared);
	if (code)
		error_set_errno(err, code, "its first thread has exited");
	else
		code = traced_process_attach(process, err);
	if (code)
		processes_forget(bpf, process);
	return code;
}

static int bpf_attach_launch(struct source *source, pid_t pid, const char *program,
			     char *const *command, char *const *environment, struct error *err)
{
	struct trace_source *bpf = bpf_of(source);
	struct traced_process *process;
	int code = processes_enter(bpf, pid, &process, err);

	if (code)
		return code;
	code = traced_process_attach_launch(process, program, command, environment, err);
	if (code)
		processes_forget(bpf, process);
	return code;
}

static int bpf_fd(const struct source *source)
{
	return bpf_map__fd(((const struct trace_source *)source)->program->skeleton->maps.events);
}

static int bpf_hold_fd(const struct source *source)
{
	return hold_fd((const struct trace_source *)source);
}

static uint32_t bpf_live(const struct source *source)
{
	return (uint32_t)((const struct trace_source *)source)->process_count;
}

static int bpf_deliver_losses(struct source *source)
{
	const struct trace_source *bpf = bpf_of(source);
	uint64_t losses[LOSS_COUNT];
	int err = 0;

	for (size_t i = 0; !err && i < bpf->process_count; i++) {
		processes_losses(bpf, bpf->processes[i]->pid, losses);
		losses[LOSS_NO_STATE] += gated_missed(bpf->processes[i]);
		err = processes_deliver_losses(bpf->processes[i], losses);
	}
	return err;
}

static int bpf_thread_words(struct source *source, pid_t pid, struct kernel_words *words)
{
	struct bpf_source *bpf = (struct bpf_source *)source;
	int err = bpf->thread_words ? 0 : thread_words_open(&bpf->thread_words);

	return err ? err : thread_words_read(bpf->thread_words, pid, words);
}

static void bpf_detach(struct source *source)
{
	struct trace_source *bpf = bpf_of(source);

	hold_close(bpf);
	for (size_t i = 0; i < bpf->process_count; i++)
		program_gather(bpf->program, &bpf->processes[i]->links);
	program_gather(bpf->program, &bpf->shared.links);
	prober_leave(bpf->prober, &bpf->program->self_test);
	for (size_t i = 0; i < bpf->process_count; i++)
		traced_process_detach(bpf->processes[i]);
	prober_leave(bpf->prober, &bpf->shared.links);
}

static void bpf_close(struct source *source)
{
	struct trace_source *bpf = bpf_of(source);

	if (!bpf)
		return;
	hold_close(bpf);
	while (bpf->process_count)
		processes_forget(bpf, bpf->processes[bpf->process_count - 1]);
	free(bpf->processes);
	map64_free(&bpf->index_of_pid);
	prober_leave(bpf->prober, &bpf->shared.links);
	map64_free(&bpf->shared.attached);
	vec_free(&bpf->shared.placed_ns);
	ring_reader_close(bpf->reader);
	ring_close(&bpf->ring);
	bpf_cost_close(bpf);
	thread_words_close(((struct bpf_source *)source)->thread_words);
	unwind_tables_free(bpf->tables);
	module_table_set_identifier(bpf->config.modules, (struct module_identifier){0});
	if (bpf->program->skeleton)
		program_unload(bpf->program);
	free(bpf);
}

/* Stacks by tables, unless something else was requested or they do not work. */
static int load_programs(struct trace_source *bpf, struct error *err)
{
	enum stack_mode stack = bpf->config.stack;
	struct program_config config = {
		.pairing = bpf->config.pairing,
		.depth = stack == STACK_NONE ? 0 : bpf->config.depth,
		.unwind_rows = stack == STACK_AUTO || stack == STACK_CFI ? UNWIND_ROWS : 0,
		.buffer_bytes = ring_size(bpf->config.buffer_bytes),
		.scope = bpf->config.scope,
		.selection = bpf->config.selected ? &bpf->config.selected->rules : NULL,
		.sanity = bpf->config.sanity,
		.alloc_filter = bpf->config.alloc_filter,
		.measures = bpf->config.measures,
	};
	int code = program_load(bpf->program, &config, err);

	if (code && code != -EPERM && code != -EXDEV && !descriptors_missing(code) &&
	    stack == STACK_AUTO) {
		config.unwind_rows = 0;
		code = program_load(bpf->program, &config, err);
	}
	return code;
}

/* If the cost cannot be measured, continues without it unless must_measure is set. */
static int start_measuring(struct trace_source *bpf, struct error *err)
{
	int code;

	if (!bpf->config.measures)
		return 0;
	code = bpf_cost_open(bpf, err);
	if (!code || bpf->config.must_measure)
		return code;
	bpf_cost_close(bpf);
	log_info("%s", err->text);
	return 0;
}

static void bpf_draw(struct source *source, uint32_t sample)
{
	struct trace_source *bpf = bpf_of(source);

	bpf->program->skeleton->bss->sample_drawn = sample;
	bpf->prober->sample = sample;
	for (size_t i = 0; i < bpf->process_count; i++)
		gated_sample(bpf->processes[i], sample);
}

static int open_ring(struct trace_source *bpf)
{
	int events = bpf_map__fd(bpf->program->skeleton->maps.events);
	uint64_t size = ring_size(bpf->config.buffer_bytes);
	int code = ring_open(&bpf->ring, events, size);

	return code ? code : ring_reader_open(&bpf->reader, &bpf->ring, events, AHEAD * size);
}

static int bpf_start(struct trace_source *bpf, struct error *err)
{
	int code = load_programs(bpf, err);

	if (code)
		return code;
	bpf->prober->sample = alloc_filter_samples_at_first(&bpf->config.alloc_filter);
	module_table_set_identifier(bpf->config.modules, file_key_identifier(bpf->program));
	if (bpf->prober->everybody && !bpf->program->seccomp_safe)
		return error_set(err, -EOPNOTSUPP,
				 "this kernel kills programs confined by seccomp at a return probe "
				 "(fixed in Linux 6.14), and this trace would put probes in all of "
				 "them: name the processes with --pid");
	if (bpf->program->unwinds)
		code = unwind_tables_new(bpf->program, bpf->config.parser, &bpf->tables);
	if (code)
		return error_set_errno(err, code, "cannot map the unwind tables");
	code = open_ring(bpf);
	if (code)
		return error_set_errno(err, code, "cannot read the ring buffer");
	code = start_measuring(bpf, err);
	if (code)
		return code;
	code = system_select(bpf);
	if (code)
		return error_set_errno(err, code, "cannot select programs");
	code = program_attach_tasks(bpf->program, err);
	/* With SCOPE_SYSTEM, running processes must be attached first: programs would be held for
	 * long. */
	return code || bpf->config.scope == SCOPE_SYSTEM ? code : hold_open(bpf, err);
}

static int bpf_open(struct source **ret_source, const struct source_config *config,
		    struct error *err)
{
	struct bpf_source *backend = calloc(1, sizeof(*backend));
	struct trace_source *bpf = (struct trace_source *)backend;
	int code;

	if (!backend)
		return error_set_errno(err, -ENOMEM, "cannot start tracing");
	bpf->prober = &backend->program.prober;
	bpf->program = &backend->program;
	bpf->hold = &backend->hold;
	bpf->source.ops = source_bpf();
	bpf->config = *config;
	bpf->probe_ops = &attached_probe_ops;
	bpf->deferred = &deferred_ops;
	bpf->losses = processes_losses;
	code = bpf_start(bpf, err);
	if (code) {
		bpf_close(&bpf->source);
		return code;
	}
	*ret_source = &bpf->source;
	return 0;
}

const struct source_ops *source_bpf(void)
{
	static const struct source_ops ops = {
		.name = "bpf",
		.open = bpf_open,
		.attach = bpf_attach,
		.attach_launch = bpf_attach_launch,
		.attach_all = system_attach,
		.fd = bpf_fd,
		.hold_fd = bpf_hold_fd,
		.drain = bpf_drain,
		.ring_peak = bpf_ring_peak,
		.cost_begin = bpf_cost_begin,
		.cost_end = bpf_cost_end,
		.draw = bpf_draw,
		.deliver_losses = bpf_deliver_losses,
		.thread_words = bpf_thread_words,
		.live = bpf_live,
		.detach = bpf_detach,
		.close = bpf_close,
	};

	return &ops;
}
