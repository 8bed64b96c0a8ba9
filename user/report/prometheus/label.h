/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef MTRACE_REPORT_PROMETHEUS_LABEL_H
#define MTRACE_REPORT_PROMETHEUS_LABEL_H

#include <stdio.h>

/* Bytes of a value at most, before what has to be escaped in it is. */
#define PROMETHEUS_LABEL_MAX 200

/*
 * NAME="VALUE", behind a comma unless it is the first: escaped, in UTF-8 whatever the value is, and
 * cut if it is long.
 */
void prometheus_label(FILE *out, const char *comma, const char *name, const char *value);

#endif
