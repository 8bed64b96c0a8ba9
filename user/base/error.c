/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void error_format(struct error *err, int code, const char *format, va_list args)
{
	err->code = code;
	vsnprintf(err->text, sizeof(err->text), format, args);
}

int error_set(struct error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	error_format(err, code, format, args);
	va_end(args);
	return code;
}

int error_set_errno(struct error *err, int code, const char *format, ...)
{
	va_list args;
	size_t used;

	if (!err)
		return code;
	va_start(args, format);
	error_format(err, code, format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(-code));
	return code;
}
