/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_REPORT_PROMETHEUS_LABEL_H
#define MTRACE_REPORT_PROMETHEUS_LABEL_H

#include <stdio.h>

/* Maximum bytes of a value, before escaping. */
#define PROMETHEUS_LABEL_MAX 200

/*
 * Writes NAME="VALUE" after `comma`. The value is escaped, converted to valid UTF-8, and cut if it
 * is too long.
 */
void prometheus_label(FILE *out, const char *comma, const char *name, const char *value);

#endif
