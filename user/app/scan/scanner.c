// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/scan/scanner.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/scan/leak_scan.h"
#include "base/log.h"
#include "model/update/scan.h"

struct scanned {
	pid_t pid;
	struct holder *holder; /* NULL: its exit is not watched, or has happened */
	bool done;             /* the last scan is done */
};

static const struct options *options_of(const struct scanner *scanner)
{
	return scanner->session->report.options;
}

static struct process *process_of(const struct scanner *scanner, pid_t pid)
{
	const struct model *model = scanner->session->model;

	return model ? model_process(model, (uint32_t)pid) : NULL;
}

/* A failed scan is reported, and the trace continues. */
static void scan_one(const struct scanner *scanner, const struct scanned *scanned, bool live)
{
	struct leak_scan scan = {.session = scanner->session,
				 .pid = scanned->pid,
				 .holder = scanned->holder,
				 .live = live,
				 .read_swapped = options_of(scanner)->scan_swapped,
				 .step = options_of(scanner)->align};
	struct error err;
	int code = leak_scan_run(&scan, &err);

	if (code && code != -ESRCH)
		log_warn("no leak scan: %s", err.text);
}

static struct holder *holder_of(const struct scanner *scanner, pid_t pid)
{
	struct scanned *const *scanned;

	vec_each (scanned, &scanner->processes)
		if ((*scanned)->pid == pid)
			return (*scanned)->holder;
	return NULL;
}

static int scan_ordered(const struct scanner *scanner, const struct scan_order *order, pid_t pid,
			struct error *err)
{
	struct holder *holder = holder_of(scanner, pid);
	bool held = holder && holder->ops->at_end(holder);
	struct leak_scan scan = {.session = scanner->session,
				 .pid = pid,
				 .holder = holder,
				 .live = order->live && !held,
				 .read_swapped = options_of(scanner)->scan_swapped,
				 .given_up = order->given_up,
				 .ctx = order->ctx,
				 .step = options_of(scanner)->align};

	return leak_scan_run(&scan, err);
}

/* A process that has just exited does not keep the others from being scanned. */
static int scan_all(const struct scanner *scanner, const struct scan_order *order,
		    size_t *ret_scans, struct error *err)
{
	struct error reason;
	uint32_t *pids;
	size_t count;
	int code = model_pids(scanner->session->model, &pids, &count), failed;

	if (code)
		return error_set(err, code, "out of memory");
	for (size_t i = 0; i < count && code != -ECANCELED; i++) {
		failed = scan_ordered(scanner, order, (pid_t)pids[i], &reason);
		*ret_scans += !failed;
		if (failed == -ECANCELED || (failed && failed != -ESRCH && !code)) {
			*err = reason;
			code = failed;
		}
	}
	free(pids);
	return code;
}

int scanner_scan(struct scanner *scanner, const struct scan_order *order, size_t *ret_scans,
		 struct error *err)
{
	int code;

	*ret_scans = 0;
	if (!order->pid)
		return scan_all(scanner, order, ret_scans, err);
	code = scan_ordered(scanner, order, order->pid, err);
	*ret_scans = !code;
	return code;
}

static int add(struct scanner *scanner, pid_t pid, struct holder *holder,
	       struct scanned **ret_scanned)
{
	struct scanned *scanned = calloc(1, sizeof(*scanned));

	if (!scanned || vec_push(&scanner->processes, scanned)) {
		log_warn("no leak scan of %d: out of memory", (int)pid);
		free(scanned);
		return -ENOMEM;
	}
	*scanned = (struct scanned){.pid = pid, .holder = holder};
	*ret_scanned = scanned;
	return 0;
}

static void add_children(struct scanner *scanner, struct holder *holder)
{
	struct scanned *scanned;
	struct holder *child;
	pid_t pid;

	while (holder && (child = holder->ops->child(holder, &pid)))
		if (add(scanner, pid, child, &scanned))
			child->ops->close(child);
}

/* Adds its children before it is forgotten. */
static void unwatch(struct scanner *scanner, struct scanned *scanned)
{
	if (!scanned->holder)
		return;
	add_children(scanner, scanned->holder);
	scanned->holder->ops->close(scanned->holder);
	scanned->holder = NULL;
}

static bool is_at_end(const struct scanned *scanned)
{
	return scanned->holder && scanned->holder->ops->at_end(scanned->holder);
}

/*
 * If the process is held at exit, runs the last scan and lets it go. Also handles one that is gone.
 */
static void end_one(struct scanner *scanner, struct scanned *scanned)
{
	bool held = is_at_end(scanned);

	if (!held && !(scanned->holder && scanned->holder->ops->is_over(scanned->holder)))
		return;
	if (held)
		scan_one(scanner, scanned, false);
	scanned->done = true;
	unwatch(scanner, scanned);
}

