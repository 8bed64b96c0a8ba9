// SPDX-License-Identifier: GPL-2.0-or-later
#include "parser/server/call_filter.h"

#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

/* -EDOM: the architecture does not have this system call. */
static int add_rule(scmp_filter_ctx context, uint32_t action, int number,
		    const struct scmp_arg_cmp *condition)
{
	int code = seccomp_rule_add_array(context, action, number, condition ? 1 : 0, condition);

	return code == -EDOM ? 0 : code;
}

static int add_list(scmp_filter_ctx context, uint32_t action, const struct call_list *list,
		    const struct scmp_arg_cmp *condition)
{
	int code = 0;

	for (size_t i = 0; !code && i < list->count; i++)
		code = add_rule(context, action, list->numbers[i], condition);
	return code;
}

static int add_rules(scmp_filter_ctx context, const struct call_filter *filter)
{
	const struct scmp_arg_cmp not_executable = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	const struct scmp_arg_cmp itself = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid());
	int code = add_list(context, SCMP_ACT_ALLOW, &filter->allowed, NULL);

	if (!code)
		code = add_list(context, SCMP_ACT_ALLOW, &filter->not_executable, &not_executable);
	if (!code)
		code = add_rule(context, SCMP_ACT_ALLOW, filter->own_signal, &itself);
	if (!code)
		code = add_list(context, SCMP_ACT_KILL_PROCESS, &filter->deadly, NULL);
	return code;
}

int call_filter_load(const struct call_filter *filter)
{
	scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int code;

	if (!context)
		return -ENOMEM;
	code = add_rules(context, filter);
	if (!code)
		code = seccomp_load(context);
	seccomp_release(context);
	return code;
}
