// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/scanner.h"

#include <errno.h>
#include <sys/epoll.h>

#include "app/leak_scan.h"
#include "base/log.h"
#include "model/scan_book.h"

struct scanned {
	struct scanner *scanner;
	pid_t pid;
	struct exit_watch *watch; /* NULL: its end is not watched, or has come */
	struct loop_watch *at_end;
	bool done; /* by the last scan */
};

static const struct options *options_of(const struct scanner *scanner)
{
	return scanner->session->report.options;
}

/* A scan that cannot be made is told, and the trace goes on. */
static void scan_one(struct scanned *scanned, bool live)
{
	struct leak_scan scan = {.session = scanned->scanner->session,
				 .pid = scanned->pid,
				 .watch = scanned->watch,
				 .live = live,
				 .read_swapped = options_of(scanned->scanner)->scan_swapped,
				 .step = options_of(scanned->scanner)->align};
	struct error err;
	int code = leak_scan_run(&scan, &err);

	if (code && code != -ESRCH)
		log_warn("no leak scan: %s", err.text);
}

static void unwatch(struct scanned *scanned)
{
	loop_remove(scanned->scanner->loop, scanned->at_end);
	exit_watch_close(scanned->watch);
	scanned->at_end = NULL;
	scanned->watch = NULL;
}

/* It is held at its end; the last scan, and it may go. */
static void on_end(void *ctx, uint32_t what)
{
	struct scanned *scanned = ctx;

	(void)what;
	scan_one(scanned, false);
	scanned->done = true;
	unwatch(scanned);
}

static bool is_at_end(const struct scanned *scanned)
{
	return scanned->watch && exit_watch_at_end(scanned->watch);
}

static void on_time(void *ctx, uint32_t what)
{
	const struct scanner *scanner = ctx;
	bool live = options_of(scanner)->scan_mode != SCAN_MODE_STOP;
	struct scanned **scanned;

	(void)what;
	vec_each (scanned, &scanner->processes)
		if (!(*scanned)->done && !is_at_end(*scanned))
			scan_one(*scanned, live);
}

int scanner_open(struct scanner *scanner, struct session *session, struct loop *loop,
		 struct error *err)
{
	uint64_t every_ns = session->report.options->scan_every_ns;
	int code;

	*scanner = (struct scanner){.session = session, .loop = loop};
	if (!every_ns)
		return 0;
	code = loop_add_timer(loop, every_ns, every_ns, on_time, scanner, NULL);
	return code ? error_set_errno(err, code, "no timer for scans") : 0;
}

static void explain_missing(const struct scanned *scanned, const struct error *err)
{
	struct process *books =
		model_process(scanned->scanner->session->model, (uint32_t)scanned->pid);

	log_warn("no leak scan when %d ends: %s", (int)scanned->pid, err->text);
	if (books)
		(void)scan_book_fail(books, err->text);
}

static int watch_end(struct scanned *scanned, enum exit_watch_from from, struct error *err)
{
	int code = exit_watch_start(&scanned->watch, scanned->pid, from, err);

	if (code)
		return code;
	code = loop_add_fd(scanned->scanner->loop, exit_watch_fd(scanned->watch), EPOLLIN, on_end,
			   scanned, &scanned->at_end);
	if (!code)
		return 0;
	unwatch(scanned);
	return error_set_errno(err, code, "cannot watch %d", (int)scanned->pid);
}

void scanner_add(struct scanner *scanner, pid_t pid, enum exit_watch_from from)
{
	struct scanned *scanned = calloc(1, sizeof(*scanned));
	struct error err;

	if (!scanned || vec_push(&scanner->processes, scanned)) {
		log_warn("no leak scan of %d: out of memory", (int)pid);
		free(scanned);
		return;
	}
	scanned->scanner = scanner;
	scanned->pid = pid;
	if (options_of(scanner)->scan && watch_end(scanned, from, &err))
		explain_missing(scanned, &err);
}

static bool is_alive(const struct scanned *scanned)
{
	return model_process(scanned->scanner->session->model, (uint32_t)scanned->pid);
}

void scanner_finish(struct scanner *scanner)
{
	const struct options *options = scanner->session ? options_of(scanner) : NULL;
	struct scanned **scanned;

	vec_each (scanned, &scanner->processes) {
		if (options->scan && !(*scanned)->done && is_alive(*scanned))
			scan_one(*scanned,
				 options->scan_mode == SCAN_MODE_LIVE && !is_at_end(*scanned));
		unwatch(*scanned);
	}
}

void scanner_close(struct scanner *scanner)
{
	struct scanned **scanned;

	vec_each (scanned, &scanner->processes) {
		unwatch(*scanned);
		free(*scanned);
	}
	vec_free(&scanner->processes);
}
