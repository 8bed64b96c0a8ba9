/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of wrong releases (--sanity), the most serious first. */
#ifndef MTRACE_MODEL_SANITY_KIND_H
#define MTRACE_MODEL_SANITY_KIND_H

enum sanity_kind {
	SANITY_DOUBLE_FREE,     /* of a block that was already freed */
	SANITY_INVALID_FREE,    /* of an address that is not a block */
	SANITY_MISMATCHED_FREE, /* by a function of another kind than the allocation */
	SANITY_SIZE_MISMATCH,   /* sized delete got a different size */
	SANITY_KIND_COUNT,
};

/* The name in the JSON report: "double_free". */
const char *sanity_kind_name(enum sanity_kind kind);
/* For humans: "double free". */
const char *sanity_kind_words(enum sanity_kind kind);

#endif
