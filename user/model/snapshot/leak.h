/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The results of a leak scan for a block, in the terms of valgrind's memcheck. scan/scan.h explains
 * how they are found.
 */
#ifndef MTRACE_MODEL_SNAPSHOT_LEAK_H
#define MTRACE_MODEL_SNAPSHOT_LEAK_H

#include <stddef.h>
#include <stdint.h>

/* Stored traces contain these values: add new ones at the end. */
enum leak_class {
	LEAK_REACHABLE, /* reached from a root through pointers to the starts of blocks */
	LEAK_POSSIBLE,  /* reached through pointers, one of them to the interior of a block */
	LEAK_UNKNOWN,   /* not reached, but memory that matters could not be read */
	LEAK_INDIRECT,  /* leaked, but reached from a definite one */
	LEAK_DEFINITE,  /* leaked: no pointer found */
	LEAK_STACK,     /* referenced only by stack words or registers that may be leftovers */
	LEAK_CLASS_COUNT,
};

/* The name in the JSON report. */
const char *leak_class_name(enum leak_class leak);
/* The name in text. */
const char *leak_class_words(enum leak_class leak);

/* Sets of classes. */
#define LEAK_BIT(leak) (1u << (leak))
#define LEAK_SET_ALL   ((1u << LEAK_CLASS_COUNT) - 1)
#define LEAK_SET_LOST  (LEAK_BIT(LEAK_DEFINITE) | LEAK_BIT(LEAK_INDIRECT) | LEAK_BIT(LEAK_POSSIBLE))

/* The set that a word names: that of one class, "all" or "none". Returns 0 or -EINVAL. */
int leak_kind_parse(const char *word, size_t length, uint32_t *ret_classes);
/* The words that leak_kind_parse() accepts, the worst class first; NULL after the last one. */
const char *leak_kind_at(size_t i);

#endif
