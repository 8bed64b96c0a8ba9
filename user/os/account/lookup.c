// SPDX-License-Identifier: GPL-2.0-or-later
#include "os/account/lookup.h"

#include <errno.h>
#include <grp.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/units.h"

#define GROUPS_FIRST 16

/* If there is no such user, getpwnam and getpwuid leave errno alone or set it to one of these. */
static int lookup_error(void)
{
	static const int unknown[] = {0, ENOENT, ESRCH, EBADF, EPERM};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		if (errno == unknown[i])
			return -ENOENT;
	return -errno;
}

int account_passwd(const char *user, const struct passwd **ret_passwd)
{
	uint64_t uid;

	errno = 0;
	*ret_passwd = getpwnam(user);
	if (!*ret_passwd && !number_parse(user, UINT32_MAX - 1, &uid)) {
		errno = 0;
		*ret_passwd = getpwuid((uid_t)uid);
	}
	return *ret_passwd ? 0 : lookup_error();
}

/* If the buffer is too small, getgrouplist reports how many groups there are. */
int account_groups(const char *name, struct account *account)
{
	int capacity = GROUPS_FIRST;
	gid_t *groups = NULL;

	for (;;) {
		int count = capacity;
		gid_t *grown = realloc(groups, (size_t)capacity * sizeof(*groups));

		if (!grown) {
			free(groups);
			return -ENOMEM;
		}
		groups = grown;
		if (getgrouplist(name, account->gid, groups, &count) >= 0) {
			account->groups = groups;
			account->group_count = count;
			return 0;
		}
		capacity = count > capacity ? count : capacity * 2;
	}
}
