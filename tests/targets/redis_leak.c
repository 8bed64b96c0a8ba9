/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A module for redis-server: "leak.work" does some work, and leaks at one line. The part of the
 * module interface that it needs is declared here: a function that finds the others by name.
 */
#include <stdlib.h>
#include <string.h>

#include "leak_module.h"

struct context;
struct string;

typedef int command(struct context *context, struct string **words, int count);

static int (*create_command)(struct context *context, const char *name, command *function,
			     const char *flags, int first_key, int last_key, int key_step);
static int (*reply_number)(struct context *context, long long number);

NOINLINE static void leak_session(void)
{
	/* Nothing references it. */
	void *volatile session = malloc(LEAK);

	memset(session, 1, LEAK);
	session = NULL;
}

static int work(struct context *context, struct string **words, int count)
{
	(void)words;
	use_scratch();
	leak_session();
	return reply_number(context, count);
}

EXPORTED int RedisModule_OnLoad(struct context *context, struct string **words, int count);

int RedisModule_OnLoad(struct context *context, struct string **words, int count)
{
	/* The context starts with a pointer to this function. */
	int (*find)(const char *name, void *ret_function) = *(void **)context;
	void (*set_attributes)(struct context * context, const char *name, int version, int api);

	(void)words, (void)count;
	if (find("RedisModule_SetModuleAttribs", &set_attributes) ||
	    find("RedisModule_CreateCommand", &create_command) ||
	    find("RedisModule_ReplyWithLongLong", &reply_number))
		return 1;
	set_attributes(context, "leak", 1, 1);
	return create_command(context, "leak.work", work, "write", 0, 0, 0);
}
