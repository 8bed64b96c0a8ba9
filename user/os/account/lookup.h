/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where users and groups are looked up: by libc, or in /etc alone where the program is linked
 * statically (STATIC=1), as what libc looks them up with is shared libraries. */
#ifndef MTRACE_OS_ACCOUNT_LOOKUP_H
#define MTRACE_OS_ACCOUNT_LOOKUP_H

#include <pwd.h>

#include "os/account/account.h"

/* By name or number; it lives until the next call. 0, -ENOENT or -errno. */
int account_passwd(const char *user, const struct passwd **ret_passwd);
/* All groups of the user, account->gid among them: 0 or -errno. */
int account_groups(const char *name, struct account *account);

#endif
