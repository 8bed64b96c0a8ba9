/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Switching to another user. Look the user up before fork: the lookup may load modules and take
 * locks. */
#ifndef MTRACE_OS_ACCOUNT_ACCOUNT_H
#define MTRACE_OS_ACCOUNT_ACCOUNT_H

#include "os/account/ids.h"

/* Looks up a user by name or, if there is no such name, by number. Returns 0, -ENOENT or -errno.
 * Free the result with account_free. */
int account_find(const char *user, struct account *ret_account);
/* Switches to the user permanently. Async-signal-safe, so it may be called between fork and exec.
 * Returns 0 or -errno. */
int account_become(const struct account *account);
void account_free(struct account *account);

#endif
