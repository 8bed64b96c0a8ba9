/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/terminal/output.h"
#include "os/file/descriptors.h"
#include "base/log.h"
#include "base/units.h"
#include "os/memory/limit.h"
#include "os/process/pid_namespace.h"
#include "os/process/proc.h"
#include "os/ptrace/exit_watch.h"
#include "parser/client/prefetch.h"
#include "source/backends.h"
#include "symbol/elf/module_table.h"

/* With a live model, a failed recording is not fatal. */
static int record_result(struct session *session, int code)
{
	if (!code || session->record_failed)
		return session->model ? 0 : code;
	session->record_failed = true;
	log_error("%s; the recording ends there", recorder_failure(session->recorder)->text);
	return session->model ? 0 : code;
}

static int record_event(struct session *session, const struct event *event)
{
	int code;

	if (session->record_ended)
		return 0;
	code = session->serve ? serve_event(session->serve, session->recorder, event)
			      : recorder_event(session->recorder, event);

	return code ? record_result(session, code) : 0;
}

static int session_deliver(void *ctx, const struct event *event)
{
	struct session *session = ctx;
	int code = session->recorder ? record_event(session, event) : 0;

	if (code || !session->model)
		return code;
	/*
	 * The source may report losses for a launched program before the model knows it; ignore
	 * those.
	 */
	if (event->kind == EVENT_LOSSES && !model_process(session->model, event->pid))
		return 0;
	return model_event(session->model, event);
}

/* Writing a report can take a while: keep draining so that the ring buffer does not overflow. */
static void session_keep_up(void *ctx)
{
	session_drain(ctx);
}

static int open_model(struct session *session, const struct options *options)
{
	struct parser_config parser = {.debuginfod = options->debuginfod};
	int code = parser_start(&session->parser, &parser);

	session->room.max_memory = options->max_memory;
	session->model_config = (struct model_config){
		.apis = options->apis,
		.wrappers = !options->no_cpp,
		.sanity = options->sanity,
		.omits = options->omit.count > 0 && options->omit.items[0],
		.scans = options->scan || options->scan_every_ns,
		.lists_blocks = report_wants_blocks(options),
		.exits_unseen = options->system,
		.page_size = (uint64_t)sysconf(_SC_PAGESIZE),
		.sample = options->alloc_filter.sample,
		.min_size = options->alloc_filter.min_size,
		.max_size = options->alloc_filter.max_size,
	};
	if (!code)
		code = module_table_new(&session->modules);
	if (!code)
		module_table_set_reader(session->modules, (struct module_reader){
								  parser_read_module,
								  session->parser,
							  });
	if (!code && options->keeps_model)
		code = model_new(&session->model, &session->model_config);
	return code;
}

/*
 * Returns true if only BPF is unavailable, rather than something that ptrace lacks as well. With
 * ptrace, programs always wait at exec.
 */
static bool may_use_ptrace(const struct source_config *config, int code)
{
	static const int codes[] = {EPERM, EACCES, ENOSYS, EOPNOTSUPP, EINVAL, E2BIG};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (code == -codes[i])
			return config->scope != SCOPE_SYSTEM;
	return false;
}

/* Enough to start, and to trace a program with a few libraries. */
#define BPF_DESCRIPTORS    72
#define PTRACE_DESCRIPTORS 24

/*
 * Checks what both backends need. With too few descriptors, libbpf finds features missing, and
 * fails with misleading errors.
 */
static int check_needs(enum backend backend, struct error *err)
{
	uint32_t namespace;
	int code = pid_namespace_find(&namespace, err);

	return code ? code
		    : descriptors_check(backend == BACKEND_PTRACE ? PTRACE_DESCRIPTORS
								  : BPF_DESCRIPTORS,
					err);
}

/* Falls back to ptrace, which does the same at a higher cost per call. Remembers why. */
static int backend_open(struct session *session, const struct source_config *config,
			enum backend backend, struct error *err)
{
	int code = check_needs(backend, err);

	if (code)
		return code;
	if (backend == BACKEND_PTRACE)
		return source_backend(BACKEND_PTRACE)->open(&session->source, config, err);
	if (!source_backend(BACKEND_BPF)->open(&session->source, config, err))
		return 0;
	if (backend == BACKEND_BPF || config->must_measure || !may_use_ptrace(config, err->code))
		return err->code;
	session->fallback = *err;
	return source_backend(BACKEND_PTRACE)->open(&session->source, config, err);
}

