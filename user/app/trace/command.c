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
static const char *only_of_report(const struct options *options)
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
	const char *foreign = only_of_report(options);

	if (foreign) {
		log_error("--%s is only valid with report; see mtrace-bpf --help", foreign);
		return EXIT_USAGE;
	}
	if (command_takes_no_net(options))
		return EXIT_USAGE;
	return trace(options);
}

/* serve keeps no model, except for leak scans and metrics. */
int command_serve(const struct options *options)
{
	const char *foreign = options->of_report ? options->of_report : options->of_connect;
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
