// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/trace/command.h"

#include <stdio.h>

#include "app/cli/help.h"
#include "app/cli/usage.h"
#include "app/session/metrics.h"
#include "app/trace/attach.h"
#include "app/trace/launch.h"
#include "base/log.h"

/* Running processes need no hint where their files are. */
static const char *option_only_for_report(const struct options *options)
{
	if (options->sysroot)
		return "sysroot";
	return options->binpaths.count && options->binpaths.items[0] ? "binpath" : NULL;
}

static int trace(const struct options *options)
{
	if (options->program)
		return trace_launch(options);
	if (options->system)
		return trace_system(options);
	if (options->pids.count)
		return trace_attach(options);
	usage_print(stderr);
	return EXIT_USAGE;
}

int command_trace(const struct options *options)
{
	const char *foreign = option_only_for_report(options);

	if (foreign) {
		log_error("--%s is only valid with report; see mtrace-bpf --help", foreign);
		return EXIT_USAGE;
	}
	if (command_takes_no_net(options))
		return EXIT_USAGE;
	return trace(options);
}

/* The server only passes records on. It keeps a model of the blocks only if it must scan for leaks,
 * decide the exit status, or serve metrics. */
int command_serve(const struct options *options)
{
	const char *foreign =
		options->report_option ? options->report_option : options->connect_option;
	struct options own = *options;

	if (options->interactive)
		foreign = "interactive";
	if (foreign) {
		log_error("--%s is only valid with connect, not with serve; see mtrace-bpf --help",
			  foreign);
		return EXIT_USAGE;
	}
	own.serve = true;
	own.formats.count = 0;
	own.keeps_model = options->scan || options->scan_every_ns || options->error_exitcode ||
			  metrics_wanted(options);
	return trace(&own);
}
