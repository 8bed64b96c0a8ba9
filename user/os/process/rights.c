// SPDX-License-Identifier: GPL-2.0-or-later
#include "os/process/rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/file/regular.h"
#include "os/process/procfs.h"

#define OVERFLOW_ID 65534 /* the kernel's default for an id that a file system cannot express */
#define KEEP_ID     ((uid_t)-1) /* not a valid id: setfsuid() only returns the current one */

#ifdef SYS_setgroups32 /* the older call has 16-bit ids */
#define SYS_GROUPS SYS_setgroups32
#else
#define SYS_GROUPS SYS_setgroups
#endif

#define CAP_WORDS    _LINUX_CAPABILITY_U32S_3
#define CAP_BIT(cap) (1U << (cap))
#define FILE_CAPS    (CAP_BIT(CAP_DAC_OVERRIDE) | CAP_BIT(CAP_DAC_READ_SEARCH) | CAP_BIT(CAP_FOWNER))

struct rights_saved {
	struct __user_cap_data_struct caps[CAP_WORDS];
	bool has_user; /* the rest is valid */
	uid_t uid;
	gid_t gid;
	int group_count;
	gid_t groups[];
};

struct rights rights_of_everyone(void)
{
	return (struct rights){.uid = OVERFLOW_ID, .gid = OVERFLOW_ID};
}

struct rights rights_of_author(const struct stat *file)
{
	mode_t others = file->st_gid == file->st_uid ? S_IWOTH : S_IWGRP | S_IWOTH;
	struct rights rights = rights_of_everyone();

	if (!(file->st_mode & others))
		rights.uid = file->st_uid;
	return rights;
}

/* Parses "Groups:	4 24 27". */
static int take_groups(char *text, struct rights *rights)
{
	char *next = NULL;

	for (char *word = strtok_r(text, " \t\n", &next); word;
	     word = strtok_r(NULL, " \t\n", &next)) {
		gid_t *groups = realloc(rights->groups,
					(rights->group_count + 1) * sizeof(*rights->groups));

		if (!groups)
			return -ENOMEM;
		rights->groups = groups;
		groups[rights->group_count++] = (gid_t)strtoul(word, NULL, 10);
	}
	return 0;
}

/* The last of the four ids of a user or group is the one that file permissions are checked with. */
static int take_line(char *line, struct rights *rights)
{
	unsigned int id;

	if (sscanf(line, "Uid: %*u %*u %*u %u", &id) == 1)
		rights->uid = id;
	else if (sscanf(line, "Gid: %*u %*u %*u %u", &id) == 1)
		rights->gid = id;
	else if (!strncmp(line, "Groups:", strlen("Groups:")))
		return take_groups(line + strlen("Groups:"), rights);
	return 0;
}

int rights_of_process(pid_t pid, struct rights *ret_rights)
{
	struct rights rights = rights_of_everyone();
	int fd = procfs_open(pid, "status"), err = 0;
	FILE *status = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t capacity = 0;

	if (!status) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? fd : -ENOMEM;
	}
	while (!err && getline(&line, &capacity, status) >= 0)
		err = take_line(line, &rights);
	free(line);
	fclose(status);
	if (err)
		rights_free(&rights);
	else
		*ret_rights = rights;
	return err;
}

void rights_free(struct rights *rights)
{
	free(rights->groups);
	rights->groups = NULL;
	rights->group_count = 0;
}

/* Taking and restoring. */

static int caps_get(struct __user_cap_data_struct caps[CAP_WORDS])
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capget, &head, caps) ? -errno : 0;
}

static int caps_set(const struct __user_cap_data_struct caps[CAP_WORDS])
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	return syscall(SYS_capset, &head, caps) ? -errno : 0;
}

static bool may_change_user(const struct rights_saved *saved)
{
	const uint32_t needed = CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID);

	return (saved->caps[0].effective & needed) == needed;
}

static int drop_file_caps(void)
{
	struct __user_cap_data_struct caps[CAP_WORDS];
	int err = caps_get(caps);

	if (err || !(caps[0].effective & FILE_CAPS))
		return err;
	caps[0].effective &= ~FILE_CAPS;
	return caps_set(caps);
}

/* setfsuid() does not tell whether it has failed. */
static int set_user(uid_t uid, gid_t gid, const gid_t *groups, size_t count)
{
	if (syscall(SYS_GROUPS, count, groups))
		return -errno;
	setfsgid(gid);
	setfsuid(uid);
	return (uid_t)setfsuid(KEEP_ID) == uid && (gid_t)setfsgid(KEEP_ID) == gid ? 0 : -EPERM;
}

static int save(struct rights_saved **ret_saved)
{
	int count = getgroups(0, NULL), err;
	struct rights_saved *saved =
		calloc(1, sizeof(*saved) + (count > 0 ? (size_t)count : 0) * sizeof(gid_t));

	if (!saved)
		return -ENOMEM;
	err = caps_get(saved->caps);
	saved->uid = (uid_t)setfsuid(KEEP_ID);
	saved->gid = (gid_t)setfsgid(KEEP_ID);
	saved->group_count = getgroups(count, saved->groups);
	if (saved->group_count < 0)
		err = -errno;
	if (err)
		free(saved);
	else
		*ret_saved = saved;
	return err;
}

int rights_take(const struct rights *rights, struct rights_saved **ret_saved)
{
	struct rights_saved *saved = NULL;
	int err;

	*ret_saved = NULL;
	if (!rights->uid || rights->uid == geteuid())
		return 0;
	err = save(&saved);
	if (err)
		return err;
	if (may_change_user(saved)) {
		saved->has_user = true;
		err = set_user(rights->uid, rights->gid, rights->groups, rights->group_count);
	}
	if (!err)
		err = drop_file_caps();
	if (err)
		rights_restore(saved);
	else
		*ret_saved = saved;
	return err;
}

void rights_restore(struct rights_saved *saved)
{
	if (!saved)
		return;
	if (saved->has_user)
		(void)set_user(saved->uid, saved->gid, saved->groups, (size_t)saved->group_count);
	(void)caps_set(saved->caps);
	free(saved);
}

int rights_open_regular(const struct rights *rights, const char *path, struct stat *ret_stat)
{
	struct rights_saved *saved;
	int fd = rights_take(rights, &saved);

	if (fd)
		return fd;
	fd = file_open_regular(path, ret_stat);
	rights_restore(saved);
	return fd;
}
