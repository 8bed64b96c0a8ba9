// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "os/account/lookup.h"

#define PASSWD_FILE "/etc/passwd"
#define GROUP_FILE  "/etc/group"

/* Returns the first entry with that name or, if name is NULL, with that uid. */
static const struct passwd *search(FILE *file, const char *name, uid_t uid)
{
	const struct passwd *passwd;

	while ((passwd = fgetpwent(file)))
		if (name ? !strcmp(passwd->pw_name, name) : passwd->pw_uid == uid)
			return passwd;
	return NULL;
}

int account_passwd(const char *user, const struct passwd **ret_passwd)
{
	FILE *file = fopen(PASSWD_FILE, "re");
	uint64_t uid;

	if (!file)
		return -errno;
	*ret_passwd = search(file, user, 0);
	if (!*ret_passwd && !number_parse(user, UINT32_MAX - 1, &uid)) {
		rewind(file);
		*ret_passwd = search(file, NULL, (uid_t)uid);
	}
	fclose(file);
	return *ret_passwd ? 0 : -ENOENT;
}

static bool is_member(const struct group *group, const char *name)
{
	for (char **member = group->gr_mem; *member; member++)
		if (!strcmp(*member, name))
			return true;
	return false;
}

int account_groups(const char *name, struct account *account)
{
	FILE *file = fopen(GROUP_FILE, "re");
	VEC(gid_t) groups = {0};
	const struct group *group;
	int err = vec_push(&groups, account->gid);

	while (!err && file && (group = fgetgrent(file)))
		if (group->gr_gid != account->gid && is_member(group, name))
			err = vec_push(&groups, group->gr_gid);
	if (file)
		fclose(file);
	if (err) {
		vec_free(&groups);
		return err;
	}
	account->groups = groups.items;
	account->group_count = (int)groups.count;
	return 0;
}
