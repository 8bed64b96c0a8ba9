/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static enum log_level log_current = LOG_WARN;
static struct {
	void (*call)(void *ctx, bool before);
	void *ctx;
} log_around;

void log_set_around(void (*around)(void *ctx, bool before), void *ctx)
{
	log_around.call = around;
	log_around.ctx = ctx;
}

void log_set_level(enum log_level level)
{
	log_current = level;
}

enum log_level log_get_level(void)
{
	return log_current;
}

/* Writes each line with a single call, so that output of a traced program on the same terminal
 * cannot split it. */
static void log_print(const char *format, va_list args)
{
	char line[1024];

	vsnprintf(line, sizeof(line), format, args);
	if (log_around.call)
		log_around.call(log_around.ctx, true);
	fprintf(stderr, "mtrace-bpf: %s\n", line);
	if (log_around.call)
		log_around.call(log_around.ctx, false);
}

#define LOG_FUNCTION(name, level)          \
	void name(const char *format, ...) \
	{                                  \
		va_list args;              \
                                           \
		if (log_current < (level)) \
			return;            \
		va_start(args, format);    \
		log_print(format, args);   \
		va_end(args);              \
	}

LOG_FUNCTION(log_error, LOG_QUIET)
LOG_FUNCTION(log_warn, LOG_WARN)
LOG_FUNCTION(log_info, LOG_INFO)
LOG_FUNCTION(log_debug, LOG_DEBUG)
