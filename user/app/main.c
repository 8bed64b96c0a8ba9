/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mtrace-bpf: a memory tracer and leak finder for running programs. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/cli/help.h"
#include "app/cli/option_parser.h"
#include "app/cli/usage.h"
#include "app/command.h"
#include "base/log.h"

/* If one of these is closed, the next file we open would take its place. */
static void standard_descriptors_guard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static void log_configure(const struct options *options)
{
	unsigned int level = LOG_WARN + options->verbose;

	if (options->quiet)
		level = LOG_QUIET;
	log_set_level(level > LOG_DEBUG ? LOG_DEBUG : (enum log_level)level);
}

/* Reports output that could not be written, such as --help to a full disk, as a failure. */
static int stdout_finish(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	log_error("cannot write to standard output: %s", strerror(errno));
	return EXIT_CANNOT;
}

static int command_run(const struct command *command, const struct options *options)
{
	if (options->version) {
		version_print(stdout);
		return EXIT_DONE;
	}
	if (options->help)
		return command_help(options);
	if (!command->traces && (options->program || options->pids.count || options->system)) {
		log_error("%s takes no program or process to trace; see mtrace-bpf --help",
			  command->name);
		return EXIT_USAGE;
	}
	return command->run(options);
}

int main(int argc, char **argv)
{
	const struct command *command = argc > 1 ? command_find(argv[1]) : NULL;
	char *const *arguments = argv + (argc > 0) + (command != NULL);
	struct options options;
	struct error err;
	int status;

	standard_descriptors_guard();
	setlocale(LC_CTYPE, "");
	if (options_load(&options, arguments, &err)) {
		log_error("%s; see mtrace-bpf --help", err.text);
		status = err.code == -EINVAL ? EXIT_USAGE : EXIT_CANNOT;
	} else {
		log_configure(&options);
		status = command_run(command ? command : command_default(), &options);
	}
	options_free(&options);
	return stdout_finish(status);
}
