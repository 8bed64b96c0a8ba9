/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ptrace source. The tracer process (source/ptrace/tracer_process/tracer_process.h) takes the
 * role of the kernel: its records come through a ring and become events, like those of the BPF
 * programs (source/bpf/source.c). What differs is how breakpoints are placed: by address, in each
 * existing mapping. A thread that has mapped something waits until that is done.
 */
#include "source/ptrace/source.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/log.h"
#include "os/process/maps.h"
#include "os/process/proc.h"
#include "os/ptrace/tracee.h"
#include "source/ptrace/tracer_process/tracer_process.h"
#include "source/ptrace/hold.h"
#include "source/ptrace/refusal.h"
#include "source/trace/backend.h"
#include "source/trace/losses.h"
#include "source/trace/mappings.h"
#include "source/trace/probes.h"
#include "source/trace/process.h"
#include "source/trace/records.h"
#include "source/unwind/tables.h"
#include "symbol/elf/module_table.h"

#define SEIZE_WAIT_NS 2000000000ULL
#define SEIZE_TRIES   10
#define SEIZE_NAP_NS  1000000

struct ptrace_source {
	struct trace_source common; /* first member: the session's handle */
	struct prober prober;       /* without operations */
	struct tracer_process tracer_process;
	struct holds holds;
};

static struct ptrace_source *ptrace_of(struct source *source)
{
	return (struct ptrace_source *)source;
}

/*
 * Breakpoints.
 */

/* Nothing is placed per file: breakpoints are placed per mapping. */
static int place_nothing(struct traced_process *process, const struct module *module,
			 const struct probe_plan *plan)
{
	(void)process;
	(void)module;
	(void)plan;
	return 0;
}

static void verify_nothing(struct traced_process *process, const struct module *module,
			   const struct delivered_mapping *mapping)
{
	(void)process;
	(void)module;
	(void)mapping;
}

static const struct probe_ops ptrace_probe_ops = {
	.place = place_nothing,
	.verify = verify_nothing,
};

/* A request that is being written. */
struct placing {
	struct ptrace_source *ptrace;
	struct traced_process *process;
	const struct proc_mapping *mapping;
};

static const struct module *module_at(const struct traced_process *process, uint64_t start)
{
	uint32_t index = map64_get(&process->delivered, start);

	return index == MAP64_NONE
		       ? NULL
		       : module_get(process->config->modules, process->mappings[index].module);
}

static void count_refused(struct traced_process *process, const struct breakpoint_place *place)
{
	if (!place->result)
		return;
	process->unprobed_sites++;
	log_info("no breakpoint at %#llx in process %d: %s", (unsigned long long)place->address,
		 (int)process->pid,
		 place->result == -EEXIST ? "another tracer's probe or other code is in its place"
					  : strerror(-place->result));
}

static int send_places(struct placing *placing)
{
	struct mailbox *mailbox = placing->ptrace->tracer_process.shared.mailbox;
	uint32_t count = mailbox->count;
	int err;

	if (!count)
		return 0;
	err = tracer_process_ask(&placing->ptrace->tracer_process, REQUEST_PLACE,
				 placing->process->pid);
	for (uint32_t i = 0; !err && i < count; i++)
		count_refused(placing->process, &mailbox->items.places[i]);
	mailbox->count = 0;
	return err;
}

static int take_probe(void *ctx, enum probe_kind kind, uint64_t offset, uint64_t cookie,
		      int original)
{
	struct placing *placing = ctx;
	const struct proc_mapping *mapping = placing->mapping;
	struct mailbox *mailbox = placing->ptrace->tracer_process.shared.mailbox;

	if (offset < mapping->offset || offset - mapping->offset >= mapping->end - mapping->start)
		return 0;
	mailbox->items.places[mailbox->count++] = (struct breakpoint_place){
		.address = mapping->start + offset - mapping->offset,
		.cookie = cookie,
		.kind = (uint16_t)kind,
		.original = (int16_t)original,
	};
	return mailbox->count < PLACES_MAX ? 0 : send_places(placing);
}

