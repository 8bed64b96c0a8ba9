/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/common/out.h"

#include <errno.h>
#include <string.h>

static int last_error(void)
{
	return errno ? -errno : -EIO;
}

void out_fail(struct out *out, int err)
{
	if (!out->err)
		out->err = err;
}

void out_bytes(struct out *out, const char *bytes, size_t count)
{
	if (out->err)
		return;
	errno = 0;
	if (fwrite_unlocked(bytes, 1, count, out->file) != count)
		out_fail(out, last_error());
}

void out_text(struct out *out, const char *text)
{
	out_bytes(out, text, strlen(text));
}

void out_blanks(struct out *out, size_t count)
{
	static const char blanks[] = "                                ";

	while (count) {
		size_t some = count < sizeof(blanks) - 1 ? count : sizeof(blanks) - 1;

		out_bytes(out, blanks, some);
		count -= some;
	}
}

int out_finish(struct out *out)
{
	errno = 0;
	if (!out->err && fflush(out->file))
		out_fail(out, last_error());
	return out->err;
}