/* Warn only after the attach succeeded; a failed attach prints its own error. */
static int log_fallback(struct session *session, int code)
{
	if (code || !session->fallback.code)
		return code;
	log_warn("tracing by ptrace because BPF cannot be used: %s", session->fallback.text);
	session->fallback.code = 0;
	return 0;
}

/* The requested size, or the default if there is enough memory for it. */
static uint64_t buffer_bytes(const struct options *options)
{
	uint64_t bytes = BUFFER_DEFAULT, limit = memory_limit();

	if (options->buffer_bytes)
		return options->buffer_bytes;
	while (bytes > BUFFER_MIN && bytes > limit / BUFFER_SHARE)
		bytes /= 2;
	return bytes;
}

/*
 * Who attaches to a service did not expect it to become slower, so the cost is measured once; who
 * launches a program to trace it did. A line in the middle of a shell's prompt helps nobody.
 */
static bool measures_start(const struct options *options)
{
	return options->abort_over_ppm ||
	       (options->pids.count && !options->quiet && !options->interactive);
}

static int source_open(struct session *session, const struct options *options, struct error *err)
{
	bool must_measure = options->max_overhead_ppm || options->abort_over_ppm;
	struct source_config config = {
		.modules = session->modules,
		.parser = session->parser,
		.apis = options->apis,
		.stack = options->stack,
		.depth = options->depth,
		.buffer_bytes = buffer_bytes(options),
		.omit = options->omit.items,
		.allocators = options->allocators.items,
		.hold_exec = options->hold_exec,
		.sanity = options->sanity,
		.alloc_filter = options->alloc_filter,
		.gates = options->gates,
		.measures = options->verbose || must_measure || measures_start(options),
		.must_measure = must_measure,
		.holds_exits = options->scan,
		.pairing = options->pairing,
		.scope = options->system   ? SCOPE_SYSTEM
			 : options->follow ? SCOPE_FAMILY
					   : SCOPE_NAMED,
		.selected = &session->selected,
		.deliver = session_deliver,
		.ctx = session,
	};

	session->measures = options->verbose || options->max_overhead_ppm;
	session->measures_start = measures_start(options);
	return backend_open(session, &config, options->backend, err);
}

void session_init(struct session *session, const struct options *options, int standard_fd,
		  pid_t first_pid)
{
	*session = (struct session){
		.report =
			{
				.options = options,
				.standard_fd = standard_fd,
				.pid = first_pid,
				.keep_up = session_keep_up,
				.ctx = session,
			},
	};
}

int session_record(struct session *session, struct loop *loop, struct error *err)
{
	const struct options *options = session->report.options;
	char *path;
	int code;

	if (options->serve)
		return serve_open(&session->serve, options, loop, &session->recorder, err);
	if (!options->record)
		return 0;
	path = output_path(options->record, session->report.pid, 1);
	if (!path)
		return error_set(err, -ENOMEM, "out of memory");
	code = recorder_open(&session->recorder, path, options->output_mode, err);
	free(path);
	return code;
}

static void recording_describe(struct session *session)
{
	if (session->recorder)
		recorder_describe(session->recorder, &(struct recorder_config){
							     .modules = session->modules,
							     .model_config = &session->model_config,
							     .backend = session->source->ops->name,
						     });
}

int session_open(struct session *session, struct error *err)
{
	const struct options *options = session->report.options;
	int code = open_model(session, options);
	const pid_t *pid;

	if (code)
		return error_set_errno(err, code, "cannot create the model");
	vec_each (pid, &options->pids) /* while the verifier checks our programs */
		parser_prefetch_process(session->parser, *pid);
	code = selection_make(&options->select, &session->selected, err);
	if (!code)
		code = source_open(session, options, err);
	if (!code)
		code = parser_check(session->parser, err);
	if (code)
		return code;
	session->report.modules = session->modules;
	session->report.parser = session->parser;
	session->report.backend = session->source->ops->name;
	recording_describe(session);
	return 0;
}

