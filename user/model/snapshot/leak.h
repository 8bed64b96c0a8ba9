/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a leak scan says of a block, in the words of valgrind's memcheck. How it is found out:
 * scan/scan.h.
 */
#ifndef MTRACE_MODEL_SNAPSHOT_LEAK_H
#define MTRACE_MODEL_SNAPSHOT_LEAK_H

enum leak_class {
	LEAK_REACHABLE, /* pointers to the starts of blocks lead there from a root */
	LEAK_POSSIBLE,  /* pointers lead there, one of them to a block's interior */
	LEAK_UNKNOWN,   /* none was found, but memory that mattered could not be read */
	LEAK_INDIRECT,  /* lost, but a definite one leads there */
	LEAK_DEFINITE,  /* lost: nothing leads there */
	LEAK_CLASS_COUNT,
};

/* As the JSON report calls it. */
const char *leak_class_name(enum leak_class leak);

#endif
