/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The results of a leak scan for a block, in the terms of valgrind's memcheck. scan/scan.h explains
 * how they are found.
 */
#ifndef MTRACE_MODEL_SNAPSHOT_LEAK_H
#define MTRACE_MODEL_SNAPSHOT_LEAK_H

enum leak_class {
	LEAK_REACHABLE, /* reached from a root through pointers to the starts of blocks */
	LEAK_POSSIBLE,  /* reached through pointers, one of them to the interior of a block */
	LEAK_UNKNOWN,   /* not reached, but memory that matters could not be read */
	LEAK_INDIRECT,  /* leaked, but reached from a definite one */
	LEAK_DEFINITE,  /* leaked: no pointer found */
	LEAK_CLASS_COUNT,
};

/* The name in the JSON report. */
const char *leak_class_name(enum leak_class leak);

#endif
