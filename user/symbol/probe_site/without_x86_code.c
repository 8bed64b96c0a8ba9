// SPDX-License-Identifier: GPL-2.0-or-later
/* For machines that run no x86 programs. Replaces x86_code.c and avoids capstone, which is larger
 * than the rest of the program. */
#include <errno.h>

#include "symbol/probe_site/x86_code.h"

int x86_walk_open(struct x86_walk *walk, const struct function_code *code)
{
	*walk = (struct x86_walk){.code = code};
	return -ENOTSUP;
}

void x86_walk_close(struct x86_walk *walk)
{
	(void)walk;
}

void x86_walk_rewind(struct x86_walk *walk)
{
	(void)walk;
}

bool x86_walk_next(struct x86_walk *walk)
{
	(void)walk;
	return false;
}

void x86_walk_name(struct x86_walk *walk, char *text, size_t size)
{
	(void)walk;
	(void)text;
	(void)size;
}

bool x86_walk_is_complete(const struct x86_walk *walk)
{
	(void)walk;
	return false;
}

bool x86_is_group(const struct x86_walk *walk, cs_group_type group)
{
	(void)walk;
	(void)group;
	return false;
}

bool x86_direct_target(const struct x86_walk *walk, uint64_t *ret_target)
{
	(void)walk;
	(void)ret_target;
	return false;
}

bool x86_indirect_slot(const struct x86_walk *walk, uint64_t got, uint64_t *ret_slot)
{
	(void)walk;
	(void)got;
	(void)ret_slot;
	return false;
}

int x86_written(const struct x86_walk *walk, cs_regs ret_written)
{
	(void)walk;
	(void)ret_written;
	return -1;
}