static int place_all(struct ptrace_source *ptrace, struct traced_process *process,
		     const struct proc_maps *maps)
{
	struct placing placing = {.ptrace = ptrace, .process = process};
	struct probe_taker taker = {take_probe, &placing};
	int err = 0;

	ptrace->tracer_process.shared.mailbox->count = 0;
	for (size_t i = 0; !err && i < maps->count; i++) {
		const struct module *module = module_at(process, maps->items[i].start);

		placing.mapping = &maps->items[i];
		if (module && maps->items[i].executable)
			err = probes_each(process, module, &taker);
	}
	return err ? err : send_places(&placing);
}

static struct code_mapping code_of(const struct ptrace_source *ptrace,
				   const struct traced_process *process,
				   const struct proc_mapping *mapping)
{
	const struct module *module = module_at(process, mapping->start);
	struct code_mapping code = {
		.start = mapping->start,
		.size = mapping->end - mapping->start,
		.to_offset = mapping->offset - mapping->start,
		.file = {.known = 1},
	};

	if (module && ptrace->common.tables)
		code.file = unwind_tables_file(ptrace->common.tables, module);
	return code;
}

/* Sends the executable mappings, in order of address as in /proc. */
static int send_code(struct ptrace_source *ptrace, const struct traced_process *process,
		     const struct proc_maps *maps)
{
	struct mailbox *mailbox = ptrace->tracer_process.shared.mailbox;

	mailbox->count = 0;
	for (size_t i = 0; i < maps->count && mailbox->count < CODE_MAX; i++)
		if (maps->items[i].executable)
			mailbox->items.code[mailbox->count++] =
				code_of(ptrace, process, &maps->items[i]);
	return tracer_process_ask(&ptrace->tracer_process, REQUEST_CODE, process->pid);
}

/* The current mappings have been delivered: passes them to the tracer process, and places
 * breakpoints. */
static int place_in_mappings(struct ptrace_source *ptrace, struct traced_process *process)
{
	struct proc_maps maps;
	int err = proc_maps_read(proc_living_thread(process->pid), &maps);

	if (err)
		return err;
	err = send_code(ptrace, process, &maps);
	if (!err)
		err = place_all(ptrace, process, &maps);
	proc_maps_free(&maps);
	return err;
}

/* A process that was killed meanwhile is not an error: its exit is in the ring. */
static int place_in_new_mappings(struct ptrace_source *ptrace, struct traced_process *process,
				 uint64_t time_ns)
{
	int err = mappings_read(process, time_ns);

	if (!err)
		err = place_in_mappings(ptrace, process);
	return err == -ENOMEM || err == -EPIPE ? err : 0;
}

static int ptrace_at_end(struct ptrace_source *ptrace, pid_t pid)
{
	if (!holds_at_end(&ptrace->holds, pid))
		tracer_process_ask(&ptrace->tracer_process, REQUEST_LET_END, pid);
	return 0;
}

static int ptrace_hold(struct source *source, const struct hold_request *request,
		       struct holder **ret_holder, struct error *err)
{
	struct ptrace_source *ptrace = ptrace_of(source);

	return hold_new(&ptrace->holds, &ptrace->tracer_process, request, ret_holder, err);
}

static int ptrace_held(struct trace_source *common, const struct record_head *head)
{
	struct ptrace_source *ptrace = ptrace_of(&common->source);
	struct traced_process *process = processes_find(common, (pid_t)head->pid);
	int err;

	if (head->kind == RECORD_AT_END)
		return ptrace_at_end(ptrace, (pid_t)head->pid);
	err = process ? place_in_new_mappings(ptrace, process, head->time_ns) : 0;
	if (!err)
		err = tracer_process_ask(&ptrace->tracer_process, REQUEST_GO_ON, (pid_t)head->tid);
	return err == -ESRCH ? 0 : err;
}

/*
 * The source.
 */

/* A command that was just killed leaves its tracer process, which needs a moment to exit. */
static bool is_tracer_process(pid_t pid)
{
	struct proc_info info;
	bool is;

	if (!pid || proc_info_read(pid, &info))
		return false;
	is = !strcmp(info.comm, TRACER_PROCESS_NAME);
	proc_info_free(&info);
	return is;
}

