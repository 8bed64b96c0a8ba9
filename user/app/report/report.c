/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/report/naming.h"
#include "app/terminal/output.h"
#include "base/log.h"

/* The file of a report, or NULL for standard output or error. */
static const char *request_file(const struct report *report, const struct format_request *request)
{
	const char *path = request->path ? request->path : report->options->output;

	return path && strcmp(path, "-") ? path : NULL;
}

/* "-" means standard output, even if a launched program makes standard error the default. */
static int request_fd(const struct report *report, const struct format_request *request)
{
	return request->path || report->options->output ? STDOUT_FILENO : report->standard_fd;
}

/* People read the top of a list; programs want all of it. */
static uint32_t request_top(const struct report *report, const struct format_request *request)
{
	if (report->options->top_given || request->format == &format_text)
		return report->options->top;
	return 0;
}

/* The most sites of each process that any report shows; 0: all. */
static uint32_t report_top(const struct report *report)
{
	const struct format_request *request;
	uint32_t most = 1;

	vec_each (request, &report->options->formats) {
		uint32_t top = request_top(report, request);

		if (!top)
			return 0;
		most = top > most ? top : most;
	}
	return most;
}

static int file_check(const struct report *report, const char *pattern, struct error *err)
{
	char *path = output_path(pattern, report->pid, report->number);
	int code;

	if (!path)
		return error_set(err, -ENOMEM, "out of memory");
	code = output_check(path, err);
	free(path);
	return code;
}

int report_check(const struct report *report, struct error *err)
{
	const struct format_request *request;

	vec_each (request, &report->options->formats) {
		const char *pattern = request_file(report, request);
		int code = pattern ? file_check(report, pattern, err)
				   : output_check_fd(request_fd(report, request), err);

		if (code)
			return code;
	}
	return 0;
}

static int request_open(const struct report *report, const struct format_request *request,
			struct output *ret_output, struct error *err)
{
	const char *pattern = request_file(report, request);
	char *path;
	int code;

	if (!pattern)
		return output_open_fd(ret_output, request_fd(report, request), err);
	path = output_path(pattern, report->pid, report->number);
	if (!path)
		return error_set(err, -ENOMEM, "out of memory");
	code = output_open(ret_output, path, report->options->output_mode, err);
	free(path);
	return code;
}

struct format_options report_format_options(const struct report *report,
					    const struct format_request *request, int fd)
{
	const struct options *options = report->options;

	return (struct format_options){
		.top = request_top(report, request),
		.worst_last = isatty(fd),
		.color = terminal_color(options->color, fd),
		.utf8 = terminal_utf8(),
		.long_frames = options->long_frames,
		.verbose = options->verbose,
		.listed = options->leak_kinds_given ? options->leak_kinds : 0,
		.width = terminal_width(fd),
		.sort = options->sort,
	};
}

/* A failure to remove an old file is no reason to fail the next reports. */
static void keep_latest(const struct report *report, const struct format_request *request)
{
	const char *pattern = request_file(report, request);
	char *path;
	int code;

	if (!report->kept || !report->options->keep || !pattern)
		return;
	path = output_path(pattern, report->pid, report->number);
	code = path ? retention_add(report->kept, path, request, report->options->keep) : -ENOMEM;
	free(path);
	if (code)
		log_warn("cannot remove an old report: %s", strerror(-code));
}

static int request_write(const struct report *report, const struct format_request *request,
			 const struct snapshot *snapshot, struct error *err)
{
	struct format_options look;
	struct output output;
	int code = request_open(report, request, &output, err);

	if (code)
		return code;
	look = report_format_options(report, request, fileno(output.stream));
	code = request->format->write(snapshot, &look, output.stream);
	if (!code) {
		code = output_commit(&output, err);
		if (!code)
			keep_latest(report, request);
		return code;
	}
	error_set_errno(err, code, "cannot write %s", output.path ? output.path : "the report");
	output_abandon(&output);
	return code;
}

