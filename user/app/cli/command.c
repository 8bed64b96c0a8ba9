/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/cli/command.h"

#include <string.h>
#include <unistd.h>

#include "app/cli/help.h"
#include "app/session/metrics.h"
#include "app/trace/trace.h"
#include "base/log.h"

static const struct command commands[] = {
	{"trace", true, command_trace}, /* first: the default */
	{"report", true, command_report},  {"diff", true, command_diff},
	{"serve", true, command_serve},    {"connect", true, command_connect},
	{"doctor", false, command_doctor}, {"help", false, command_help},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

const struct command *command_default(void)
{
	return &commands[0];
}

static const char *only_of_net(const struct options *options)
{
	if (options->of_serve)
		return options->of_serve;
	return options->of_connect ? options->of_connect : options->of_net;
}

int command_takes_no_net(const struct options *options)
{
	const char *foreign = only_of_net(options);

	if (!foreign)
		return EXIT_DONE;
	log_error("--%s is for serve or connect; see mtrace-bpf --help", foreign);
	return EXIT_USAGE;
}

/* What runs now is known by itself. */
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
		log_error("--%s is for report; see mtrace-bpf --help", foreign);
		return EXIT_USAGE;
	}
	if (command_takes_no_net(options))
		return EXIT_USAGE;
	return trace(options);
}

/* Nobody keeps books here, but for leak scans and metrics. */
int command_serve(const struct options *options)
{
	const char *foreign = options->of_report ? options->of_report : options->of_connect;
	struct options own = *options;

	if (options->interactive)
		foreign = "interactive";
	if (foreign) {
		log_error("--%s is not for serve, but for connect; see mtrace-bpf --help", foreign);
		return EXIT_USAGE;
	}
	own.serve = true;
	own.formats.count = 0;
	own.books = options->scan || options->scan_every_ns || options->error_exitcode ||
		    metrics_wanted(options);
	return trace(&own);
}

int command_help(const struct options *options)
{
	help_print(stdout, terminal_color(options->color, STDOUT_FILENO));
	return EXIT_DONE;
}
