/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where to write a file: an open directory and a name in it. Another user may exchange a file or
 * directory for a symbolic link between our checks and the write. So the path is walked once,
 * component by component, and later calls use only the open directory.
 *
 * A directory is trusted if it belongs to root or to us, and only its owner may write to it.
 * Elsewhere, symbolic links and existing files are refused unless they belong to root or to us.
 */
#ifndef MTRACE_OS_FILE_PLACE_H
#define MTRACE_OS_FILE_PLACE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

struct place {
	int directory; /* opened with O_PATH */
	char *name;    /* in the directory */
	bool exists;
	bool is_open_file; /* a link of /proc/PID/fd, such as /dev/stdout */
	struct stat stat;  /* if it exists */
};

/*
 * Finds the place of a path, and checks that it may be written to. The file need not exist, its
 * directory must. The caller frees the place. Returns 0, or -errno with a message that begins with
 * "cannot write PATH".
 */
int place_find(struct place *ret_place, const char *path, struct error *err);
void place_free(struct place *place);

/* Returns true for a device, pipe or open file, which cannot be replaced. */
bool place_is_special(const struct place *place);

/*
 * Opens the file for writing, with additional flags of open(2), or creates it with this mode (less
 * the umask). Does not truncate it. Returns a descriptor or -errno; -ESTALE if the file is no
 * longer the one that place_find has seen.
 */
int place_open(const struct place *place, int flags, mode_t mode);

/* Removes a file that we created, unless another one has its name now. Returns 0 or -errno. */
int place_remove(const char *path, dev_t device, ino_t inode);

#endif
