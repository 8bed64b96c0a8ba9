/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages on stderr, each one line with the program's name in front. The level and
 * who is told are the program's only mutable globals. Lower layers use log_info and log_debug for
 * what -v and -vv want to know; warnings and errors are for app/ to print.
 */
#ifndef MTRACE_BASE_LOG_H
#define MTRACE_BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_QUIET, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Called before and after each line; NULL: nobody. For who has something on the screen there. */
void log_set_around(void (*around)(void *ctx, bool before), void *ctx);

void log_set_level(enum log_level level);
enum log_level log_get_level(void);

/* Always printed, also with -q. */
void log_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));  /* -v */
void log_debug(const char *format, ...) __attribute__((format(printf, 1, 2))); /* -vv */

#endif
