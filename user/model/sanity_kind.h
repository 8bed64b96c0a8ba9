/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be wrong with a release of memory (--sanity), the most serious first. */
#ifndef MTRACE_MODEL_SANITY_KIND_H
#define MTRACE_MODEL_SANITY_KIND_H

enum sanity_kind {
	SANITY_DOUBLE_FREE,     /* of a block that was freed before */
	SANITY_INVALID_FREE,    /* of what was no block */
	SANITY_MISMATCHED_FREE, /* by a function of another kin than the one that allocated */
	SANITY_SIZE_MISMATCH,   /* sized delete was told another size */
	SANITY_KIND_COUNT,
};

/* As the JSON report has it: "double_free". */
const char *sanity_kind_name(enum sanity_kind kind);
/* For people: "double free". */
const char *sanity_kind_words(enum sanity_kind kind);

#endif
