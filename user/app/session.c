/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/session.h"

#include <errno.h>
#include <unistd.h>

#include "os/proc.h"

static int session_deliver(void *ctx, const struct event *event)
{
	struct session *session = ctx;

	return model_event(session->model, event);
}

/* A report takes its time; the ring buffer shall not run over meanwhile. */
static void session_keep_up(void *ctx)
{
	session_drain(ctx);
}

static int books_open(struct session *session, const struct options *options)
{
	struct parser_config parser = {.debuginfod = options->debuginfod};
	struct model_config model = {.apis = options->apis,
				     .wrappers = !options->no_cpp,
				     .sanity = options->sanity,
				     .omits = options->omit.count > 0 && options->omit.items[0],
				     .scans = options->scan || options->scan_every_ns,
				     .page_size = (uint64_t)sysconf(_SC_PAGESIZE)};
	int code = parser_start(&session->parser, &parser);

	if (!code)
		code = module_table_new(&session->modules);
	if (!code)
		module_table_set_reader(session->modules, (struct module_reader){
								  parser_read_module,
								  session->parser,
							  });
	if (!code)
		code = model_new(&session->model, &model);
	return code;
}

static int source_open(struct session *session, const struct options *options, struct error *err)
{
	struct source_config config = {
		.modules = session->modules,
		.parser = session->parser,
		.apis = options->apis,
		.stack = options->stack,
		.depth = options->depth,
		.buffer_bytes = options->buffer_bytes,
		.omit = options->omit.items,
		.allocators = options->allocators.items,
		.sanity = options->sanity,
		.pairing = options->pairing,
		.scope = options->system   ? SCOPE_SYSTEM
			 : options->follow ? SCOPE_FAMILY
					   : SCOPE_NAMED,
		.selected = &session->selected,
		.deliver = session_deliver,
		.ctx = session,
	};

	return source_bpf()->open(&session->source, &config, err);
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

int session_open(struct session *session, struct error *err)
{
	const struct options *options = session->report.options;
	int code = books_open(session, options);

	if (code)
		return error_set_errno(err, code, "no books");
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
	return 0;
}

void session_close(struct session *session)
{
	if (session->source)
		session->source->ops->close(session->source);
	model_free(session->model);
	module_table_free(session->modules);
	parser_stop(session->parser);
	selection_free(&session->selected);
	*session = (struct session){0};
}

int session_attach(struct session *session, pid_t pid, struct error *err)
{
	return session->source->ops->attach(session->source, pid, err);
}

int session_attach_all(struct session *session, struct error *err)
{
	return session->source->ops->attach_all(session->source, err);
}

int session_attach_launch(struct session *session, pid_t pid, const char *program,
			  char *const *command, struct error *err)
{
	return session->source->ops->attach_launch(session->source, pid, program, command, environ,
						   err);
}

int session_fd(const struct session *session)
{
	return session->source->ops->fd(session->source);
}

int session_drain(struct session *session)
{
	if (!session->failure)
		session->failure = session->source->ops->drain(session->source);
	return session->failure;
}

uint32_t session_live(const struct session *session)
{
	return session->source->ops->live(session->source);
}

int session_book_losses(struct session *session)
{
	return session->source->ops->tell_losses(session->source);
}

static uint64_t count_definite(const struct snapshot *snapshot)
{
	uint64_t definite = snapshot->others.sums.scan.classes[LEAK_DEFINITE].blocks;

	for (size_t i = 0; i < snapshot->process_count; i++)
		definite += snapshot->processes[i].scan.classes[LEAK_DEFINITE].blocks;
	return definite;
}

static uint64_t count_errors(const struct snapshot *snapshot)
{
	uint64_t errors = snapshot->others.sums.sanity.errors;

	for (size_t i = 0; i < snapshot->process_count; i++)
		errors += snapshot->processes[i].sanity.errors;
	return errors;
}

int session_report(struct session *session, struct error *err)
{
	struct snapshot *snapshot;
	int code;

	code = session_book_losses(session);
	if (!code)
		code = model_snapshot(session->model, clock_now_ns(), &snapshot);
	if (code)
		return error_set_errno(err, code, "cannot make the report");
	code = report_write(&session->report, snapshot, err);
	session->definite = count_definite(snapshot);
	session->errors = count_errors(snapshot);
	snapshot_free(snapshot);
	return code;
}

void session_detach(struct session *session)
{
	session_drain(session);
	model_unprobe(session->model);
	session->source->ops->detach(session->source);
	session_drain(session);
}
