/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses the files whose execution a fanotify group is asked about: those on all local file
 * systems.
 *
 * The marks are on file systems, not on mounts: a mount namespace (a container) has its own mounts
 * of the same file systems, which do not carry marks made elsewhere. An overlay that is mounted
 * later, in a namespace that we never see, opens the files of its layers, and those are on file
 * systems that are marked here. Not covered: file systems that are mounted only in another
 * namespace, and files without a file system (memfd_create).
 */
#ifndef MTRACE_OS_EXEC_MARKS_H
#define MTRACE_OS_EXEC_MARKS_H

/* Checks, on a file of our own, if the kernel supports this. Returns 0 or -errno. */
int exec_marks_try(void);

/* Marks "/" and the other file systems that are mounted here. Call it again whenever the mount
 * table changes. Skips file systems that can block (network and FUSE). Returns 0 or -errno. */
int exec_marks_place(int fanotify);

#endif
