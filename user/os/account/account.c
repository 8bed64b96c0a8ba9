/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "os/account/account.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/account/lookup.h"

int account_find(const char *user, struct account *ret_account)
{
	const struct passwd *passwd;
	struct account account;
	int err = account_passwd(user, &passwd);

	if (err)
		return err;
	account = (struct account){.uid = passwd->pw_uid, .gid = passwd->pw_gid};
	err = account_groups(passwd->pw_name, &account);
	if (!err)
		*ret_account = account;
	return err;
}

int account_become(const struct account *account)
{
	if (setgroups((size_t)account->group_count, account->groups) || setgid(account->gid) ||
	    setuid(account->uid))
		return -errno;
	return 0;
}

void account_free(struct account *account)
{
	free(account->groups);
	*account = (struct account){0};
}
