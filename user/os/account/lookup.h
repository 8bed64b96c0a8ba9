/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up users and groups: with libc, or only in /etc if the program is linked statically
 * (STATIC=1), because libc uses shared libraries for these lookups.
 */
#ifndef MTRACE_OS_ACCOUNT_LOOKUP_H
#define MTRACE_OS_ACCOUNT_LOOKUP_H

#include <pwd.h>

#include "os/account/ids.h"

/* Looks up a user by name or number. The result is valid until the next call. Returns 0, -ENOENT or
 * -errno. */
int account_passwd(const char *user, const struct passwd **ret_passwd);
/* Finds all groups of the user, including account->gid. Returns 0 or -errno. */
int account_groups(const char *name, struct account *account);

#endif
