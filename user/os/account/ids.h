/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ids of a user. */
#ifndef MTRACE_OS_ACCOUNT_IDS_H
#define MTRACE_OS_ACCOUNT_IDS_H

#include <sys/types.h>

struct account {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* malloc'd; includes gid */
	int group_count;
};

#endif
