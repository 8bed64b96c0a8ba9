/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a leak scan says of a block, in the words of valgrind's memcheck. How it is found out:
 * scan/scan.h.
 */
#ifndef MTRACE_MODEL_SNAPSHOT_LEAK_H
#define MTRACE_MODEL_SNAPSHOT_LEAK_H

#include <stddef.h>
#include <stdint.h>

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

/* Sets of classes. */
#define LEAK_BIT(leak) (1u << (leak))
#define LEAK_SET_ALL   ((1u << LEAK_CLASS_COUNT) - 1)
#define LEAK_SET_LOST  (LEAK_BIT(LEAK_DEFINITE) | LEAK_BIT(LEAK_INDIRECT) | LEAK_BIT(LEAK_POSSIBLE))

/* The set that a word names: that of one class, "all" or "none". Returns 0 or -EINVAL. */
int leak_kind_parse(const char *word, size_t length, uint32_t *ret_classes);
/* The words that leak_kind_parse() accepts, the worst class first; NULL after the last one. */
const char *leak_kind_at(size_t i);

#endif