void session_close(struct session *session)
{
	if (session->source)
		session->source->ops->close(session->source);
	recorder_close(session->recorder);
	serve_close(session->serve);
	model_free(session->model);
	module_table_free(session->modules);
	parser_stop(session->parser);
	selection_free(&session->selected);
	period_free(&session->period);
	retention_free(&session->kept);
	*session = (struct session){0};
}

int session_attach(struct session *session, pid_t pid, struct error *err)
{
	return log_fallback(session, session->source->ops->attach(session->source, pid, err));
}

void session_attached(struct session *session)
{
	parser_prefetch_end(session->parser);
}

int session_attach_all(struct session *session, struct error *err)
{
	return session->source->ops->attach_all(session->source, err);
}

static int watch_start(const struct hold_request *request, struct holder **ret_holder,
		       struct error *err)
{
	struct exit_watch *watch;
	int code = exit_watch_start(&watch, request, err);

	if (!code)
		*ret_holder = exit_watch_holder(watch);
	return code;
}

int session_hold(struct session *session, const struct hold_request *request,
		 struct holder **ret_holder, struct error *err)
{
	struct source *source = session->source;

	*ret_holder = NULL;
	if (source->ops->hold)
		return source->ops->hold(source, request, ret_holder, err);
	return request->from == HOLD_NEVER ? 0 : watch_start(request, ret_holder, err);
}

int session_attach_launch(struct session *session, pid_t pid, const char *program,
			  char *const *command, struct error *err)
{
	return log_fallback(session, session->source->ops->attach_launch(
					     session->source, pid, program, command, environ, err));
}

int session_fd(const struct session *session)
{
	return session->source->ops->fd(session->source);
}

int session_hold_fd(const struct session *session)
{
	const struct source_ops *ops = session->source->ops;

	return ops->hold_fd ? ops->hold_fd(session->source) : -1;
}

int session_drain(struct session *session)
{
	if (!session->failure)
		session->failure = session->source->ops->drain(session->source);
	if (session->model)
		room_measure(&session->room, session->model);
	if (!session->failure && session->recorder && !session->record_ended)
		session->failure = record_result(session, recorder_flush(session->recorder, false));
	return session->failure;
}

uint32_t session_live(const struct session *session)
{
	return session->source->ops->live(session->source);
}

bool session_ring_peak(struct session *session, uint64_t *ret_ppm)
{
	const struct source_ops *ops = session->source->ops;

	if (ops->ring_peak)
		*ret_ppm = ops->ring_peak(session->source);
	return ops->ring_peak != NULL;
}

int session_update_losses(struct session *session)
{
	return session->source->ops->deliver_losses(session->source);
}

static int take_snapshot(const struct session *session, struct snapshot **ret_snapshot)
{
	const struct remote_state *remote_state = session->remote_state;
	int code = model_snapshot(
		session->model, remote_state ? remote_state->now_ns : clock_now_ns(), ret_snapshot);

	if (!code) {
		(*ret_snapshot)->tool.resident_bytes = own_resident_bytes();
		(*ret_snapshot)->tool.max_bytes = session->room.max_memory;
		(*ret_snapshot)->overhead = session->overhead;
	}
	if (code || !remote_state)
		return code;
	(*ret_snapshot)->incomplete = remote_state->incomplete;
	if (remote_state->taken_at_ms) {
		(*ret_snapshot)->taken_at = (int64_t)(remote_state->taken_at_ms / 1000);
		(*ret_snapshot)->taken_at_ms = (uint32_t)(remote_state->taken_at_ms % 1000);
	}
	return 0;
}

static void log_memory(const struct snapshot *snapshot)
{
	char resident[UNITS_TEXT_SIZE], model[UNITS_TEXT_SIZE];

	log_info("report: mtrace-bpf uses %s of memory, %s of it for the model%s",
		 bytes_format(snapshot->tool.resident_bytes, resident),
		 bytes_format(snapshot->tool.model_bytes, model),
		 snapshot->tool.without_series ? "; too many sites to watch them all for growth"
					       : "");
}

