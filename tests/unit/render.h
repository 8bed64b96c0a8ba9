/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report as a string. The caller frees it. */
#ifndef MTRACE_TEST_RENDER_H
#define MTRACE_TEST_RENDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "report/format.h"

static inline char *render(const struct report_format *format, const struct snapshot *snapshot,
			   const struct format_options *options)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(format->write(snapshot, options, out), 0);
	fclose(out);
	assert_int_equal(strlen(text), size);
	return text;
}

#endif
