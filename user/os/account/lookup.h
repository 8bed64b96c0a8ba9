/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up users and groups: with libc, or in /etc only where the program is linked statically
 * (STATIC=1), because libc looks them up with shared libraries.
 */
#ifndef MTRACE_OS_ACCOUNT_LOOKUP_H
#define MTRACE_OS_ACCOUNT_LOOKUP_H

#include <pwd.h>

#include "os/account/ids.h"

/* By name or number. Valid until the next call. Returns 0, -ENOENT or -errno. */
int account_passwd(const char *user, const struct passwd **ret_passwd);
/* Finds all groups of the user, including account->gid. Returns 0 or -errno. */
int account_groups(const char *name, struct account *account);

#endif
