/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One-line messages on stderr, prefixed with the program's name. The log level and the callback are
 * the program's only mutable globals. Lower layers use log_info and log_debug for the details that
 * -v and -vv show; only app/ prints warnings and errors.
 */
#ifndef MTRACE_BASE_LOG_H
#define MTRACE_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Sets a function to call before and after each line, or NULL for none. For code that draws on the
 * same terminal. */
void log_set_around(void (*around)(void *ctx, bool before), void *ctx);

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Always printed, even with -q. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));  /* -v */
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2))); /* -vv */

#endif
