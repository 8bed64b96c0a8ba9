/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program for small boards leaves the comparison of reports to another machine. */
#include "app/report/diff.h"

#include "app/cli/usage.h"
#include "base/log.h"

int command_diff(const struct options *options)
{
	(void)options;
	log_error("this mtrace-bpf was built without diff: compare the reports on another machine");
	return EXIT_CANNOT;
}