static void forget_done(struct scanner *scanner)
{
	size_t kept = 0;

	for (size_t i = 0; i < scanner->processes.count; i++) {
		struct scanned *scanned = scanner->processes.items[i];

		if (scanned->done)
			free(scanned);
		else
			scanner->processes.items[kept++] = scanned;
	}
	scanner->processes.count = kept;
}

/* The list grows while it is walked. */
static void add_all_children(struct scanner *scanner)
{
	for (size_t i = 0; i < scanner->processes.count; i++)
		add_children(scanner, scanner->processes.items[i]->holder);
}

static void on_event(void *ctx, uint32_t what)
{
	struct scanner *scanner = ctx;
	uint64_t count;

	(void)what;
	if (read(scanner->event, &count, sizeof(count)) < 0)
		return;
	add_all_children(scanner);
	for (size_t i = 0; i < scanner->processes.count; i++)
		end_one(scanner, scanner->processes.items[i]);
	forget_done(scanner);
}

static bool is_listed(const struct scanner *scanner, pid_t pid)
{
	struct scanned *const *scanned;

	vec_each (scanned, &scanner->processes)
		if ((*scanned)->pid == pid)
			return true;
	return false;
}

/* Scans the running processes whose exit is not watched: with --system-wide, and children. */
static void scan_others(const struct scanner *scanner, bool live)
{
	uint32_t *pids;
	size_t count;

	if (model_pids(scanner->session->model, &pids, &count)) {
		log_warn("no leak scan: out of memory");
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (!is_listed(scanner, (pid_t)pids[i]))
			scan_one(scanner, &(struct scanned){.pid = (pid_t)pids[i]}, live);
	free(pids);
}

static void on_time(void *ctx, uint32_t what)
{
	struct scanner *scanner = ctx;
	struct scanned **scanned;
	bool live;

	(void)what;
	if (!scanner->session)
		return; /* closed */
	live = options_of(scanner)->scan_mode != SCAN_MODE_STOP;
	add_all_children(scanner);
	scan_others(scanner, live);
	vec_each (scanned, &scanner->processes)
		if (!(*scanned)->done && !is_at_end(*scanned))
			scan_one(scanner, *scanned, live);
}

int scanner_open(struct scanner *scanner, struct session *session, struct loop *loop,
		 struct error *err)
{
	uint64_t every_ns = session->report.options->scan_every_ns;
	int code;

	*scanner = (struct scanner){.session = session, .loop = loop};
	scanner->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	code = scanner->event < 0 ? -errno
				  : loop_add_fd(loop, scanner->event, EPOLLIN, on_event, scanner,
						&scanner->on_event);
	if (!code && every_ns)
		code = loop_add_timer(loop, every_ns, every_ns, on_time, scanner, NULL);
	return code ? error_set_errno(err, code, "cannot set up leak scans") : 0;
}

static void explain_missing(const struct scanner *scanner, pid_t pid, const struct error *err)
{
	struct process *process = process_of(scanner, pid);

	log_warn("no leak scan when %d ends: %s", (int)pid, err->text);
	if (!process)
		return;
	(void)scan_update_fail(process, err->text);
	session_record_scan(scanner->session, process);
}

void scanner_add(struct scanner *scanner, pid_t pid, enum hold_from from)
{
	const struct hold_request request = {.pid = pid,
					     .from = options_of(scanner)->scan ? from : HOLD_NEVER,
					     .family = options_of(scanner)->follow,
					     .event = scanner->event};
	struct scanned *scanned;
	struct error err;

	if (!add(scanner, pid, NULL, &scanned) &&
	    session_hold(scanner->session, &request, &scanned->holder, &err))
		explain_missing(scanner, pid, &err);
}

void scanner_finish(struct scanner *scanner)
{
	const struct options *options = scanner->session ? options_of(scanner) : NULL;
	enum scan_mode mode = options ? options->scan_mode : SCAN_MODE_AUTO;

	if (!options)
		return;
	add_all_children(scanner);
	if (options->scan)
		scan_others(scanner,
			    mode == SCAN_MODE_LIVE || (mode == SCAN_MODE_AUTO && options->system));
	for (size_t i = 0; i < scanner->processes.count; i++) {
		struct scanned *scanned = scanner->processes.items[i];
		bool live = mode == SCAN_MODE_LIVE && !is_at_end(scanned);

		add_children(scanner, scanned->holder);
		if (options->scan && !scanned->done && process_of(scanner, scanned->pid))
			scan_one(scanner, scanned, live);
		unwatch(scanner, scanned);
	}
}

void scanner_close(struct scanner *scanner)
{
	if (!scanner->session)
		return;
	for (size_t i = 0; i < scanner->processes.count; i++) {
		unwatch(scanner, scanner->processes.items[i]);
		free(scanner->processes.items[i]);
	}
	vec_free(&scanner->processes);
	loop_remove(scanner->loop, scanner->on_event);
	close(scanner->event);
	*scanner = (struct scanner){0};
}