static void log_overhead(const struct snapshot *snapshot)
{
	const struct snapshot_overhead *overhead = &snapshot->overhead;

	if (overhead->measured)
		log_info(
			"report: tracing took %.1f%% of the traced processes' CPU time in the last "
			"measurement, %.1f%% in BPF programs",
			(double)overhead->cost_ppm / 1e4, (double)overhead->program_ppm / 1e4);
}

static int write_report(struct session *session, struct snapshot *snapshot, struct error *err)
{
	int code = period_compare(&session->period, snapshot);

	if (!code)
		code = period_remember(&session->period, snapshot);
	if (code)
		return error_set_errno(err, code, "cannot make the report");
	log_memory(snapshot);
	log_overhead(snapshot);
	session->report.kept = &session->kept;
	return report_write(&session->report, snapshot, err);
}

static int report_model(struct session *session, bool write, struct error *err)
{
	struct snapshot *snapshot;
	int code = take_snapshot(session, &snapshot);

	if (code)
		return error_set_errno(err, code, "cannot make the report");
	session->taken_ns = snapshot->taken_ns;
	session->taken_at_ms = (uint64_t)snapshot->taken_at * 1000 + snapshot->taken_at_ms;
	session->report.number += write;
	if (write)
		code = write_report(session, snapshot, err);
	else if (session->report.options->suppressions)
		code = report_prepare(&session->report, snapshot);
	session->leaks = report_leaks(snapshot, session->report.options->leak_kinds);
	session->errors = report_errors(snapshot);
	snapshot_free(snapshot);
	return code;
}

void session_record_scan(struct session *session, const struct process *process)
{
	if (session->recorder)
		record_result(session, recorder_scan(session->recorder, process));
}

/* Sends all events to the server, so that its model includes them. */
static void record_meanwhile(void *ctx)
{
	struct session *session = ctx;

	session_drain(session);
	record_result(session, recorder_flush(session->recorder, true));
}

int session_need_model(struct session *session, struct error *err)
{
	if (session->model)
		return 0;
	if (!session->serve)
		return error_set(err, -ENODATA, "no model: tracing is only recorded");
	record_meanwhile(session);
	return serve_model(session->serve, &session->model_config, record_meanwhile, session,
			   &session->model, err);
}

void session_record_scanned(struct session *session, const struct stream_scanned *scanned)
{
	if (session->recorder && !session->record_ended &&
	    !record_result(session, recorder_scanned(session->recorder, scanned)))
		record_result(session, recorder_flush(session->recorder, true));
}

int session_snapshot(struct session *session, struct snapshot **ret_snapshot, struct error *err)
{
	int code = session_update_losses(session);

	if (!code)
		code = take_snapshot(session, ret_snapshot);
	return code ? error_set_errno(err, code, "cannot make the report") : 0;
}

static int session_conclude(struct session *session, bool write, struct error *err)
{
	int code = session_update_losses(session);

	if (code)
		return session->record_failed
			       ? 0
			       : error_set_errno(err, code, "cannot make the report");
	if (session->recorder && !session->record_ended)
		record_result(session, recorder_flush(session->recorder, true));
	return session->model ? report_model(session, write, err) : 0;
}

int session_report(struct session *session, struct error *err)
{
	return session_conclude(session, true, err);
}

int session_evaluate(struct session *session, struct error *err)
{
	return session_conclude(session, false, err);
}

void session_detach(struct session *session)
{
	session_drain(session);
	if (session->recorder)
		record_result(session, recorder_unprobed(session->recorder));
	if (session->model)
		model_unprobe(session->model);
	session->source->ops->detach(session->source);
	session_drain(session);
}

int session_end_recording(struct session *session)
{
	char text[RECORDER_TEXT_SIZE];
	struct error err;
	int code;

	if (!session->recorder)
		return 0;
	if (!session->taken_ns) {
		session->taken_ns = clock_now_ns();
		session->taken_at_ms = clock_epoch_ms();
	}
	code = recorder_finish(session->recorder, session->taken_ns, session->taken_at_ms,
			       session->failure ? strerror(-session->failure) : NULL, &err);
	if (!code)
		log_warn("%s %s", session->serve ? "served" : "recorded",
			 recorder_text(session->recorder, text));
	else if (!session->record_failed)
		log_error("%s; the recording is incomplete", err.text);
	session->record_failed |= code != 0;
	session->record_ended = true;
	return code;
}
