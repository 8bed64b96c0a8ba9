/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/command.h"

#include <string.h>
#include <unistd.h>

#include "app/help.h"
#include "app/trace.h"
#include "base/log.h"

static const struct command commands[] = {
	{"trace", true, command_trace}, /* first: the default */
	{"doctor", false, command_doctor},
	{"help", false, command_help},
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

int command_trace(const struct options *options)
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

int command_help(const struct options *options)
{
	help_print(stdout, terminal_color(options->color, STDOUT_FILENO));
	return EXIT_DONE;
}
