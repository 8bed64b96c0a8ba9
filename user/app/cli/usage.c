// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/cli/usage.h"

#include "base/log.h"

static const char *only_of_net(const struct options *options)
{
	if (options->serve_option)
		return options->serve_option;
	return options->connect_option ? options->connect_option : options->net_option;
}

int command_takes_no_net(const struct options *options)
{
	const char *foreign = only_of_net(options);

	if (!foreign)
		return EXIT_DONE;
	log_error("--%s is only valid with serve or connect; see mtrace-bpf --help", foreign);
	return EXIT_USAGE;
}
