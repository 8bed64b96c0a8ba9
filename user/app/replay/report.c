// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/replay/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "app/cli/usage.h"
#include "app/report/report.h"
#include "base/log.h"
#include "os/process/proc.h"
#include "source/stream/replay.h"

static void snapshot_date(const struct replay *replay, struct snapshot *snapshot)
{
	if (replay->taken_at_ms) {
		snapshot->taken_at = (int64_t)(replay->taken_at_ms / 1000);
		snapshot->taken_at_ms = (uint32_t)(replay->taken_at_ms % 1000);
	}
	if (replay->incomplete[0])
		snapshot->incomplete = replay->incomplete;
}

/* The exit status: an incomplete recording takes precedence over what was found in it. */
static int replay_status(const struct replay *replay, const struct options *options,
			 const struct snapshot *snapshot)
{
	int wanted = options->error_exitcode;

	if (replay->incomplete[0])
		return EXIT_CANNOT;
	if (wanted && (report_leaks(snapshot, options->leak_kinds) || report_errors(snapshot)))
		return wanted;
	return EXIT_DONE;
}

static int replay_report(struct replay *replay, struct report *report)
{
	struct snapshot *snapshot;
	struct error err;
	int status;

	report->pid = (pid_t)replay->first_pid;
	if (model_snapshot(replay->model, replay->taken_ns, &snapshot)) {
		log_error("cannot make the report: %s", strerror(ENOMEM));
		return EXIT_CANNOT;
	}
	snapshot->tool.resident_bytes = own_resident_bytes();
	snapshot_date(replay, snapshot);
	if (report_write(report, snapshot, &err)) {
		log_error("%s", err.text);
		status = EXIT_CANNOT;
	} else {
		status = replay_status(replay, report->options, snapshot);
	}
	snapshot_free(snapshot);
	return status;
}

static struct report report_of(const struct replay *replay, const struct options *options)
{
	return (struct report){
		.options = options,
		.modules = replay->modules,
		.parser = replay->parser,
		.backend = "replay",
		.standard_fd = STDOUT_FILENO,
		.number = 1,
	};
}

static int replay_run(struct replay *replay, const struct options *options)
{
	const struct replay_config config = {
		.name = options->program[0],
		.debuginfod = options->debuginfod,
		.sysroot = options->sysroot,
		.binpaths = options->binpaths.items,
		.lists_blocks = report_wants_blocks(options),
	};
	struct report report;
	struct error err;
	int code = replay_open(replay, &config, &err);

	report = report_of(replay, options);
	if (code || report_check(&report, &err) || replay_read(replay, &err)) {
		log_error("%s", err.text);
		return EXIT_CANNOT;
	}
	if (replay->incomplete[0])
		log_warn("%s: %s", replay->name, replay->incomplete);
	return replay_report(replay, &report);
}

/* What is wrong with the command line, or NULL. */
static const char *misuse(const struct options *options)
{
	if (!options->program)
		return "needs the file to report from";
	if (options->program[1])
		return "takes one file";
	return options->record ? "does not record" : NULL;
}

int command_report(const struct options *options)
{
	const char *wrong = misuse(options);
	struct replay replay;
	int status;

	if (command_takes_no_net(options))
		return EXIT_USAGE;
	if (wrong || options_of_live(options)) {
		if (wrong)
			log_error("report %s; see mtrace-bpf --help", wrong);
		else
			log_error("--%s is not valid with report; see mtrace-bpf --help",
				  options_of_live(options));
		return EXIT_USAGE;
	}
	status = replay_run(&replay, options);
	replay_close(&replay);
	return status;
}