/* Returns true if the process that was in our way may be gone at the next try, or already is. */
static bool is_leaving(pid_t pid, int code, int *tries)
{
	pid_t tracer = tracee_tracer(pid, pid);

	if (code != -EPERM)
		return false;
	return tracer ? is_tracer_process(tracer) : ++*tries < SEIZE_TRIES;
}

static int seize(struct ptrace_source *ptrace, pid_t pid)
{
	const struct timespec nap = {.tv_nsec = SEIZE_NAP_NS};
	uint64_t until_ns = clock_now_ns() + SEIZE_WAIT_NS;
	int tries = 0, code = tracer_process_ask(&ptrace->tracer_process, REQUEST_SEIZE, pid);

	while (is_leaving(pid, code, &tries) && clock_now_ns() < until_ns) {
		nanosleep(&nap, NULL);
		code = tracer_process_ask(&ptrace->tracer_process, REQUEST_SEIZE, pid);
	}
	return code;
}

static int enter(struct ptrace_source *ptrace, pid_t pid, struct traced_process **ret_process,
		 struct error *err)
{
	int code = seize(ptrace, pid);

	if (code)
		return ptrace_refuse(pid, code, err);
	if (!processes_new(&ptrace->common, pid, ret_process))
		return 0;
	tracer_process_ask(&ptrace->tracer_process, REQUEST_FORGET, pid);
	return error_set(err, -ENOMEM, "out of memory");
}

static void forget(struct ptrace_source *ptrace, struct traced_process *process)
{
	tracer_process_ask(&ptrace->tracer_process, REQUEST_FORGET, process->pid);
	processes_remove(&ptrace->common, process);
}

static int ptrace_attach(struct source *source, pid_t pid, struct error *err)
{
	struct ptrace_source *ptrace = ptrace_of(source);
	struct traced_process *process;
	int code;

	code = enter(ptrace, pid, &process, err);
	if (code)
		return code;
	code = traced_process_attach(process, err);
	if (!code) {
		code = place_in_mappings(ptrace, process);
		if (code)
			error_set(err, code, "%s", strerror(-code));
	}
	if (code)
		forget(ptrace, process);
	return code;
}

static int ptrace_attach_launch(struct source *source, pid_t pid, const char *program,
				char *const *command, char *const *environment, struct error *err)
{
	struct ptrace_source *ptrace = ptrace_of(source);
	struct traced_process *process;
	int code = enter(ptrace, pid, &process, err);

	if (code)
		return code;
	code = traced_process_attach_launch(process, program, command, environment, err);
	if (code)
		forget(ptrace, process);
	return code;
}

static int ptrace_attach_all(struct source *source, struct error *err)
{
	(void)source;
	return error_set(err, -EOPNOTSUPP,
			 "tracing the whole system needs BPF; ptrace cannot do it");
}

static int ptrace_fd(const struct source *source)
{
	return ((const struct ptrace_source *)source)->tracer_process.shared.bell;
}

/* Without its tracer process, the trace is over. */
static int check_tracer_process(const struct ptrace_source *ptrace)
{
	char byte;

	if (ptrace->tracer_process.detached)
		return 0;
	return recv(ptrace->tracer_process.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) ? 0 : -EPIPE;
}

/* Also holds children, once their fork record is delivered. */
static int family_arrived(void *ctx, const void *data, size_t size)
{
	struct ptrace_source *ptrace = ctx;
	const struct record_head *head = data;
	int err = record_arrived(&ptrace->common, data, size);

	if (head->kind == RECORD_FORK)
		holds_child_created(&ptrace->holds,
				    (pid_t)((const struct record_fork *)data)->parent,
				    (pid_t)head->pid);
	if (head->kind == RECORD_EXIT || head->kind == RECORD_LEAVE)
		holds_over(&ptrace->holds, (pid_t)head->pid);
	return err;
}

static int ptrace_drain(struct source *source)
{
	struct ptrace_source *ptrace = ptrace_of(source);
	int gone = check_tracer_process(ptrace);
	int err = ring_read(&ptrace->tracer_process.shared.ring, family_arrived, ptrace);

	return err ? err : gone;
}

