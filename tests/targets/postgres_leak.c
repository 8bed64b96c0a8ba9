/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function for PostgreSQL 15: leak_work() does some work, and leaks at one line. The parts of the
 * server's interface that it needs are declared here: the version magic and the calling convention.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "leak_module.h"

struct magic {
	int size, version, arguments_max, index_keys_max, name_length, floats_by_value;
	char variant[32];
};

struct convention {
	int version;
};

NOINLINE static void leak_query(void)
{
	/* Nothing references it. */
	void *volatile query = malloc(LEAK);

	memset(query, 1, LEAK);
	query = NULL;
}

EXPORTED const struct magic *Pg_magic_func(void);
EXPORTED const struct convention *pg_finfo_leak_work(void);
EXPORTED uintptr_t leak_work(void *call);

const struct magic *Pg_magic_func(void)
{
	static const struct magic magic = {sizeof(magic), 1500, 100, 32, 64, 1, "PostgreSQL"};

	return &magic;
}

const struct convention *pg_finfo_leak_work(void)
{
	static const struct convention convention = {1};

	return &convention;
}

uintptr_t leak_work(void *call)
{
	(void)call;
	use_scratch();
	leak_query();
	return 1;
}