/* Leaks of the classes in --leak-kinds can be suppressed, even if they are no leaks by default. */
static uint32_t suppressible(const struct options *options)
{
	return LEAK_SET_LOST | options->leak_kinds;
}

/*
 * Suppressions match names. Sites with definite leaks are always named; if other classes count, all
 * sites must be named.
 */
static size_t suppression_top(const struct options *options, size_t top)
{
	bool others = (options->leak_kinds & ~LEAK_BIT(LEAK_DEFINITE)) != 0;

	return options->suppressions && others ? 0 : top;
}

/* Without the suppressed leaks, other sites may come first. */
static int snapshot_suppress(const struct report *report, const struct naming *naming,
			     struct snapshot *snapshot, enum sort_key sort, size_t top)
{
	const struct options *options = report->options;
	int sites = 0;

	if (options->suppressions)
		sites = suppressions_apply(options->suppressions, suppressible(options), snapshot);
	if (sites <= 0)
		return sites;
	snapshot_sort(snapshot, sort);
	return naming_apply(naming, snapshot, top);
}

static struct naming naming_of(const struct report *report)
{
	return (struct naming){
		.modules = report->modules,
		.parser = report->parser,
		.progress = !report->options->quiet && !report->silent && isatty(STDERR_FILENO),
		.keep_up = report->keep_up,
		.ctx = report->ctx,
		.enough = report->enough,
	};
}

int report_name(const struct report *report, struct snapshot *snapshot, size_t top)
{
	struct naming naming = naming_of(report);

	return naming_apply(&naming, snapshot, top);
}

int report_order(const struct report *report, struct snapshot *snapshot, enum sort_key sort,
		 size_t top)
{
	struct naming naming = naming_of(report);
	int code;

	for (size_t i = 0; i < snapshot->process_count; i++)
		snapshot->processes[i].backend = report->backend;
	snapshot_sort(snapshot, sort);
	code = naming_apply(&naming, snapshot, suppression_top(report->options, top));
	return code ? code : snapshot_suppress(report, &naming, snapshot, sort, top);
}

int report_prepare(const struct report *report, struct snapshot *snapshot)
{
	if (!report->options->formats.count && !report->options->suppressions)
		return 0; /* nothing uses the names */
	return report_order(report, snapshot, report->options->sort, report_top(report));
}

bool report_wants_blocks(const struct options *options)
{
	const struct format_request *request;

	vec_each (request, &options->formats)
		if (request->format->wants_blocks)
			return true;
	return false;
}

static uint64_t scan_blocks(const struct snapshot_scan *scan, uint32_t classes)
{
	uint64_t blocks = 0;

	for (int leak = 0; leak < LEAK_CLASS_COUNT; leak++)
		if (classes & LEAK_BIT(leak))
			blocks += scan->classes[leak].blocks;
	return blocks;
}

uint64_t report_leaks(const struct snapshot *snapshot, uint32_t classes)
{
	uint64_t blocks = scan_blocks(&snapshot->others.sums.scan, classes);

	for (size_t i = 0; i < snapshot->process_count; i++)
		blocks += scan_blocks(&snapshot->processes[i].scan, classes);
	return blocks;
}

uint64_t report_errors(const struct snapshot *snapshot)
{
	uint64_t errors = snapshot->others.sums.sanity.errors;

	for (size_t i = 0; i < snapshot->process_count; i++)
		errors += snapshot->processes[i].sanity.errors;
	return errors;
}

int report_write(const struct report *report, struct snapshot *snapshot, struct error *err)
{
	const struct format_request *request;
	int code = report_prepare(report, snapshot);

	if (code)
		return error_set_errno(err, code, "cannot make the report");
	vec_each (request, &report->options->formats) {
		struct error reason;
		int failed = request_write(report, request, snapshot, &reason);

		if (failed && !code)
			code = error_set(err, failed, "%s", reason.text);
	}
	return code;
}