static int ptrace_deliver_losses(struct source *source)
{
	struct ptrace_source *ptrace = ptrace_of(source);
	const uint64_t *losses = ptrace->tracer_process.shared.mailbox->items.losses;
	int err = 0;

	for (size_t i = 0;
	     !err && !ptrace->tracer_process.detached && i < ptrace->common.process_count; i++) {
		struct traced_process *process = ptrace->common.processes[i];
		uint64_t counted[LOSS_COUNT] = {0};

		if (!tracer_process_ask(&ptrace->tracer_process, REQUEST_LOSSES, process->pid))
			memcpy(counted, losses, sizeof(counted));
		err = processes_deliver_losses(process, counted);
	}
	return err;
}

static uint32_t ptrace_live(const struct source *source)
{
	return (uint32_t)((const struct ptrace_source *)source)->common.process_count;
}

static void ptrace_detach(struct source *source)
{
	struct ptrace_source *ptrace = ptrace_of(source);

	ptrace_deliver_losses(source);
	tracer_process_ask(&ptrace->tracer_process, REQUEST_DETACH, 0);
}

static void ptrace_close(struct source *source)
{
	struct ptrace_source *ptrace = source ? ptrace_of(source) : NULL;

	if (!ptrace)
		return;
	while (ptrace->common.process_count)
		processes_remove(&ptrace->common,
				 ptrace->common.processes[ptrace->common.process_count - 1]);
	free(ptrace->common.processes);
	map64_free(&ptrace->common.index_of_pid);
	map64_free(&ptrace->prober.allocators);
	unwind_tables_free(ptrace->common.tables);
	holds_free(&ptrace->holds);
	tracer_process_end(&ptrace->tracer_process);
	free(ptrace);
}

static int start(struct ptrace_source *ptrace, struct error *err)
{
	const struct source_config *config = &ptrace->common.config;
	const struct tracer_process_config tracer_process = {
		.depth = config->stack == STACK_NONE ? 0 : config->depth,
		.by_tables = config->stack == STACK_AUTO || config->stack == STACK_CFI,
		.sanity = config->sanity,
		.alloc_filter = config->alloc_filter,
		.follows = config->scope == SCOPE_FAMILY,
		.holds_exits = config->holds_exits,
	};
	const struct shared *shared = &ptrace->tracer_process.shared;
	int code = tracer_process_start(&ptrace->tracer_process, &tracer_process,
					ring_size(config->buffer_bytes));

	if (!code && tracer_process.depth && tracer_process.by_tables)
		code = unwind_tables_new_at(shared->rows, SHARED_ROWS, shared->pages, SHARED_PAGES,
					    config->parser, NULL, &ptrace->common.tables);
	return code ? error_set_errno(err, code, "cannot start the tracer process") : 0;
}

static int ptrace_open(struct source **ret_source, const struct source_config *config,
		       struct error *err)
{
	struct ptrace_source *ptrace;
	int code;

	if (config->scope == SCOPE_SYSTEM)
		return ptrace_attach_all(NULL, err);
	ptrace = calloc(1, sizeof(*ptrace));
	if (!ptrace)
		return error_set_errno(err, -ENOMEM, "cannot start tracing");
	ptrace->common.source.ops = source_ptrace();
	ptrace->common.config = *config;
	ptrace->common.probe_ops = &ptrace_probe_ops;
	ptrace->common.prober = &ptrace->prober;
	ptrace->common.held = ptrace_held;
	code = start(ptrace, err);
	if (code) {
		ptrace_close(&ptrace->common.source);
		return code;
	}
	*ret_source = &ptrace->common.source;
	return 0;
}

const struct source_ops *source_ptrace(void)
{
	static const struct source_ops ops = {
		.name = "ptrace",
		.open = ptrace_open,
		.attach = ptrace_attach,
		.attach_launch = ptrace_attach_launch,
		.attach_all = ptrace_attach_all,
		.fd = ptrace_fd,
		.drain = ptrace_drain,
		.deliver_losses = ptrace_deliver_losses,
		.hold = ptrace_hold,
		.live = ptrace_live,
		.detach = ptrace_detach,
		.close = ptrace_close,
	};

	return &ops;
}
