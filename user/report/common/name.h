/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shortens long names. */
#ifndef MTRACE_REPORT_COMMON_NAME_H
#define MTRACE_REPORT_COMMON_NAME_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns the printable form of a name, at most `columns` wide (at least 8), or NULL if out of
 * memory. The caller frees it.
 */
char *name_fit(const char *name, size_t columns, bool utf8);

/* The part after the last slash. */
const char *name_base(const char *path);

#endif
