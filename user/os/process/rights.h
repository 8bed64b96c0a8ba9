/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files with somebody else's rights. Root must not follow a name that another user has
 * chosen with its own rights: the name may lead to a file that this user cannot read, and what we
 * read appears in reports. setfsuid(2), setfsgid(2) and setgroups(2), called directly, change only
 * the calling thread (credentials(7)).
 */
#ifndef MTRACE_OS_PROCESS_RIGHTS_H
#define MTRACE_OS_PROCESS_RIGHTS_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* A user as the kernel checks it when a file is opened. */
struct rights {
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* supplementary groups */
	size_t group_count;
};

/* The rights that every user has. */
struct rights rights_of_everyone(void);
/*
 * The rights of the user who has written a file: its owner, without any groups, because a file in a
 * directory with the setgid bit may have a group that its owner is not in. If other users can write
 * to it: the rights that every user has. A group with the number of the owner is the owner's own
 * (USERGROUPS_ENAB in login.defs(5)).
 */
struct rights rights_of_author(const struct stat *file);
/* The rights of a process. Returns 0 or -errno; -ESRCH if it is gone. The caller frees them. */
int rights_of_process(pid_t pid, struct rights *ret_rights);
void rights_free(struct rights *rights);

/*
 * Gives these rights to the calling thread until it ends or rights_restore() is called. Rights of
 * root, and our own, change nothing. If we may not change our user, only the capabilities that
 * override file permissions are dropped. Returns 0, or -errno and nothing has changed.
 */
struct rights_saved;
int rights_take(const struct rights *rights, struct rights_saved **ret_saved);
void rights_restore(struct rights_saved *saved); /* NULL is fine */

/* file_open_regular() with these rights. */
int rights_open_regular(const struct rights *rights, const char *path, struct stat *ret_stat);

#endif
