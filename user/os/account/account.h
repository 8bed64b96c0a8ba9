/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user to become. Look it up before fork: the lookup may load modules and take locks. */
#ifndef MTRACE_OS_ACCOUNT_ACCOUNT_H
#define MTRACE_OS_ACCOUNT_ACCOUNT_H

#include "os/account/ids.h"

/* By name or, if there is no such name, by number: 0, -ENOENT or -errno. */
int account_find(const char *user, struct account *ret_account);
/* Become that user for good: 0 or -errno. Safe between fork and exec. */
int account_become(const struct account *account);
void account_free(struct account *account);

#endif
