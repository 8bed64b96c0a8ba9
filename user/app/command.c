/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app/command.h"

#include <string.h>

#include "app/cli/doctor.h"
#include "app/cli/help.h"
#include "app/replay/connect.h"
#include "app/replay/report.h"
#include "app/report/diff.h"
#include "app/trace/command.h"

static const struct command commands[] = {
	{"trace", true, command_trace}, /* the default */
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
