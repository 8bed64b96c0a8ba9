/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which files' execution a fanotify group is asked about: those of all local file systems.
 *
 * File systems are marked, not mounts: a mount namespace (a container) has mounts of its own of the
 * same file systems, and shows no mark that was made elsewhere. An overlay that is mounted later in
 * a namespace that we never see opens the files of its layers, and those are on file systems that
 * are marked here. What that leaves out: a file system that only another namespace has mounted, and
 * files that are on none (memfd_create).
 */
#ifndef MTRACE_OS_EXEC_MARKS_H
#define MTRACE_OS_EXEC_MARKS_H

/* Can it be asked at all? Tried on a file of our own. 0 or -errno. */
int exec_marks_try(void);

/* Mark the file systems that are mounted here, "/" at least; again whenever that changes. Those
 * that can block (of other machines and of programs) are left out. 0 or -errno. */
int exec_marks_place(int fanotify);

#endif
