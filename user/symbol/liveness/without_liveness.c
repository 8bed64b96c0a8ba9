// SPDX-License-Identifier: GPL-2.0-or-later
/* For machines that run no x86 programs. Replaces liveness.c and its parts. */
#include <errno.h>
#include <stddef.h>

#include "symbol/liveness/liveness.h"

int liveness_open(int fd, struct module_liveness **ret, struct error *err)
{
	(void)fd;
	*ret = NULL;
	return error_set(err, -ENOTSUP,
			 "cannot analyse the liveness of stack words: "
			 "built without support for x86");
}

void liveness_close(struct module_liveness *liveness)
{
	(void)liveness;
}

void liveness_frame(struct module_liveness *liveness, uint64_t offset, bool interrupted,
		    struct frame_liveness *ret)
{
	(void)liveness;
	(void)offset;
	(void)interrupted;
	*ret = (struct frame_liveness){.known = false};
	for (int i = 0; i < LIVENESS_SAVED; i++)
		ret->registers[i] = LIVENESS_UNKNOWN;
}

enum liveness liveness_slot(struct module_liveness *liveness, uint64_t offset, bool interrupted,
			    int32_t cfa_offset)
{
	(void)liveness;
	(void)offset;
	(void)interrupted;
	(void)cfa_offset;
	return LIVENESS_UNKNOWN;
}
