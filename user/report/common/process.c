// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/common/process.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "report/common/name.h"

const char *process_name(const struct snapshot_process *process)
{
	if (process->comm && *process->comm)
		return process->comm;
	return process->exe && *process->exe ? name_base(process->exe) : "?";
}

const char *fate_of(const struct snapshot_process *process, char text[AMOUNT_SIZE])
{
	int status = (int)process->exit_code;
	const char *name;

	if (process->replaced)
		return "replaced by exec";
	if (process->left)
		return "no longer traced";
	if (!process->exited)
		return "running";
	if (!WIFSIGNALED(status)) {
		snprintf(text, AMOUNT_SIZE, "exited with status %d", WEXITSTATUS(status));
		return text;
	}
	name = sigabbrev_np(WTERMSIG(status));
	if (name)
		snprintf(text, AMOUNT_SIZE, "killed by SIG%s", name);
	else
		snprintf(text, AMOUNT_SIZE, "killed by signal %d", WTERMSIG(status));
	return text;
}

bool fate_is_bad(const struct snapshot_process *process)
{
	return process->exited && !process->replaced && process->exit_code;
}
